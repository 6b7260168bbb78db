// What the vectors cannot say: streams, signals and many requests, with the real server.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { Oxbow } from "oxbow-memory"
import { root } from "./operations.js"
import { client, newUser, personKey, url } from "./server.js"

const lines = (n: number) => Array.from({ length: n }, (_, i) => JSON.stringify({ content: `笔记 ${i}` })).join("\n")

test("memories are imported from text, a file and a stream, and exported", async () => {
  const oxbow = client()
  const stream = new Blob([lines(2_500)]).stream()
  for (const body of [lines(1), new Blob([lines(2)]), stream])
    await oxbow.importMemories(body, { memoryType: "document" })
  const contents: unknown[] = []
  for await (const record of oxbow.export()) if (record.memory_type === "document") contents.push(record.content)
  assert.equal(contents.length, 2_503)
  assert.ok(contents.includes("笔记 2499"))
})

test("a list of several pages is read once", async () => {
  const oxbow = client()
  await oxbow.importMemories(lines(25), { memoryType: "document" })
  const ids = (await oxbow.listMemories({ limit: 10 }).all()).map((memory) => memory.id)
  assert.equal(new Set(ids).size, 25)
  const { items, nextCursor } = await oxbow.listMemories({ limit: 20 }).page()
  assert.deepEqual(
    [...items, ...(await oxbow.listMemories({ cursor: nextCursor }).all())].map((m) => m.id),
    ids,
  )
})

test("an export can be ended", async () => {
  const oxbow = client()
  await oxbow.importMemories(lines(3_000), { memoryType: "document" })
  const controller = new AbortController()
  const read = async () => {
    for await (const _ of oxbow.export({ signal: controller.signal })) controller.abort(new Error("enough"))
  }
  await assert.rejects(read(), { message: "enough" })
  for await (const _ of oxbow.export()) break // a loop that ends early ends the request
})

test("more requests than the server allows at once are all answered", async () => {
  const user = newUser()
  const oxbow = new Oxbow({ url, apiKey: await personKey(user), user })
  const answers = await Promise.all(Array.from({ length: 300 }, () => oxbow.getSettings()))
  assert.equal(answers.length, 300)
})

test("wait ends with the signal, and returns what is there after the timeout", async () => {
  const oxbow = client()
  const { id } = await oxbow.add("Ada rows")
  await assert.rejects(oxbow.wait(id, { signal: AbortSignal.abort("enough") }), (reason) => reason === "enough")
  assert.equal((await oxbow.wait(id, { timeout: 0 })).id, id)
  assert.equal((await oxbow.wait(id)).state, "done")
})

test("a name in camelCase leads back to the name of the API", async () => {
  const { fromWire, toWire } = await import(new URL("../dist/wire.js", import.meta.url).href)
  const names = new Set<string>()
  JSON.parse(readFileSync(new URL("server/openapi.json", root), "utf8"), (_, value) => {
    for (const name of Object.keys(value?.properties ?? {})) names.add(name)
    return value
  })
  assert.ok(names.size > 200)
  const value = Object.fromEntries([...names].map((name) => [name, 1]))
  assert.deepEqual(toWire(fromWire(value)), value)
})
