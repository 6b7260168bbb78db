import { OxbowError } from "./errors.js"
import { type Page, Pages } from "./pages.js"
import type * as schema from "./schema.js"
import {
  type Call,
  type Connection,
  type Lines,
  type RequestOptions,
  randomKey,
  sleep,
  Transport,
} from "./transport.js"

/** Options of a client. */
export interface OxbowOptions extends Connection {
  /** Whose memories. Needed with the key of an app or an operator; a person's key implies the person. */
  user?: string
}

/** Options of a method: the fields of its request that are not arguments, and those of every method. */
export type Options<T, Arguments extends keyof T = never> = Omit<T, Arguments> & RequestOptions

/** Options of a method that can be repeated. */
export interface Once extends RequestOptions {
  /** A request with the same key is done once within a day. Default: a random key for each call. */
  idempotencyKey?: string
}

/** A page of what is known: an argument of a list that has pages. */
type Paged<T> = T & { cursor?: string } & RequestOptions

/** A record of an export, with the names of the database. */
export type ExportedRecord = Record<string, unknown>

/**
 * Oxbow is a client for the memories of one user. A method has the name of its operation in the API, and is rejected
 * with an OxbowError.
 */
export class Oxbow {
  readonly #options: OxbowOptions
  readonly #transport: Transport

  constructor(options: OxbowOptions = {}) {
    this.#options = options
    this.#transport = new Transport(options)
  }

  /** Whose memories. Undefined: those of the person whose key it is. */
  get user(): string | undefined {
    return this.#options.user
  }

  /** Returns a client for the memories of another user. */
  forUser(user: string): Oxbow {
    return new Oxbow({ ...this.#options, user })
  }

  // Memories

  /** Adds a memory. It can be recalled after {@link wait}. */
  add(content: string, options: Options<schema.NewMemory, "content"> & Once = {}): Promise<schema.Added> {
    return this.#send("POST", "/memories", { idempotencyKey: randomKey(), content, ...options })
  }

  /** Adds up to 1,000 memories: all or none. */
  async addMany(memories: schema.NewMemory[], options: Once = {}): Promise<schema.Added[]> {
    return this.#items("POST", "/memories/batch", { idempotencyKey: randomKey(), memories, ...options })
  }

  /**
   * Waits until the work on a memory that was added is done or has failed, and returns its operation. After the timeout
   * (default: 60,000 ms) it returns the operation as it is.
   */
  async wait(id: string, options: RequestOptions = {}): Promise<schema.Operation> {
    const { signal, timeout = 60_000 } = options
    const end = Date.now() + timeout
    for (let pause = 20; ; pause = Math.min(2 * pause, 1_000)) {
      const operation = await this.getOperation(id, { signal })
      if (operation.state === "done" || operation.state === "failed" || Date.now() >= end) return operation
      await sleep(pause, signal)
      signal?.throwIfAborted()
    }
  }

  /** Returns a memory. */
  get(id: string, options: RequestOptions = {}): Promise<schema.Memory> {
    return this.#send("GET", `/memories/${segment(id)}`, options)
  }

  /** Lists memories, the newest first. */
  listMemories(options: Paged<schema.ListMemoriesQuery> = {}): Pages<schema.Memory> {
    return this.#pages("/memories", options)
  }

  /** Lists all versions of a memory, in the order in which they became true. */
  listVersions(id: string, options: RequestOptions = {}): Promise<schema.Memory[]> {
    return this.#items("GET", `/memories/${segment(id)}/versions`, options)
  }

  /** Lists the changes of a memory and its versions. */
  getHistory(id: string, options: RequestOptions = {}): Promise<schema.Change[]> {
    return this.#items("GET", `/memories/${segment(id)}/history`, options)
  }

  /** Lists the memories and messages from which a memory was made, nearest first. */
  listProvenance(id: string, options: Options<schema.ListProvenanceQuery> = {}): Promise<schema.Origin[]> {
    return this.#items("GET", `/memories/${segment(id)}/provenance`, options)
  }

  /** Lists related memories, the most related first. */
  listRelated(id: string, options: Options<schema.ListRelatedQuery> = {}): Promise<schema.Related[]> {
    return this.#items("GET", `/memories/${segment(id)}/related`, options)
  }

  /** Replaces a memory that is no longer right. The old version is kept as the past. */
  supersede(id: string, content: string, options: Options<schema.Replacement, "content"> = {}): Promise<schema.Added> {
    return this.#send("POST", `/memories/${segment(id)}/supersede`, { content, ...options })
  }

  /** Hides a memory. It can be restored for 30 days, then it is erased. */
  forget(id: string, options: Options<schema.Reason> = {}): Promise<schema.Done> {
    return this.#send("POST", `/memories/${segment(id)}/forget`, options)
  }

  /** Restores a memory that was forgotten. */
  restore(id: string, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#send("POST", `/memories/${segment(id)}/restore`, options)
  }

  /** Keeps a memory that would expire. */
  promote(id: string, options: Options<schema.Reason> = {}): Promise<schema.Done> {
    return this.#send("POST", `/memories/${segment(id)}/promote`, options)
  }

  /** Records that a person has confirmed a memory, or no longer does. */
  verify(id: string, verified: boolean, options: Options<schema.Reason> = {}): Promise<schema.Done> {
    return this.#send("POST", `/memories/${segment(id)}/verify`, { verified, ...options })
  }

  /** Sets the tier of a memory. The strength of core and system memories never falls. */
  setTier(id: string, tier: schema.Tier["tier"], options: Options<schema.Reason> = {}): Promise<schema.Done> {
    return this.#send("POST", `/memories/${segment(id)}/tier`, { tier, ...options })
  }

  /** Merges memories that say the same. */
  merge(ids: string[], options: Options<schema.Merging, "ids"> = {}): Promise<schema.Added> {
    return this.#send("POST", "/memories/merge", { ids, ...options })
  }

  /** Undoes a merge. Returns the ids of the memories that were merged. */
  unmerge(id: string, options: RequestOptions = {}): Promise<string[]> {
    return this.#items("POST", `/memories/${segment(id)}/unmerge`, options)
  }

  /** Erases a memory for ever, with all that was made from it. */
  erase(id: string, options: RequestOptions = {}): Promise<schema.Receipt> {
    return this.#send("POST", `/memories/${segment(id)}/erase`, options)
  }

  /** Returns the receipt of an erasure. */
  findReceipt(proof: string, options: Options<schema.ProofOf, "proof"> = {}): Promise<schema.Receipt> {
    return this.#send("POST", "/receipts", { proof, ...options }, reading)
  }

  // Conversations

  /** Adds up to 1,000 messages, from which memories are extracted. Returns their ids. */
  addMessages(messages: schema.NewMessage[], options: RequestOptions = {}): Promise<string[]> {
    return this.#items("POST", "/messages", { messages, ...options })
  }

  /** Lists the messages of a conversation in order. */
  listMessages(sessionId: string, options: RequestOptions = {}): Promise<schema.Message[]> {
    return this.#items("GET", "/messages", { sessionId, ...options })
  }

  /** Deletes messages of a conversation, and its summaries, for ever. Memories that were extracted stay. */
  deleteMessages(
    sessionId: string,
    options: RequestOptions & schema.DeleteMessagesQuery = {},
  ): Promise<schema.Deleted> {
    return this.#send("DELETE", "/messages", { sessionId, ...options })
  }

  /** Ends a conversation: memories are extracted at once. */
  endSession(sessionId: string, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#send("POST", "/sessions/end", { sessionId, ...options })
  }

  // Recall

  /** Finds memories by meaning and words, best first. */
  recall(query: string, options: Options<schema.Query, "query"> = {}): Promise<schema.Recalled> {
    return this.#send("POST", "/recall", { query, ...options }, reading)
  }

  /** Returns what to know about the user before a reply, as text for the prompt. */
  context(query?: string, options: Options<schema.ContextQuery, "query"> = {}): Promise<schema.PromptContext> {
    return this.#send("POST", "/context", { query, ...options }, reading)
  }

  /** Shows how what is known about a topic changed. */
  timeline(topic: string, options: Options<schema.TimelineQuery, "topic"> = {}): Promise<schema.Timeline> {
    return this.#send("POST", "/timeline", { topic, ...options }, reading)
  }

  /** Lists the facts of a day. */
  listFacts(options: Options<schema.ListFactsQuery> = {}): Promise<schema.KnownFact[]> {
    return this.#items("GET", "/facts", options)
  }

  /** Lists the people, places and things that memories name. */
  listEntities(options: Options<schema.ListEntitiesQuery> = {}): Promise<schema.NamedEntity[]> {
    return this.#items("GET", "/entities", options)
  }

  /** Lists groups of people and things that memories connect, the largest first. */
  listCommunities(options: Options<schema.ListCommunitiesQuery> = {}): Promise<schema.Community[]> {
    return this.#items("GET", "/communities", options)
  }

  /** Reports the ids of the memories that a reply used. */
  reportUsed(ids: string[], options: RequestOptions = {}): Promise<schema.Done> {
    return this.#send("POST", "/used", { ids, ...options })
  }

  // Traits

  /** Lists what is believed about the user's character and habits. */
  listTraits(options: Options<schema.ListTraitsQuery> = {}): Promise<schema.TraitSummary[]> {
    return this.#items("GET", "/traits", options)
  }

  /** Returns a trait with its evidence and its history. */
  getTrait(id: string, options: RequestOptions = {}): Promise<schema.TraitDetails> {
    return this.#send("GET", `/traits/${segment(id)}`, options)
  }

  /** Corrects a trait. */
  editTrait(id: string, options: Options<schema.TraitEdit>): Promise<schema.Edited> {
    return this.#send("PATCH", `/traits/${segment(id)}`, options)
  }

  /** Ends a trait that is not true. It is kept as the past. */
  dissolveTrait(id: string, options: Options<schema.Reason> = {}): Promise<schema.Done> {
    return this.#send("POST", `/traits/${segment(id)}/dissolve`, options)
  }

  /** Deletes a trait with its history. */
  deleteTrait(id: string, options: RequestOptions = {}): Promise<schema.Deleted> {
    return this.#send("DELETE", `/traits/${segment(id)}`, options)
  }

  // Feedback

  /** Reports a reply and the memories that were recalled for it. */
  reportAnswer(
    query: string,
    recalled: string[],
    options: Options<schema.Reply, "query" | "recalled"> = {},
  ): Promise<schema.Created> {
    return this.#send("POST", "/answers", { query, recalled, ...options })
  }

  /** Stores what the user said about memories, traits or a reply. */
  giveFeedback(kind: schema.Opinion["kind"], options: Options<schema.Opinion, "kind"> = {}): Promise<schema.Created> {
    return this.#send("POST", "/feedback", { kind, ...options })
  }

  /** Lists what feedback changed, the newest first. */
  listAdjustments(options: Options<schema.ListAdjustmentsQuery> = {}): Promise<schema.Adjusted[]> {
    return this.#items("GET", "/adjustments", options)
  }

  /** Undoes what feedback changed. */
  rollBackAdjustment(id: string, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#send("POST", `/adjustments/${segment(id)}/rollback`, options)
  }

  /** Lists conclusions from several memories of one topic, the surest first. */
  listConclusions(options: Options<schema.ListConclusionsQuery> = {}): Promise<schema.Conclusion[]> {
    return this.#items("GET", "/conclusions", options)
  }

  /** Explains why something is known, why it is kept, and when it fades. */
  explain(id: string, options: RequestOptions = {}): Promise<schema.Sentence[]> {
    return this.#items("GET", `/why/${segment(id)}`, options)
  }

  // Procedures

  /** Lists how the user wants to be answered, the most important first. */
  listInstructions(options: Options<schema.ListInstructionsQuery> = {}): Promise<schema.Instruction[]> {
    return this.#items("GET", "/instructions", options)
  }

  /** Stores a standing instruction. */
  addInstruction(content: string, options: Options<schema.NewInstruction, "content"> = {}): Promise<schema.Created> {
    return this.#send("POST", "/instructions", { content, ...options })
  }

  /** Ends a standing instruction. */
  endInstruction(id: string, options: RequestOptions = {}): Promise<schema.Changed> {
    return this.#send("DELETE", `/instructions/${segment(id)}`, options)
  }

  /** Lists skills for a situation, the best first. */
  listSkills(options: Options<schema.ListSkillsQuery> = {}): Promise<schema.Skill[]> {
    return this.#items("GET", "/skills", options)
  }

  /** Stores a skill, or its next version. */
  addSkill(
    name: string,
    steps: string[],
    options: Options<schema.NewSkill, "name" | "steps"> = {},
  ): Promise<schema.Created> {
    return this.#send("POST", "/skills", { name, steps, ...options })
  }

  /** Counts that a skill worked or did not. */
  reportOutcome(id: string, success: boolean, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#send("POST", `/skills/${segment(id)}/outcome`, { success, ...options })
  }

  /** Ends a skill. */
  dropSkill(id: string, options: RequestOptions = {}): Promise<schema.Changed> {
    return this.#send("DELETE", `/skills/${segment(id)}`, options)
  }

  // Intentions

  /** Lists what is open or due, the earliest first. */
  listUpcoming(options: Options<schema.ListUpcomingQuery> = {}): Promise<schema.Intention[]> {
    return this.#items("GET", "/intentions", options)
  }

  /** Stores a reminder, a plan or a goal. */
  addIntention(content: string, options: Options<schema.NewIntention, "content"> = {}): Promise<schema.Created> {
    return this.#send("POST", "/intentions", { content, ...options })
  }

  /** Marks an intention as done. */
  completeIntention(id: string, options: Options<schema.Reason> = {}): Promise<schema.Changed> {
    return this.#send("POST", `/intentions/${segment(id)}/done`, options)
  }

  /** Marks an intention as dropped. */
  dropIntention(id: string, options: Options<schema.Reason> = {}): Promise<schema.Changed> {
    return this.#send("POST", `/intentions/${segment(id)}/drop`, options)
  }

  /** Makes an intention due again later. */
  snoozeIntention(
    id: string,
    until: schema.Snooze["until"],
    options: Options<schema.Snooze, "until"> = {},
  ): Promise<schema.Changed> {
    return this.#send("POST", `/intentions/${segment(id)}/snooze`, { until, ...options })
  }

  // Profile

  /** Lists the profile values of the user. */
  listProfile(options: RequestOptions = {}): Promise<schema.ProfileValue[]> {
    return this.#items("GET", "/profile", options)
  }

  /** Stores a profile value. Keys such as occupation and interests become facts. */
  putProfile(key: string, value: unknown, options: Options<schema.Value, "value"> = {}): Promise<schema.Facts> {
    return this.#send("PUT", `/profile/${segment(key)}`, { value, ...options })
  }

  /** Returns how the user felt: the baseline, the mood, what moves it, what calms, and the last weeks. */
  getEmotions(options: Options<schema.GetEmotionsQuery> = {}): Promise<schema.Feeling[]> {
    return this.#items("GET", "/emotions", options)
  }

  /** Lists what the user will probably do, ask or need, the most probable first. */
  predict(options: Options<schema.PredictQuery> = {}): Promise<schema.Prediction[]> {
    return this.#items("GET", "/predictions", options)
  }

  // Documents

  /** Adds a file, or replaces the one with the same path. */
  addDocument(
    path: string,
    content: string,
    options: Options<schema.NewDocument, "path" | "content"> = {},
  ): Promise<schema.Report> {
    return this.#send("POST", "/documents", { path, content, ...options })
  }

  /** Lists the files. */
  listDocuments(options: RequestOptions = {}): Promise<schema.File[]> {
    return this.#items("GET", "/documents", options)
  }

  /** Deletes a file and its memories. */
  deleteDocument(path: string, options: RequestOptions = {}): Promise<schema.Deleted> {
    return this.#send("DELETE", "/documents", { path, ...options })
  }

  // The user

  /** Exports everything of the user. */
  async *export(options: RequestOptions = {}): AsyncGenerator<ExportedRecord, void, undefined> {
    for await (const line of this.#transport.lines({ method: "GET", path: this.#path("/export"), ...options })) {
      yield JSON.parse(line)
    }
  }

  /** Imports memories, all or none: objects with the columns of oxbow.memories by name, one a line. */
  importMemories(lines: Lines, options: Options<schema.ImportQuery> = {}): Promise<schema.Imported> {
    const { signal, timeout, ...query } = options
    return this.#transport.json({ method: "POST", path: this.#path("/import"), query, lines, signal, timeout })
  }

  /** Returns the user's settings. */
  getSettings(options: RequestOptions = {}): Promise<schema.UserSettings> {
    return this.#send("GET", "/settings", options)
  }

  /** Replaces the user's settings. */
  putSettings(settings: Options<schema.UserSettings>): Promise<schema.UserSettings> {
    return this.#send("PUT", "/settings", settings, reading)
  }

  /** Lists who read or changed the user's data, the latest first. */
  listLog(options: Paged<schema.ListLogQuery> = {}): Pages<schema.Access> {
    return this.#pages("/log", options)
  }

  /** Erases everything of the user for ever. The argument is the user again, so that nobody is erased by mistake. */
  eraseUser(userId: string, options: RequestOptions = {}): Promise<schema.Receipt> {
    return this.#send("POST", "/erase", { userId, ...options })
  }

  /** Returns what became of a memory that was added. */
  getOperation(id: string, options: RequestOptions = {}): Promise<schema.Operation> {
    return this.#send("GET", `/operations/${segment(id)}`, options)
  }

  /** Retries the failed jobs of a memory. */
  retryOperation(id: string, options: RequestOptions = {}): Promise<schema.Retried> {
    return this.#send("POST", `/operations/${segment(id)}/retry`, options)
  }

  // Operators

  /** Reports whether the server and its database work. Needs no key. */
  health(options: RequestOptions = {}): Promise<schema.Health> {
    return this.#transport.json({ method: "GET", path: "/health", ...options })
  }

  /** Shows the queue and the jobs that failed. For operators. */
  getQueue(options: Options<schema.GetQueueQuery> = {}): Promise<schema.Queue> {
    const { signal, timeout, ...query } = options
    return this.#transport.json({ method: "GET", path: "/queue", query, signal, timeout })
  }

  /** Makes a job due now. For operators. */
  retryJob(jobId: number, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#transport.json({ method: "POST", path: `/queue/${jobId}/retry`, ...options })
  }

  /** Shows the contents of the database and the waiting work. For operators. */
  getStatus(options: RequestOptions = {}): Promise<schema.Overview> {
    return this.#transport.json({ method: "GET", path: "/status", ...options })
  }

  /** Lists users by id. For operators. */
  listUsers(options: Paged<schema.ListUsersQuery> = {}): Pages<string> {
    const { signal, timeout, cursor, ...query } = options
    return new Pages(
      (next) =>
        this.#transport.json({ method: "GET", path: "/users", query: { ...query, cursor: next }, signal, timeout }),
      cursor,
    )
  }

  /** Returns the mode of the job molt. For operators. */
  getMoltMode(options: RequestOptions = {}): Promise<schema.MoltMode> {
    return this.#transport.json({ method: "GET", path: "/molt", ...options })
  }

  /** Sets the mode of the job molt. For operators. */
  setMoltMode(mode: schema.MoltMode["mode"], options: RequestOptions = {}): Promise<schema.Done> {
    return this.#transport.json({ method: "PUT", path: "/molt", body: { mode }, ...options })
  }

  /** Lists changes of policies that molt tried, the latest first. For operators. */
  async listStrategies(options: Options<schema.ListStrategiesQuery> = {}): Promise<schema.Strategy[]> {
    const { signal, timeout, ...query } = options
    const call = { method: "GET", path: "/strategies", query, signal, timeout } as const
    return (await this.#transport.json<Page<schema.Strategy>>(call)).items
  }

  /** Explains why a strategy was proposed, and what became of it. For operators. */
  async explainStrategy(
    version: number,
    options: Options<schema.ExplainStrategyQuery> = {},
  ): Promise<schema.Sentence[]> {
    const { signal, timeout, ...query } = options
    const call = { method: "GET", path: `/strategies/${version}/why`, query, signal, timeout } as const
    return (await this.#transport.json<Page<schema.Sentence>>(call)).items
  }

  /** Sets the policies of a strategy. For operators. */
  adoptStrategy(version: number, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#transport.json({ method: "POST", path: `/strategies/${version}/adopt`, ...options })
  }

  /** Restores the policies that a strategy replaced. For operators. */
  rollBackStrategy(version: number, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#transport.json({ method: "POST", path: `/strategies/${version}/rollback`, ...options })
  }

  /** Shows the privacy budget, and the latest release of patterns across users. For operators. */
  getPatterns(options: RequestOptions = {}): Promise<schema.PatternAccount> {
    return this.#transport.json({ method: "GET", path: "/patterns", ...options })
  }

  /** Lists the addresses to which due intentions are posted, the oldest first. For operators. */
  async listWebhooks(options: RequestOptions = {}): Promise<schema.Webhook[]> {
    return (await this.#transport.json<Page<schema.Webhook>>({ method: "GET", path: "/webhooks", ...options })).items
  }

  /** Adds an address, and returns the secret that signs its messages, once. For operators. */
  addWebhook(url: string, options: RequestOptions = {}): Promise<schema.NewWebhook> {
    return this.#transport.json({ method: "POST", path: "/webhooks", body: { url }, ...options })
  }

  /** Enables or disables a webhook. For operators. */
  setWebhook(id: string, enabled: boolean, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#transport.json({ method: "PUT", path: `/webhooks/${segment(id)}`, body: { enabled }, ...options })
  }

  /** Deletes a webhook. For operators. */
  deleteWebhook(id: string, options: RequestOptions = {}): Promise<schema.Done> {
    return this.#transport.json({ method: "DELETE", path: `/webhooks/${segment(id)}`, ...options })
  }

  // Version 1

  /** Adds a memory as version 1 did. */
  addMemoryV1(content: string, options: Options<schema.MemoryV1, "content"> = {}): Promise<schema.Added> {
    return this.#send("POST", "/add_memory", { content, ...options })
  }

  /** Searches as version 1 did. */
  searchV1(query: string, options: Options<schema.SearchV1, "query"> = {}): Promise<schema.Result[]> {
    return this.#items("POST", "/search", { query, ...options }, reading)
  }

  #path(path: string): string {
    return this.#options.user === undefined ? path : `/users/${segment(this.#options.user)}${path}`
  }

  /** Sends fields as the query of a GET or DELETE, and as the body of others. */
  #send<T>(method: Call["method"], path: string, fields: object, options: Partial<Call> = {}): Promise<T> {
    const { signal, timeout, idempotencyKey, ...rest } = fields as Once
    const place = method === "GET" || method === "DELETE" ? { query: rest } : { body: rest }
    return this.#transport.json({
      method,
      path: this.#path(path),
      ...place,
      signal,
      timeout,
      idempotencyKey,
      ...options,
    })
  }

  async #items<T>(method: Call["method"], path: string, fields: object, options?: Partial<Call>): Promise<T[]> {
    return (await this.#send<Page<T>>(method, path, fields, options)).items
  }

  #pages<T>(path: string, options: Paged<object>): Pages<T> {
    const { cursor, ...query } = options
    return new Pages((next) => this.#send("GET", path, { ...query, cursor: next }), cursor)
  }
}

/** For requests that change nothing, or the same if they are repeated. */
const reading = { safe: true }

/** Returns a part of a path. A URL has no way to write "." or "..". */
function segment(text: string): string {
  if (text === "" || text === "." || text === "..") throw new OxbowError(`"${text}" cannot be an id or a user`)
  return encodeURIComponent(text)
}
