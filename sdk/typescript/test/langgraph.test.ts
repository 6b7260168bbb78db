// Compares the store with LangGraph's own, and uses it in a graph.
import assert from "node:assert/strict"
import { test } from "node:test"
import { END, type LangGraphRunnableConfig, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph"
import { AsyncBatchedStore, type BaseStore, InMemoryStore, type Item } from "@langchain/langgraph-checkpoint"
import { OxbowStore } from "oxbow-memory/langgraph"
import { client, newUser } from "./server.js"

/** Returns what both stores must agree on. */
function seen(item: Item | null) {
  return item && { namespace: item.namespace, key: item.key, value: item.value }
}

const byName = (a: Item | null, b: Item | null) => (JSON.stringify(seen(a)) < JSON.stringify(seen(b)) ? -1 : 1)

/** Does what can be done with a store, and returns what it answered. */
async function everything(store: BaseStore): Promise<unknown[]> {
  const got: unknown[] = []
  const values = [
    { text: "likes tea", n: 1, nested: { a_b: [1, { b: null }] }, 键: "值 🌸" },
    { text: "likes\ncoffee \0", n: 2.5, nested: { a_b: [2] }, snake_case: { inner_key: true } },
    {},
  ]
  for (const [i, value] of values.entries()) {
    await store.put(["users", "ada"], `key ${i}`, value)
    await store.put(["users", "bob"], `key ${i}`, { ...value, n: 10 + i })
    await store.put(["users", "ada", "deep/er"], "键 'quoted\"", value)
  }
  await store.put(["docs"], "key 0", { text: "a document" })
  await store.put(["x".repeat(2000)], "k".repeat(2000), { long: "name" })
  for (const namespace of [["users", "ada"], ["users", "bob"], ["docs"], ["x".repeat(2000)]]) {
    for (const key of ["key 0", "key 1", "key 2", "none", "k".repeat(2000)])
      got.push(seen(await store.get(namespace, key)))
  }
  got.push(seen(await store.get(["users", "ada", "deep/er"], "键 'quoted\"")))
  await store.put(["users", "ada"], "key 0", { text: "likes nothing", n: 3 })
  await store.put(["users", "ada"], "key 1", values[1] ?? {})
  await store.put(["users", "ada"], "key 3", values[1] ?? {})
  for (const key of ["key 0", "key 1", "key 2", "key 3"]) got.push(seen(await store.get(["users", "ada"], key)))
  await store.delete(["users", "bob"], "key 1")
  await store.delete(["users", "bob"], "key 1")
  got.push(seen(await store.get(["users", "bob"], "key 1")))
  await store.put(["users", "bob"], "key 1", { text: "back", n: 5 })
  got.push(seen(await store.get(["users", "bob"], "key 1")))

  const filters: Record<string, unknown>[] = [
    {},
    { n: 3 },
    { n: { $ne: 3 } },
    { text: "likes tea" },
    { n: "3" },
    { n: { $eq: 12 } },
    { n: { $gte: 3, $lt: 12 } },
    { text: { $ne: "likes tea" }, n: 2.5 },
    { n: { $in: [3, 12] } },
    { n: { $nin: [3, 12] } },
  ]
  for (const filter of filters) {
    for (const prefix of [[], ["users"], ["users", "ada"], ["users", "ada", "deep/er"], ["user"], ["none"]]) {
      const found = await store.search(prefix, { filter, limit: 100 })
      got.push(found.sort(byName).map(seen))
    }
  }
  for (const [limit, offset] of [
    [3, 0],
    [3, 2],
    [100, 4],
    [1, 100],
  ]) {
    got.push((await store.search(["users"], { limit, offset })).length)
  }
  const listings = [
    {},
    { prefix: ["users"] },
    { prefix: ["users", "*"] },
    { prefix: ["*", "ada"] },
    { suffix: ["ada"] },
    { suffix: ["ada", "*"] },
    { prefix: ["users"], suffix: ["deep/er"] },
    { maxDepth: 1 },
    { prefix: ["users"], maxDepth: 2 },
    { limit: 2, offset: 1 },
    { prefix: ["none"] },
  ]
  for (const listing of listings) got.push(await store.listNamespaces(listing))
  got.push(
    await store
      .batch([
        { namespace: ["docs"], key: "new", value: { v: 1 } },
        { namespace: ["docs"], key: "new" },
        { namespace: ["docs"], key: "new", value: { v: 2 } },
      ] as const as never)
      .then((results: unknown[]) => results[1]),
  )
  got.push(seen(await store.get(["docs"], "new")))
  return got
}

test("the store answers as LangGraph's own", { timeout: 120_000 }, async () => {
  const expected = await everything(new InMemoryStore())
  const actual = await everything(new OxbowStore({ oxbow: client() }))
  assert.deepEqual(actual, expected)
})

test("what LangGraph refuses is refused", async () => {
  const store = new OxbowStore({ oxbow: client() })
  for (const namespace of [[], [""], ["a.b"], ["langgraph", "x"]]) {
    await assert.rejects(store.put(namespace, "k", {}), { name: "InvalidNamespaceError" })
  }
  await store.put(["a"], "k", { n: 1 })
  await assert.rejects(store.search(["a"], { filter: { n: { $like: 1 } } }), /unsupported operator/)
})

test("items have times", async () => {
  const store = new OxbowStore({ oxbow: client() })
  await store.put(["a"], "k", { n: 1 })
  const first = await store.get(["a"], "k")
  await store.put(["a"], "k", { n: 2 })
  await store.put(["a"], "k", { n: 3 })
  const last = await store.get(["a"], "k")
  assert.ok(first && last && last.updatedAt > first.updatedAt)
  assert.equal(Number(first.createdAt), Number(first.updatedAt))
  assert.equal(Number(last.createdAt), Number(first.createdAt))
})

test("an item is stored as sdk/README.md says", async () => {
  const oxbow = client()
  await new OxbowStore({ oxbow }).put(["users", "阿达"], 'a "key"', { text: "tea" })
  const [memory] = await oxbow.listMemories().all()
  assert.equal(memory?.sessionId, 'langgraph:["users", "阿达", "a \\"key\\""]')
  assert.deepEqual(
    [memory.agentId, memory.memoryType, memory.content, memory.metadata],
    [
      "langgraph",
      "document",
      '{"text":"tea"}',
      { item: { namespace: { 0: "users", 1: "阿达" }, key: 'a "key"', value: '{"text":"tea"}', indexed: true } },
    ],
  )
})

test("a query finds items by their fields", async () => {
  const oxbow = client()
  const store = new OxbowStore({ oxbow })
  await store.put(["u", "ada"], "pet", { text: "我女儿最喜欢紫色的兰花", kind: "plant" })
  await store.put(["u", "ada"], "music", { text: "Ada plays the cello", kind: "music" })
  await store.put(["u", "ada"], "chosen", { title: "cello", parts: [{ t: "a violin" }, { t: "a flute" }] }, [
    "parts[*].t",
  ])
  await store.put(["u", "ada"], "hidden", { text: "cello cello cello" }, false)
  await store.put(["u", "bob"], "music", { text: "Bob plays the cello too" })
  for await (const { id } of oxbow.listMemories()) await oxbow.wait(id)
  const search = (query: string, options = {}) => store.search(["u", "ada"], { query, ...options })
  assert.equal((await search("女儿喜欢什么花？"))[0]?.key, "pet")
  assert.equal((await search("who plays the cello?"))[0]?.key, "music")
  assert.equal((await search("a flute"))[0]?.key, "chosen")
  assert.equal((await search("who plays the cello?", { filter: { kind: "plant" } }))[0]?.key, "pet")
  const all = await search("who plays the cello?")
  assert.deepEqual(all.map((item) => item.key).sort(), ["chosen", "hidden", "music", "pet"])
  assert.ok((all[0]?.score ?? 0) > 0)
  assert.equal(all.find((item) => item.key === "hidden")?.score, undefined)
})

test("a namespace can name the user", async () => {
  const oxbow = client({ user: undefined })
  const store = new OxbowStore({ oxbow, user: ([, user]) => user })
  const [ada, bob] = [newUser(), newUser()]
  await store.put(["memories", ada], "k", { of: "ada" })
  await store.batch([
    { namespace: ["memories", bob], key: "k", value: { of: "bob" } },
    { namespace: ["memories", ada], key: "l", value: { of: "ada" } },
  ])
  assert.deepEqual((await store.get(["memories", bob], "k"))?.value, { of: "bob" })
  assert.equal((await store.search(["memories", ada])).length, 2)
  assert.deepEqual(await store.listNamespaces({ prefix: ["memories", bob] }), [["memories", bob]])
  assert.equal((await oxbow.forUser(ada).listMemories().all()).length, 2)
  await assert.rejects(store.search(["memories"]), /does not tell the user/)
})

test("puts at once leave one value", async () => {
  const store = new OxbowStore({ oxbow: client() })
  await store.put(["a"], "k", { n: -1 })
  await Promise.all(Array.from({ length: 4 }, (_, n) => store.put(["a"], "k", { n })))
  assert.equal((await store.search(["a"])).length, 1)
  assert.ok((await store.get(["a"], "k"))?.value.n >= 0)
})

test("stores with other names are apart, and a batched one is the same", async () => {
  const oxbow = client()
  await new OxbowStore({ oxbow, name: "one" }).put(["a"], "k", { n: 1 })
  assert.equal(await new OxbowStore({ oxbow, name: "two" }).get(["a"], "k"), null)
  const batched = new AsyncBatchedStore(new OxbowStore({ oxbow, name: "one" }))
  batched.start()
  const [item, none] = await Promise.all([batched.get(["a"], "k"), batched.get(["a"], "none")])
  batched.stop()
  assert.deepEqual(item?.value, { n: 1 })
  assert.equal(none, null)
})

test("a graph remembers across threads", async () => {
  const oxbow = client({ user: undefined })
  const node = async ({ messages }: typeof MessagesAnnotation.State, config: LangGraphRunnableConfig) => {
    const namespace = ["memories", config.configurable?.user]
    const said = messages.at(-1)?.text ?? ""
    const known = (await config.store?.search(namespace))?.map((item) => item.value.text) ?? []
    await config.store?.put(namespace, said, { text: said })
    return { messages: [{ role: "assistant", content: `known: ${known.join()}` }] }
  }
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("remember", node)
    .addEdge(START, "remember")
    .addEdge("remember", END)
    .compile({ store: new OxbowStore({ oxbow, user: ([, user]) => user }) })
  const user = newUser()
  const say = async (content: string, of: string) =>
    (await graph.invoke({ messages: [{ role: "user", content }] }, { configurable: { user: of } })).messages.at(-1)
      ?.text
  assert.equal(await say("I live in Lisbon", user), "known: ")
  assert.equal(await say("我喜欢兰花", user), "known: I live in Lisbon")
  assert.equal(await say("Hello", newUser()), "known: ")
})
