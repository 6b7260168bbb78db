// The classes of mem0 with the real server. The real mem0ai says whether their types fit.
import assert from "node:assert/strict"
import { test } from "node:test"
import type { MemoryClient as RealClient } from "mem0ai"
import type { Memory as RealMemory } from "mem0ai/oss"
import { Memory, MemoryClient } from "oxbow-memory/mem0"
import { appKey, client, newUser, personKey, url } from "./server.js"

type Method = "add" | "search" | "get" | "getAll" | "update" | "delete" | "deleteAll" | "history"

// What an app does with mem0's classes, it can do with these.
const memory: Pick<RealMemory, Method> = new Memory({
  embedder: { provider: "openai", config: { model: "text-embedding-3-small" } },
  vectorStore: { provider: "memory", config: { collectionName: "memories" } },
})
const platform: Pick<RealClient, Method> = new MemoryClient({ apiKey: appKey, host: url })

// mem0's ids have no spaces.
const user = () => newUser().replace(" ", "-")

test("the quick start of mem0", async () => {
  const userId = user()
  const { results: added } = await memory.add(
    [
      { role: "user", content: "I love sci-fi movies, but I'm not a big fan of thrillers." },
      { role: "assistant", content: "Got it! I'll recommend sci-fi movies." },
    ],
    { userId, metadata: { category: "movies" } },
  )
  assert.equal(added.length, 1)
  assert.match(added[0]?.memory ?? "", /sci-fi/)
  assert.deepEqual(added[0]?.metadata, { event: "ADD" })
  const { results } = await memory.search("which movies does she love?", { filters: { user_id: userId }, topK: 3 })
  assert.equal(results[0]?.id, added[0]?.id)
  assert.ok((results[0]?.score ?? 0) > 0)
  const all = await memory.getAll({ filters: { user_id: userId } })
  assert.deepEqual(
    all.results.map((m) => [m.id, m.memory]),
    added.map((m) => [m.id, m.memory]),
  )
})

test("a memory is changed, and deleted, under one id", async () => {
  const userId = user()
  const { results } = await memory.add("我女儿最喜欢紫色的兰花", { userId, infer: false, metadata: { source_id: 7 } })
  const id = results[0]?.id ?? ""
  assert.deepEqual(await memory.update(id, "我女儿最喜欢白色的兰花"), { message: "Memory updated successfully!" })
  await memory.update(id, { text: "我女儿最喜欢黄色的兰花", metadata: { changed: true } })
  const now = await memory.get(id)
  assert.equal(now?.memory, "我女儿最喜欢黄色的兰花")
  assert.deepEqual(now?.metadata, { source_id: 7, changed: true })
  assert.deepEqual(
    (await memory.history(id)).map((h) => [h.action, h.previous_value, h.new_value, h.is_deleted]),
    [
      ["UPDATE", "我女儿最喜欢白色的兰花", "我女儿最喜欢黄色的兰花", 0],
      ["UPDATE", "我女儿最喜欢紫色的兰花", "我女儿最喜欢白色的兰花", 0],
      ["ADD", null, "我女儿最喜欢紫色的兰花", 0],
    ],
  )
  assert.deepEqual(await memory.delete(id), { message: "Memory deleted successfully!" })
  assert.equal(await memory.get(id), null)
  assert.equal((await memory.getAll({ filters: { user_id: userId } })).results.length, 0)
  assert.equal((await memory.history(id))[0]?.action, "DELETE")
  await assert.rejects(memory.delete(id), /not found/)
})

test("filters select by agent, run and metadata", async () => {
  const userId = user()
  const add = (content: string, agentId: string, runId: string, kind: string) =>
    memory.add(content, { userId, agentId, runId, infer: false, metadata: { kind } })
  await add("Ada rows", "coach", "r1", "sport")
  await add("Ada swims", "coach", "r2", "sport")
  await add("Ada plays the cello", "tutor", "r1", "music")
  const search = async (filters: object) =>
    (await memory.search("what does Ada do?", { filters: { user_id: userId, ...filters } })).results
      .map((m) => m.memory)
      .sort()
  assert.deepEqual(await search({ agent_id: "coach" }), ["Ada rows", "Ada swims"])
  assert.deepEqual(await search({ run_id: "r1" }), ["Ada plays the cello", "Ada rows"])
  assert.deepEqual(await search({ kind: "music" }), ["Ada plays the cello"])
  assert.deepEqual(await search({ AND: [{ agent_id: "coach" }, { run_id: "r2" }] }), ["Ada swims"])
  assert.deepEqual(await search({ OR: [{ kind: "music" }, { run_id: "r2" }] }), ["Ada plays the cello", "Ada swims"])
  assert.deepEqual(await search({ NOT: [{ kind: "music" }] }), ["Ada rows", "Ada swims"])
  assert.deepEqual(await search({ kind: { in: ["music"] }, agent_id: "*" }), ["Ada plays the cello"])
  assert.deepEqual(await search({ kind: { icontains: "USI" } }), ["Ada plays the cello"])
  assert.deepEqual(await search({ kind: { gt: "n" } }), ["Ada rows", "Ada swims"])
  assert.deepEqual(await search({ kind: { ne: "sport" } }), ["Ada plays the cello"])
  await assert.rejects(search({ kind: { like: 1 } }), /unsupported operator/)
  const scored = await memory.search("what does Ada do?", { filters: { user_id: userId } })
  const scores = scored.results.map((m) => m.score ?? -1)
  assert.ok(scores.length === 3 && scores.every((score) => score > 0 && score < 1))
  for (const [threshold, length] of [
    [Math.min(...scores) / 2, 3],
    [1, 0],
  ] as const) {
    const { results } = await memory.search("what does Ada do?", { filters: { user_id: userId }, threshold })
    assert.equal(results.length, length)
  }
  const found = await memory.getAll({ filters: { user_id: userId, kind: "sport", run_id: "r2" } })
  assert.deepEqual(
    found.results.map((m) => ({ ...m, id: "", createdAt: "", updatedAt: "" })),
    [
      {
        id: "",
        memory: "Ada swims",
        metadata: { kind: "sport" },
        createdAt: "",
        updatedAt: "",
        user_id: userId,
        agent_id: "coach",
        run_id: "r2",
      },
    ],
  )
  await client({ user: userId }).addDocument("notes.md", "Ada also has documents.")
  await memory.deleteAll({ userId, agentId: "coach" })
  assert.deepEqual(await search({}), ["Ada plays the cello"])
  await memory.deleteAll({ userId })
  assert.equal((await client({ user: userId }).listDocuments()).length, 1)
  assert.equal((await client({ user: userId }).listMemories().all()).length, 1)
  await assert.rejects(memory.deleteAll({}), /required/)
})

test("the platform's client", async () => {
  const userId = user()
  const messages = [{ role: "user" as const, content: "I live in Lisbon. I'm allergic to nuts." }]
  const added = await platform.add(messages, { userId, timestamp: 1_714_521_600 })
  assert.equal(added.length, 2)
  assert.ok(added.every((m) => m.event === "ADD" && m.createdAt instanceof Date && m.userId === userId))
  const { results } = await platform.search("where does she live?", { filters: { AND: [{ user_id: userId }] } })
  assert.match(results[0]?.memory ?? "", /Lisbon/)
  const id = results[0]?.id ?? ""
  const [updated] = await platform.update(id, { text: "I live in Porto." })
  assert.equal(updated?.memory, "I live in Porto.")
  assert.equal((await platform.get(id)).memory, "I live in Porto.")
  const first = await platform.getAll({ filters: { user_id: userId }, page: 1, pageSize: 1 })
  const second = await platform.getAll({ filters: { user_id: userId }, page: 2, pageSize: 1 })
  assert.deepEqual([first.count, first.next, first.previous, second.next, second.previous], [2, "2", null, null, "1"])
  assert.notEqual(first.results[0]?.id, second.results[0]?.id)
  assert.deepEqual(
    (await platform.history(id)).map((h) => [h.event, h.newMemory]),
    [
      ["UPDATE", "I live in Porto."],
      ["ADD", "I live in Lisbon."],
    ],
  )
  await platform.delete(id)
  await assert.rejects(platform.get(id), /not found/)
  await platform.deleteAll({ userId })
  assert.equal((await platform.getAll({ filters: { user_id: userId } })).count, 0)
})

test("a person's key needs no user", async () => {
  const own = new Memory({ oxbow: { url, apiKey: await personKey(user()) } })
  const { results } = await own.add("Ada rows", { infer: false })
  assert.match(results[0]?.id ?? "", /^[0-9a-f-]{36}$/)
  assert.equal((await own.search("row", {})).results[0]?.memory, "Ada rows")
  await own.delete(results[0]?.id ?? "")
})

test("memories expire", async () => {
  const [userId, expirationDate] = [user(), "2999-12-31"]
  const { results } = await memory.add("Ada rows", { userId, infer: false, expirationDate })
  const [id = ""] = (results[0]?.id ?? "").split(":")
  assert.equal((await client({ user: userId }).get(id)).expiresAt, "3000-01-01T00:00:00Z")
  await assert.rejects(memory.add("Ada rows", { userId, expirationDate }), /infer/)
})

test("what cannot be stored is refused", async () => {
  assert.equal(await memory.get("8c7ddf0f-ca0b-4b89-8ee8-9ff53d5a0000"), null)
  await assert.rejects(memory.update("x:ada", {}), /text or metadata/)
  await assert.rejects(memory.add([{ role: "user", content: { type: "image_url", image_url: { url: "x" } } }], {}))
  await assert.rejects(memory.add(" ", { userId: user() }), /blank/)
})
