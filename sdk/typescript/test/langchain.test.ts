// The history with the real LangChain and the real server.
import assert from "node:assert/strict"
import { test } from "node:test"
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages"
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts"
import { RunnableWithMessageHistory } from "@langchain/core/runnables"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { OxbowChatMessageHistory } from "oxbow-memory/langchain"
import { client, until } from "./server.js"

test("messages return as they were", async () => {
  const oxbow = client()
  const history = new OxbowChatMessageHistory({ oxbow, sessionId: "对话/1" })
  assert.deepEqual(await history.getMessages(), [])
  const messages = [
    new SystemMessage("You are kind."),
    new HumanMessage({
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ],
      name: "Ada",
    }),
    new AIMessage({ content: "", tool_calls: [{ id: "call-1", name: "look", args: { at: [1, "二"] } }] }),
    new ToolMessage({ content: "a boat", tool_call_id: "call-1", artifact: { raw_value: 1 } }),
    new AIMessage({ content: "一条\0船。", additional_kwargs: { a_b: 1 }, response_metadata: { model_name: "m" } }),
  ]
  await history.addMessages(messages)
  await history.addUserMessage("Thanks")
  await history.addAIMessage("Gladly")
  const read = await history.getMessages()
  assert.deepEqual(
    read.map((m) => m.toDict()),
    [...messages, new HumanMessage("Thanks"), new AIMessage("Gladly")].map((m) => m.toDict()),
  )
  const stored = await oxbow.listMessages("对话/1")
  assert.deepEqual(
    stored.map((m) => m.role),
    ["system", "user", "tool", "tool", "assistant", "user", "assistant"],
  )
  assert.equal(stored[1]?.content, "What is this?")
})

test("a conversation is cleared, and others are not", async () => {
  const oxbow = client()
  const one = new OxbowChatMessageHistory({ oxbow, sessionId: "1" })
  const two = new OxbowChatMessageHistory({ oxbow, sessionId: "2" })
  await one.addUserMessage("one")
  await two.addUserMessage("two")
  await one.clear()
  assert.deepEqual(await one.getMessages(), [])
  assert.equal((await two.getMessages()).length, 1)
})

test("messages that other programs wrote are read too", async () => {
  const oxbow = client()
  await oxbow.addMessages([
    { sessionId: "s", content: "Hello" },
    { sessionId: "s", role: "assistant", content: "Good day" },
    { sessionId: "s", role: "system", content: "Be kind" },
  ])
  const read = await new OxbowChatMessageHistory({ oxbow, sessionId: "s" }).getMessages()
  assert.deepEqual(
    read.map((m) => [m.type, m.content]),
    [
      ["human", "Hello"],
      ["ai", "Good day"],
      ["system", "Be kind"],
    ],
  )
})

test("a chain remembers a conversation, and Oxbow what was said in it", async () => {
  const oxbow = client()
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]])
  const model = new FakeListChatModel({ responses: ["Lisbon is lovely.", "In Lisbon."] })
  const seen: number[] = []
  const chain = new RunnableWithMessageHistory({
    runnable: prompt
      .pipe((value) => {
        seen.push(value.messages.length)
        return value
      })
      .pipe(model),
    getMessageHistory: (sessionId) => new OxbowChatMessageHistory({ oxbow, sessionId }),
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  })
  const config = { configurable: { sessionId: "chat-1" } }
  await chain.invoke({ input: "I live in Lisbon." }, config)
  const reply = await chain.invoke({ input: "Where do I live?" }, config)
  assert.equal(reply.content, "In Lisbon.")
  assert.deepEqual(seen, [1, 3])
  assert.equal((await oxbow.listMessages("chat-1")).length, 4)
  await oxbow.endSession("chat-1")
  await until(async () => (await oxbow.listFacts()).some((fact) => fact.content.includes("Lisbon")))
})
