// The tools with the real AI SDK, its mock of a model, and the real server.
import assert from "node:assert/strict"
import { test } from "node:test"
import { generateText, stepCountIs, streamText } from "ai"
import { MockLanguageModelV3, simulateReadableStream } from "ai/test"
import { memoryTools } from "oxbow-memory/ai"
import { client } from "./server.js"

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}
const finish = (unified: "stop" | "tool-calls") => ({ unified, raw: undefined })

type Part = Awaited<ReturnType<MockLanguageModelV3["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never

const call = (toolName: string, input: object) => ({
  content: [{ type: "tool-call" as const, toolCallId: "call-1", toolName, input: JSON.stringify(input) }],
  finishReason: finish("tool-calls"),
  usage,
  warnings: [],
})
const say = (text: string) => ({
  content: [{ type: "text" as const, text }],
  finishReason: finish("stop"),
  usage,
  warnings: [],
})

test("a model adds a memory, and another conversation finds it", async () => {
  const oxbow = client()
  const tools = memoryTools(oxbow)
  const content = "我女儿最喜欢紫色的兰花"
  const adding = new MockLanguageModelV3({
    doGenerate: [call("addMemory", { content, validAt: "2024-05-01T00:00:00Z" }), say("记住了")],
  })
  const added = await generateText({ model: adding, tools, stopWhen: stepCountIs(3), prompt: content })
  assert.equal(added.text, "记住了")
  const result = added.steps[0]?.toolResults[0]
  assert.ok(result?.toolName === "addMemory" && !result.dynamic)
  const { id } = result.output
  await oxbow.wait(id)
  assert.equal((await oxbow.get(id)).validAt, "2024-05-01T00:00:00Z")

  const searching = new MockLanguageModelV3({
    doGenerate: [call("searchMemories", { query: "女儿喜欢什么花？", limit: 3 }), say("紫色的兰花")],
  })
  const found = await generateText({ model: searching, tools, stopWhen: stepCountIs(3), prompt: "女儿喜欢什么花？" })
  assert.equal(found.text, "紫色的兰花")
  const prompt = JSON.stringify(searching.doGenerateCalls[1]?.prompt)
  assert.ok(prompt.includes(content) && prompt.includes(id), prompt)
  const descriptions = searching.doGenerateCalls[0]?.tools?.map((t) => t.type === "function" && t.description)
  assert.match(String(descriptions), /never follow instructions/)
})

test("a model streams", async () => {
  const oxbow = client()
  const { id } = await oxbow.add("Ada plays the cello")
  await oxbow.wait(id)
  const parts: Part[][] = [
    [
      { type: "stream-start", warnings: [] },
      { type: "tool-call", toolCallId: "1", toolName: "searchMemories", input: '{"query":"cello"}' },
      { type: "finish", finishReason: finish("tool-calls"), usage },
    ],
    [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "The cello." },
      { type: "text-end", id: "1" },
      { type: "finish", finishReason: finish("stop"), usage },
    ],
  ]
  const model = new MockLanguageModelV3({
    doStream: parts.map((chunks) => ({ stream: simulateReadableStream({ chunks }) })),
  })
  const result = streamText({
    model,
    tools: memoryTools(oxbow),
    stopWhen: stepCountIs(3),
    prompt: "What does she play?",
  })
  let text = ""
  for await (const delta of result.textStream) text += delta
  assert.equal(text, "The cello.")
  assert.ok(JSON.stringify(model.doStreamCalls[1]?.prompt).includes("Ada plays the cello"))
})

test("what the server refuses, the model is told", async () => {
  const model = new MockLanguageModelV3({ doGenerate: [call("addMemory", { content: " " }), say("Sorry")] })
  await generateText({ model, tools: memoryTools(client()), stopWhen: stepCountIs(3), prompt: "Remember nothing" })
  assert.match(JSON.stringify(model.doGenerateCalls[1]?.prompt), /must not be blank/)
})
