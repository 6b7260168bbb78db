/** A store of LangGraph. The items are those of the Python package's oxbow.adapters.langgraph. */
import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint"
import type { Oxbow } from "./client.js"
import { ConflictError } from "./errors.js"
import type { Memory, NewMemory, Result } from "./schema.js"

export interface OxbowStoreOptions {
  oxbow: Oxbow
  /**
   * Whose memories the items are: a user's id, or a function that returns it for a namespace or the beginning of one.
   * Default: the client's user.
   */
  user?: string | ((namespace: string[]) => string | undefined)
  /** The fields to search by, as paths. Default: the whole value. The argument index of put chooses others. */
  fields?: string[]
  /** Distinguishes several stores of one user. Default: langgraph. */
  name?: string
}

const attempts = 5
const most = 500 // memories of a request
const longest = 250_000 // characters of a content, at most 1 MB
const matching = 1_000 // memories that recall can return

/**
 * OxbowStore keeps each item as a memory of the type document, whose earlier values are its versions. An item is found
 * by its exact namespace and key. Its value is in the metadata of the memory; the content is the text of its fields, by
 * which search with a query finds it, once the worker has processed it. Deleting an item forgets it: it can be restored
 * for 30 days.
 *
 * ```ts
 * const store = new OxbowStore({ oxbow, user: ([, user]) => user }) // for namespaces such as ["users", "ada"]
 * ```
 */
export class OxbowStore extends BaseStore {
  readonly #oxbow: Oxbow
  readonly #user: OxbowStoreOptions["user"]
  readonly #fields: string[]
  readonly #name: string

  constructor({ oxbow, user, fields = ["$"], name = "langgraph" }: OxbowStoreOptions) {
    super()
    this.#oxbow = oxbow
    this.#user = user
    this.#fields = fields
    this.#name = name
  }

  /** Reads see what was there before the writes of the batch. The last of several puts of an item counts. */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const puts = new Map<string, PutOperation>()
    const results = await Promise.all(
      operations.map((operation): Promise<unknown> | undefined => {
        if ("namespacePrefix" in operation) return this.#search(operation)
        if (!("key" in operation)) return this.#namespaces(operation)
        if (!("value" in operation)) return this.#get(operation)
        puts.set(JSON.stringify([operation.namespace, operation.key]), operation)
        return undefined
      }),
    )
    await this.#put([...puts.values()])
    return results as OperationResults<Op>
  }

  /** Returns the client for a namespace. */
  #of(namespace: string[]): Oxbow {
    if (this.#user === undefined) return this.#oxbow
    const user = typeof this.#user === "string" ? this.#user : this.#user(namespace)
    if (user === undefined) throw new Error(`the namespace ${JSON.stringify(namespace)} does not tell the user`)
    return this.#oxbow.forUser(user)
  }

  /** Returns the memory of an item, or several, the newest first, if it was first put twice at once. */
  async #current({ namespace, key }: GetOperation): Promise<Memory[]> {
    const sessionId = await sessionOf(this.#name, namespace, key)
    return this.#of(namespace)
      .listMemories({ sessionId, agentId: this.#name, type: ["document"] })
      .all()
  }

  async #get(operation: GetOperation): Promise<Item | null> {
    const [memory] = await this.#current(operation)
    return memory ? itemOf(memory) : null
  }

  async #put(operations: PutOperation[]): Promise<void> {
    const added = await Promise.all(operations.map((operation) => this.#change(operation)))
    const byUser = new Map<string | undefined, NewMemory[]>()
    for (const [i, memory] of added.entries()) {
      if (!memory) continue
      const { user } = this.#of(operations[i]?.namespace ?? [])
      byUser.set(user, [...(byUser.get(user) ?? []), memory])
    }
    for (const [user, memories] of byUser) {
      const oxbow = user === undefined ? this.#oxbow : this.#oxbow.forUser(user)
      for (let i = 0; i < memories.length; i += most) await oxbow.addMany(memories.slice(i, i + most))
    }
  }

  /** Writes an item that exists. Returns the memory of one that must be added. */
  async #change(operation: PutOperation): Promise<NewMemory | undefined> {
    const oxbow = this.#of(operation.namespace)
    for (let attempt = 1; ; attempt++) {
      const [newest, ...others] = await this.#current(operation)
      try {
        if (!newest) return operation.value === null ? undefined : await this.#memory(operation)
        for (const { id } of others) await oxbow.forget(id, { reason: "put twice at once" })
        if (operation.value === null) {
          await oxbow.forget(newest.id, { reason: "deleted from the store" })
        } else {
          const { content, metadata } = await this.#memory(operation, newest)
          await oxbow.supersede(newest.id, content, { metadata })
        }
        return undefined
      } catch (error) {
        if (!(error instanceof ConflictError) || attempt === attempts) throw error // another process put the item
      }
    }
  }

  async #memory({ namespace, key, value, index }: PutOperation, old?: Memory): Promise<NewMemory> {
    const text = index === false ? "" : textOf(value ?? {}, index ?? this.#fields)
    return {
      content: text || key,
      memoryType: "document",
      sessionId: await sessionOf(this.#name, namespace, key),
      agentId: this.#name,
      metadata: {
        item: {
          namespace: labelled(namespace),
          key,
          value: JSON.stringify(value), // as text, so that it comes back as it was
          indexed: text !== "",
          ...(old && { created_at: storedIn(old).created_at ?? old.createdAt }),
        },
      },
    }
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix: prefix, filter = {}, limit = 10, offset = 0 } = operation
    const found = new Map<string, SearchItem>()
    const keep = (memory: Memory | Result, score: number | undefined) => {
      const item = itemOf(memory)
      const name = JSON.stringify([item.namespace, item.key])
      const begins = prefix.every((label, i) => item.namespace[i] === label)
      if (begins && !found.has(name) && Object.entries(filter).every(([key, value]) => holds(item.value[key], value))) {
        found.set(name, { ...item, score })
      }
    }
    const oxbow = this.#of(prefix)
    const query = operation.query?.trim()
    if (query) {
      const item = { indexed: true, ...(prefix.length > 0 && { namespace: labelled(prefix) }) }
      const { memories } = await oxbow.recall(query, {
        limit: Object.keys(filter).length > 0 ? matching : Math.min(matching, offset + limit),
        types: ["document"],
        agentId: this.#name,
        metadata: { item },
      })
      for (const memory of memories) keep(memory, memory.score)
    }
    // Items without a match, or not processed yet, come last.
    for await (const memory of this.#all(oxbow)) {
      if (found.size >= offset + limit) break
      keep(memory, query && storedIn(memory).indexed ? 0 : undefined)
    }
    return [...found.values()].slice(offset, offset + limit)
  }

  /** Returns the memories of all items of a user, the newest first. */
  #all(oxbow: Oxbow): AsyncIterable<Memory> {
    return oxbow.listMemories({ agentId: this.#name, type: ["document"], limit: 200 })
  }

  async #namespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit, offset } = operation
    const prefix = matchConditions.find((condition) => condition.matchType === "prefix")?.path ?? []
    const star = prefix.indexOf("*")
    const known = new Map<string, string[]>()
    for await (const memory of this.#all(this.#of(star < 0 ? prefix : prefix.slice(0, star)))) {
      const { namespace } = itemOf(memory)
      if (!matchConditions.every((condition) => matches(namespace, condition))) continue
      const shown = namespace.slice(0, maxDepth)
      known.set(JSON.stringify(shown), shown)
    }
    return [...known.values()].sort(byLabels).slice(offset, offset + limit)
  }
}

/** What the metadata of a memory has of its item. */
interface Stored {
  namespace: Record<string, string>
  key: string
  value: string
  indexed: boolean
  created_at?: string
}

function storedIn(memory: Memory | Result): Stored {
  return memory.metadata.item as Stored
}

function itemOf(memory: Memory | Result): Item {
  const { namespace, key, value, created_at } = storedIn(memory)
  return {
    namespace: Array.from(Object.keys(namespace), (_, i) => namespace[i] ?? ""),
    key,
    value: JSON.parse(value),
    createdAt: new Date(created_at ?? memory.createdAt),
    updatedAt: new Date(memory.createdAt),
  }
}

/** Returns a namespace as an object, because recall finds the beginning of an object in metadata, but not of a list. */
function labelled(namespace: string[]): Record<string, string> {
  return Object.fromEntries(namespace.entries())
}

/** Returns the name of an item. All versions of a memory have the same session. */
async function sessionOf(store: string, namespace: string[], key: string): Promise<string> {
  const name = `${store}:[${[...namespace, key].map((label) => JSON.stringify(label)).join(", ")}]` // as Python writes it
  const bytes = new TextEncoder().encode(name)
  if (bytes.length <= 1_000) return name
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
  return `${store}:sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
}

/** Returns the text of the fields of a value: of the whole value for "$", of "a.b", of "list[*].c" and "list[0]". */
function textOf(value: object, fields: string[]): string {
  const texts = fields.flatMap((field) => {
    let found: unknown[] = [value]
    for (const step of field === "$" ? [] : (field.match(/[^.[\]]+/g) ?? []))
      found = found.flatMap((v) => inside(v, step))
    return found.map((v) => (typeof v === "string" ? v : JSON.stringify(v)))
  })
  return texts
    .filter((text) => text?.trim())
    .join("\n")
    .replaceAll("\0", " ")
    .slice(0, longest)
}

function inside(value: unknown, step: string): unknown[] {
  if (typeof value !== "object" || value === null) return []
  if (Array.isArray(value)) return step === "*" ? value : [value.at(Number(step))].filter((v) => v !== undefined)
  const field = (value as Record<string, unknown>)[step]
  return field === undefined || field === null ? [] : [field]
}

function matches(namespace: string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === "prefix" ? 0 : namespace.length - path.length
  return start >= 0 && path.every((label, i) => label === "*" || label === namespace[start + i])
}

function byLabels(a: string[], b: string[]): number {
  for (const [i, label] of a.entries()) {
    const other = b[i]
    if (other === undefined) return 1
    if (label !== other) return label < other ? -1 : 1
  }
  return a.length - b.length
}

const operators: Record<string, (value: unknown, other: unknown) => boolean> = {
  $eq: (value, other) => same(value, other),
  $ne: (value, other) => !same(value, other),
  $gt: (value, other) => Number(value) > Number(other),
  $gte: (value, other) => Number(value) >= Number(other),
  $lt: (value, other) => Number(value) < Number(other),
  $lte: (value, other) => Number(value) <= Number(other),
  $in: (value, others) => Array.isArray(others) && others.some((other) => same(value, other)),
  $nin: (value, others) => !(Array.isArray(others) && others.some((other) => same(value, other))),
}

/** Reports whether a value fulfils a filter: the same value, or an object of operators. */
function holds(value: unknown, filter: unknown): boolean {
  const entries = typeof filter === "object" && filter !== null ? Object.entries(filter) : []
  if (!entries.some(([name]) => name.startsWith("$"))) return same(value, filter)
  return entries.every(([name, other]) => {
    const operator = operators[name]
    if (!operator) throw new Error(`unsupported operator: ${name}`)
    return operator(value, other)
  })
}

function same(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b
  const [keys, others] = [Object.keys(a), Object.keys(b)]
  if (Array.isArray(a) !== Array.isArray(b) || keys.length !== others.length) return false
  return keys.every((key) => same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
}
