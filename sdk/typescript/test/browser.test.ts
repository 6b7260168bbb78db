// The built package in Chromium, on a page of another origin than the server's.
import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { type TestContext, test } from "node:test"
import { newUser, personKey, variable } from "./server.js"

// What the page does. It reports what it returns.
const script = (url: string, apiKey: string) => `
  import { ConflictError, ForbiddenError, InvalidError, Oxbow } from "/dist/index.js"
  const report = (value) => fetch("/report", { method: "POST", body: JSON.stringify(value) })
  try {
    const oxbow = new Oxbow(${JSON.stringify({ url, apiKey })})
    const { id } = await oxbow.add("我女儿最喜欢紫色的兰花", { metadata: { from_page: true } })
    await oxbow.wait(id)
    const { memories } = await oxbow.recall("女儿喜欢什么花？")
    const listed = []
    for await (const memory of oxbow.listMemories({ limit: 1 })) listed.push(memory.id === id)
    const exported = []
    for await (const record of oxbow.export()) exported.push(record.content)
    const patched = await oxbow.editTrait(id, { content: "x" }).catch((error) => error)
    const invalid = await oxbow.add(" ").catch((error) => error)
    const forbidden = await oxbow.getStatus().catch((error) => error)
    await report({
      content: memories[0].content,
      metadata: memories[0].metadata,
      listed,
      exported: exported.includes("我女儿最喜欢紫色的兰花"),
      invalid: [invalid instanceof InvalidError, invalid.field, Boolean(invalid.requestId)],
      patched: patched instanceof ConflictError,
      forbidden: forbidden instanceof ForbiddenError,
    })
  } catch (error) {
    await report({ error: String(error.stack) })
  }`

/** Starts the page's own server. Returns its origin, and a promise of what the page reports. */
async function servePage(t: TestContext, page: () => string): Promise<[string, Promise<unknown>]> {
  let reported = (_: unknown) => {}
  const report = new Promise((resolve) => {
    reported = resolve
  })
  const server = createServer(async (request, response) => {
    const path = new URL(request.url ?? "/", "http://page").pathname
    if (path === "/report") {
      let body = ""
      for await (const part of request) body += part
      response.end()
      reported(JSON.parse(body))
    } else if (path.startsWith("/dist/")) {
      response.setHeader("Content-Type", "text/javascript")
      response.end(await readFile(new URL(`..${path}`, import.meta.url)))
    } else {
      response.setHeader("Content-Type", "text/html; charset=utf-8")
      response.end(path === "/" ? `<!doctype html><script type="module">${page()}</script>` : "")
    }
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return [`http://127.0.0.1:${(server.address() as AddressInfo).port}`, report]
}

/** Starts a program that ends with the test. */
function start(t: TestContext, program: string, ...args: string[]) {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
  let errors = ""
  child.stderr.on("data", (part) => {
    errors += part
  })
  t.after(async () => {
    if (child.exitCode === null && child.kill()) await once(child, "exit")
  })
  return Object.assign(child, { errors: () => errors })
}

test("a page in a browser uses the package", { timeout: 120_000 }, async (t) => {
  let page = ""
  const [origin, report] = await servePage(t, () => page)
  const args = ["serve", "--addr", "127.0.0.1:0", "--origins", origin]
  const serve = start(t, variable("OXBOW_BIN"), ...args)
  let url = ""
  for await (const line of createInterface(serve.stdout)) {
    url = line.replace(/^Serving /, "")
    break
  }
  page = script(url, await personKey(newUser()))

  const profile = await mkdtemp(join(tmpdir(), "oxbow-chromium-"))
  t.after(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }))
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
  const chromium = start(t, process.env.CHROMIUM ?? "chromium", ...flags, `--user-data-dir=${profile}`, origin)
  chromium.stdout.resume()
  const ended = once(chromium, "exit").then(([code]) => ({
    error: `chromium ended with ${code}: ${chromium.errors()}`,
  }))
  assert.deepEqual(await Promise.race([report, ended]), {
    content: "我女儿最喜欢紫色的兰花",
    metadata: { from_page: true },
    listed: [true],
    exported: true,
    invalid: [true, "content", true],
    patched: true,
    forbidden: true,
  })
})
