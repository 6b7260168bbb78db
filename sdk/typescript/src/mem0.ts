/**
 * The classes Memory and MemoryClient of mem0 (package mem0ai, version 3) on Oxbow: an app changes one import.
 *
 * The id of a memory is its id in Oxbow, a colon and the user: mem0 has methods with an id and without a user.
 */
import { Oxbow, type OxbowOptions } from "./client.js"
import { BadRequestError, InvalidError, NotFoundError, OxbowError } from "./errors.js"
import type * as schema from "./schema.js"
import { randomKey, sleep } from "./transport.js"

export interface Message {
  role: string
  content: string | { type: string }
}

/** Whose memories. The user is required, unless the key is a person's. */
export interface Entity {
  userId?: string
  agentId?: string
  /** The conversation: the session of Oxbow. */
  runId?: string
}

export interface AddMemoryOptions extends Entity {
  /** Is stored with memories that are not inferred, and with the messages otherwise. */
  metadata?: Record<string, unknown>
  /** False stores the messages as they are. Default: memories are extracted from them. */
  infer?: boolean
  /** When it was said: seconds, text or a Date. */
  timestamp?: number | string | Date | null
  /** The last day (YYYY-MM-DD) on which the memories are recalled; only if infer is false. */
  expirationDate?: string | null
}

/** user_id, agent_id, run_id, and what the metadata must have, with mem0's operators. */
export type Filters = Record<string, unknown>

export interface SearchMemoryOptions extends Entity {
  topK?: number
  limit?: number
  filters?: Filters
  /** The least score. Scores are between 0 and 1, and order the memories of one query. */
  threshold?: number
}

export interface GetAllMemoryOptions extends SearchMemoryOptions {
  page?: number
  pageSize?: number
}

export interface UpdateMemoryOptions {
  text?: string
  data?: string
  metadata?: Record<string, unknown>
}

/** A memory of mem0ai/oss. */
export interface MemoryItem {
  id: string
  memory: string
  createdAt?: string
  updatedAt?: string
  score?: number
  metadata?: Record<string, unknown>
  user_id?: string
  agent_id?: string
  run_id?: string
}

export interface SearchResult {
  results: MemoryItem[]
}

/** What both classes know of a memory. */
interface Found extends Entity {
  id: string
  memory: string
  createdAt: string
  updatedAt: string
  score?: number
  metadata: Record<string, unknown>
}

interface Past {
  id: string
  event: string
  before: string | null
  after: string | null
  at: string
}

const extractionTimeout = 30_000
const types = ["fact" as const, "episodic" as const] // what mem0 calls memories
const most = 1_000 // memories that recall can return

/** What both classes do, with their shapes left out. */
class Store {
  readonly #oxbow: Oxbow

  constructor(options: OxbowOptions) {
    this.#oxbow = new Oxbow(options)
  }

  async add(messages: string | Message[], options: AddMemoryOptions): Promise<Found[]> {
    const { userId, agentId, runId, metadata } = options
    const said = (typeof messages === "string" ? [{ role: "user", content: messages }] : messages).map(textOf)
    const oxbow = this.#of(userId)
    if (options.infer === false) return this.#addAsTheyAre(oxbow, said, options)
    if (options.expirationDate) throw new OxbowError("expirationDate needs infer: false")

    const sessionId = runId ?? `mem0-${randomKey()}`
    const before = new Set((await oxbow.listMemories({ sessionId }).all()).map((memory) => memory.id))
    const ids = await oxbow.addMessages(
      said.map(({ role, content }) => ({
        sessionId,
        role,
        content,
        createdAt: timeOf(options.timestamp),
        metadata: { ...metadata, ...(agentId && { agent_id: agentId }) },
      })),
    )
    await oxbow.endSession(sessionId)
    await extracted(oxbow, sessionId, ids)
    const memories = (await oxbow.listMemories({ sessionId }).all()).filter((memory) => !before.has(memory.id))
    await Promise.all(memories.map((memory) => oxbow.wait(memory.id)))
    return memories.reverse().map((memory) => found(memory, userId))
  }

  async #addAsTheyAre(oxbow: Oxbow, said: Said[], options: AddMemoryOptions): Promise<Found[]> {
    const added = await oxbow.addMany(
      said
        .filter(({ role }) => role !== "system")
        .map(({ role, content }) => ({
          content,
          metadata: options.metadata,
          agentId: options.agentId,
          sessionId: options.runId,
          speaker: role === "user" ? undefined : role,
          validAt: timeOf(options.timestamp),
          expiresAt: options.expirationDate ? endOf(options.expirationDate) : undefined,
        })),
    )
    await Promise.all(added.map(({ id }) => oxbow.wait(id)))
    return Promise.all(added.map(async ({ id }) => found(await oxbow.get(id), options.userId)))
  }

  async search(query: string, limit: number, options: SearchMemoryOptions): Promise<Found[]> {
    const filters = filtersOf(options)
    const user = userOf(filters)
    const selective = Object.keys(filters).some((name) => name !== "user_id")
    const { memories } = await this.#of(user).recall(query, { limit: selective ? most : limit, types })
    return memories
      .filter((memory) => matches(memory, filters))
      .map((memory) => ({ ...found(memory, user), score: memory.score / (1 + memory.score) }))
      .filter((memory) => memory.score >= (options.threshold ?? 0))
      .slice(0, limit)
  }

  async list(options: SearchMemoryOptions): Promise<Found[]> {
    const filters = filtersOf(options)
    const user = userOf(filters)
    const memories = await this.#of(user).listMemories({ type: types, limit: most }).all()
    return memories.filter((memory) => matches(memory, filters)).map((memory) => found(memory, user))
  }

  /** Returns the present version of a memory, or undefined if it does not exist or is deleted. */
  async get(id: string): Promise<Found | undefined> {
    const [oxbow, memory, userId] = await this.#current(id)
    return oxbow && memory && found(memory, userId)
  }

  async update(id: string, content: string | undefined, metadata?: Record<string, unknown>): Promise<Found> {
    if (content === undefined && metadata === undefined) throw new OxbowError("text or metadata is required")
    const [oxbow, memory, userId] = await this.#current(id)
    if (!memory) throw new OxbowError(`Memory with ID ${id} not found`)
    const merged = metadata && { ...memory.metadata, ...metadata }
    const { id: next } = await oxbow.supersede(memory.id, content ?? memory.content, { metadata: merged })
    await oxbow.wait(next)
    return found(await oxbow.get(next), userId)
  }

  async delete(id: string): Promise<void> {
    const [oxbow, memory] = await this.#current(id)
    if (!memory) throw new OxbowError(`Memory with ID ${id} not found`)
    await oxbow.forget(memory.id)
  }

  async deleteAll(entity: Entity): Promise<void> {
    if (!entity.userId && !entity.agentId && !entity.runId) throw new OxbowError("userId, agentId or runId is required")
    const oxbow = this.#of(entity.userId)
    for (const { id } of await this.list(entity)) await oxbow.forget(split(id)[0])
  }

  /** Lists the changes of a memory, the latest first. */
  async history(id: string): Promise<Past[]> {
    const [uuid, user] = split(id)
    const changes = await this.#of(user).getHistory(uuid)
    return changes
      .filter((change) => change.event !== "ADD" || change.version === 1) // a new version is also a SUPERSEDE
      .reverse()
      .map((change) => ({
        id: joined(change.memoryId, user),
        event: change.event === "SUPERSEDE" ? "UPDATE" : change.event,
        before: change.oldContent ?? null,
        after: change.newContent ?? null,
        at: change.at,
      }))
  }

  #of(user: string | undefined): Oxbow {
    return user === undefined ? this.#oxbow : this.#oxbow.forUser(user)
  }

  async #current(id: string): Promise<[Oxbow, schema.Memory | undefined, string | undefined]> {
    const [uuid, user] = split(id)
    const oxbow = this.#of(user)
    try {
      let memory = await oxbow.get(uuid)
      while (memory.supersededBy) memory = await oxbow.get(memory.supersededBy)
      return [oxbow, memory.forgottenAt ? undefined : memory, user]
    } catch (error) {
      // An id that is unknown, that is no UUID, or that names no user.
      const unknown = [NotFoundError, InvalidError, BadRequestError].some((kind) => error instanceof kind)
      if (unknown) return [oxbow, undefined, user]
      throw error
    }
  }
}

/** The class Memory of mem0ai/oss. */
export class Memory {
  readonly #store: Store

  /** Of mem0's configuration only `oxbow` is used, and without it the environment. The others belong to the server. */
  constructor(config: Record<string, unknown> & { oxbow?: OxbowOptions } = {}) {
    this.#store = new Store(config.oxbow ?? {})
  }

  static fromConfig(config: Record<string, unknown>): Memory {
    return new Memory(config)
  }

  async add(messages: string | Message[], config: AddMemoryOptions): Promise<SearchResult> {
    const added = await this.#store.add(messages, config)
    return { results: added.map((memory) => ({ id: memory.id, memory: memory.memory, metadata: { event: "ADD" } })) }
  }

  async search(query: string, config: SearchMemoryOptions): Promise<SearchResult> {
    const results = await this.#store.search(query, config.topK ?? config.limit ?? 20, config)
    return { results: results.map(item) }
  }

  async get(memoryId: string): Promise<MemoryItem | null> {
    const memory = await this.#store.get(memoryId)
    return memory ? item(memory) : null
  }

  async getAll(config: GetAllMemoryOptions): Promise<SearchResult> {
    const results = await this.#store.list(config)
    return { results: results.slice(0, config.topK ?? config.limit ?? 20).map(item) }
  }

  async update(memoryId: string, config: string | UpdateMemoryOptions): Promise<{ message: string }> {
    const { text, data, metadata } = typeof config === "string" ? { text: config } : config
    await this.#store.update(memoryId, text ?? data, metadata)
    return { message: "Memory updated successfully!" }
  }

  async delete(memoryId: string): Promise<{ message: string }> {
    await this.#store.delete(memoryId)
    return { message: "Memory deleted successfully!" }
  }

  async deleteAll(config: Entity): Promise<{ message: string }> {
    await this.#store.deleteAll(config)
    return { message: "Memories deleted successfully!" }
  }

  async history(memoryId: string): Promise<Record<string, unknown>[]> {
    return (await this.#store.history(memoryId)).map(({ id, event, before, after, at }) => ({
      id,
      memory_id: id,
      previous_value: before,
      new_value: after,
      action: event,
      created_at: at,
      updated_at: at,
      is_deleted: event === "DELETE" ? 1 : 0,
    }))
  }
}

/** A memory of mem0's platform. */
export interface PlatformMemory extends Entity {
  id: string
  memory: string
  createdAt: Date
  updatedAt: Date
  event?: string
  score?: number
  metadata: Record<string, unknown>
}

/** The class MemoryClient of mem0ai. */
export class MemoryClient {
  readonly #store: Store

  /** apiKey is a key of Oxbow and host its server. Default: the environment. */
  constructor(options: { apiKey?: string; host?: string } = {}) {
    this.#store = new Store({ apiKey: options.apiKey, url: options.host })
  }

  async add(messages: Message[], options: AddMemoryOptions = {}): Promise<PlatformMemory[]> {
    return (await this.#store.add(messages, options)).map((memory) => ({ ...dated(memory), event: "ADD" }))
  }

  async search(query: string, options: SearchMemoryOptions = {}): Promise<{ results: PlatformMemory[] }> {
    const results = await this.#store.search(query, options.topK ?? options.limit ?? 10, options)
    return { results: results.map(dated) }
  }

  async get(memoryId: string): Promise<PlatformMemory> {
    const memory = await this.#store.get(memoryId)
    if (!memory) throw new OxbowError(`Memory with ID ${memoryId} not found`)
    return dated(memory)
  }

  async getAll(options: GetAllMemoryOptions = {}): Promise<{
    count: number
    next: string | null
    previous: string | null
    results: PlatformMemory[]
  }> {
    const all = await this.#store.list(options)
    const { page = 1, pageSize = 100 } = options
    const results = all.slice((page - 1) * pageSize, page * pageSize).map(dated)
    const next = page * pageSize < all.length ? String(page + 1) : null
    return { count: all.length, next, previous: page > 1 ? String(page - 1) : null, results }
  }

  async update(memoryId: string, { text, metadata }: UpdateMemoryOptions): Promise<PlatformMemory[]> {
    return [dated(await this.#store.update(memoryId, text, metadata))]
  }

  async delete(memoryId: string): Promise<{ message: string }> {
    await this.#store.delete(memoryId)
    return { message: "Memory deleted successfully!" }
  }

  async deleteAll(options: Entity = {}): Promise<{ message: string }> {
    await this.#store.deleteAll(options)
    return { message: "Memories deleted successfully!" }
  }

  async history(memoryId: string) {
    return (await this.#store.history(memoryId)).map(({ id, event, before, after, at }) => ({
      id,
      memoryId: id,
      input: [],
      oldMemory: before,
      newMemory: after,
      userId: split(id)[1] ?? "",
      categories: [],
      event,
      createdAt: new Date(at),
      updatedAt: new Date(at),
    }))
  }
}

export default MemoryClient

type Role = "user" | "assistant" | "system" | "tool"

/** A message with the names and roles of Oxbow. */
interface Said {
  role: Role
  content: string
}

function textOf({ role, content }: Message): Said {
  if (typeof content !== "string") throw new OxbowError("only messages of text are supported")
  return { role: ["assistant", "system", "tool"].includes(role) ? (role as Role) : "user", content }
}

function timeOf(timestamp: AddMemoryOptions["timestamp"]): Date | undefined {
  if (timestamp === undefined || timestamp === null) return undefined
  return new Date(typeof timestamp === "number" ? timestamp * 1000 : timestamp)
}

/** Waits until memories are extracted from messages. */
async function extracted(oxbow: Oxbow, sessionId: string, ids: string[]): Promise<void> {
  const end = Date.now() + extractionTimeout
  for (let pause = 20; Date.now() < end; pause = Math.min(2 * pause, 1_000)) {
    const messages = await oxbow.listMessages(sessionId)
    if (messages.every((message) => !ids.includes(message.id) || message.extractedAt)) return
    await sleep(pause)
  }
}

/** Returns the end of a day in UTC. */
function endOf(date: string): Date {
  return new Date(Date.parse(`${date.slice(0, 10)}T00:00:00Z`) + 86_400_000)
}

/** Returns the filters with those that options beside them name. */
function filtersOf({ filters = {}, userId, agentId, runId }: SearchMemoryOptions): Filters {
  return {
    ...(userId && { user_id: userId }),
    ...(agentId && { agent_id: agentId }),
    ...(runId && { run_id: runId }),
    ...filters,
  }
}

/** Returns the user that filters name, also inside AND. */
function userOf(filters: Filters): string | undefined {
  if (typeof filters.user_id === "string") return filters.user_id
  for (const inner of (filters.AND ?? []) as Filters[]) {
    const user = userOf(inner)
    if (user !== undefined) return user
  }
  return undefined
}

/** Reports whether a memory, which is the right user's, fulfils filters. */
function matches(memory: schema.Memory | schema.Result, filters: Filters): boolean {
  const own: Record<string, unknown> = { ...memory.metadata, agent_id: memory.agentId, run_id: memory.sessionId }
  return Object.entries(filters).every(([name, wanted]) => {
    if (name === "user_id") return true
    if (name === "AND") return (wanted as Filters[]).every((inner) => matches(memory, inner))
    if (name === "OR") return (wanted as Filters[]).some((inner) => matches(memory, inner))
    if (name === "NOT") return !(wanted as Filters[]).some((inner) => matches(memory, inner))
    if (wanted === "*") return own[name] !== undefined && own[name] !== null
    if (typeof wanted !== "object" || wanted === null) return own[name] === wanted
    return Object.entries(wanted).every(([operator, other]) => compare(own[name], operator, other))
  })
}

function compare(value: unknown, operator: string, other: unknown): boolean {
  const text = String(value ?? "")
  switch (operator) {
    case "eq":
      return value === other
    case "ne":
      return value !== other
    case "in":
      return (other as unknown[]).includes(value)
    case "nin":
      return !(other as unknown[]).includes(value)
    case "contains":
      return text.includes(String(other))
    case "icontains":
      return text.toLowerCase().includes(String(other).toLowerCase())
  }
  const [a, b] = [value as number, other as number] // numbers, or texts such as dates
  switch (operator) {
    case "gt":
      return a > b
    case "gte":
      return a >= b
    case "lt":
      return a < b
    case "lte":
      return a <= b
  }
  throw new OxbowError(`unsupported operator: ${operator}`)
}

function found(memory: schema.Memory | schema.Result, user: string | undefined): Found {
  return {
    id: joined(memory.id, user),
    memory: memory.content,
    createdAt: memory.createdAt,
    updatedAt: ("updatedAt" in memory && memory.updatedAt) || memory.createdAt,
    metadata: memory.metadata,
    userId: user,
    agentId: memory.agentId,
    runId: memory.sessionId?.startsWith("mem0-") ? undefined : memory.sessionId,
  }
}

function item({ userId, agentId, runId, ...memory }: Found): MemoryItem {
  return {
    ...memory,
    ...(userId && { user_id: userId }),
    ...(agentId && { agent_id: agentId }),
    ...(runId && { run_id: runId }),
  }
}

function dated(memory: Found): PlatformMemory {
  return { ...memory, createdAt: new Date(memory.createdAt), updatedAt: new Date(memory.updatedAt) }
}

function joined(id: string, user: string | undefined): string {
  return user === undefined ? id : `${id}:${user}`
}

function split(id: string): [string, string | undefined] {
  const colon = id.indexOf(":")
  return colon < 0 ? [id, undefined] : [id.slice(0, colon), id.slice(colon + 1)]
}
