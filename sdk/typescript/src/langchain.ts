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
    const stored = mapChatMessagesToStoredMessages(messages)
    const written = messages.map((message, i) => ({
      sessionId: this.#sessionId,
      role: roles[message.type],
      content: message.text.trim() ? message.text : "[no text]", // such as a message that only calls a tool
      metadata: { langchain: stored[i] },
    }))
    if (written.length > 0) await this.#oxbow.addMessages(written)
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
  developer: "system",
  tool: "tool",
  function: "tool",
}

function read({ role, content, metadata }: Message): BaseMessage {
  if (metadata?.langchain) return mapStoredMessageToChatMessage(metadata.langchain as StoredMessage)
  if (role === "user") return new HumanMessage(content)
  return role === "assistant" ? new AIMessage(content) : new SystemMessage(content)
}
