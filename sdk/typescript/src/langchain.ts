/** The history of a conversation for LangChain, from which Oxbow extracts memories. */
import { BaseListChatMessageHistory } from "@langchain/core/chat_history"
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessageToChatMessage,
  type StoredMessage,
  SystemMessage,
} from "@langchain/core/messages"
import type { Oxbow } from "./client.js"
import type { Message, NewMessage } from "./schema.js"

/**
 * OxbowChatMessageHistory keeps the messages of a conversation of the client's user. Each message is stored with
 * LangChain's form of it in its metadata, so tool calls and content that is not text return as they were.
 *
 * ```ts
 * new RunnableWithMessageHistory({
 *   runnable,
 *   getMessageHistory: (sessionId) => new OxbowChatMessageHistory({ oxbow, sessionId }),
 *   inputMessagesKey: "input",
 *   historyMessagesKey: "history",
 * })
 * ```
 */
export class OxbowChatMessageHistory extends BaseListChatMessageHistory {
  override lc_namespace = ["oxbow", "langchain"]
  readonly #oxbow: Oxbow
  readonly #sessionId: string

  constructor({ oxbow, sessionId }: { oxbow: Oxbow; sessionId: string }) {
    super()
    this.#oxbow = oxbow
    this.#sessionId = sessionId
  }

  override async getMessages(): Promise<BaseMessage[]> {
    return (await this.#oxbow.listMessages(this.#sessionId)).map(read)
  }

  override addMessage(message: BaseMessage): Promise<void> {
    return this.addMessages([message])
  }

  override async addMessages(messages: BaseMessage[]): Promise<void> {
    const items = mapChatMessagesToStoredMessages(messages).map((item) => JSON.stringify(item))
    const written = messages.map((message, i) => stored(this.#sessionId, message, items[i] ?? ""))
    for (let i = 0; i < written.length; i += most) await this.#oxbow.addMessages(written.slice(i, i + most))
  }

  /** Deletes the messages. Memories that were extracted from them stay. */
  override async clear(): Promise<void> {
    await this.#oxbow.deleteMessages(this.#sessionId, { all: true })
  }
}

const roles: Record<string, NewMessage["role"]> = {
  human: "user",
  ai: "assistant",
  system: "system",
}

const most = 500 // messages of a request
const longest = 250_000 // characters, at most 1 MB

/** Returns a message to store. Nothing is extracted from one without text, such as a call of a tool. */
function stored(sessionId: string, message: BaseMessage, item: string): NewMessage {
  const text = message.text.trim() ? message.text : item
  const role = message.text.trim() ? (roles[message.type] ?? "tool") : "tool"
  return { sessionId, role, content: text.replaceAll("\0", " ").slice(0, longest), metadata: { item } }
}

function read({ role, content, metadata }: Message): BaseMessage {
  if (typeof metadata?.item === "string")
    return mapStoredMessageToChatMessage(JSON.parse(metadata.item) as StoredMessage)
  if (role === "user") return new HumanMessage(content)
  return role === "assistant" ? new AIMessage(content) : new SystemMessage(content)
}
