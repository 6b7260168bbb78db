// What the client does when the server or the network fails. The far end is a plain HTTP server with prepared answers.
import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { type TestContext, test } from "node:test"
import {
  APIError,
  BadRequestError,
  ConflictError,
  ConnectionFailedError,
  ForbiddenError,
  InvalidError,
  NotFoundError,
  Oxbow,
  OxbowError,
  type OxbowOptions,
  RateLimitError,
  ServerError,
  TimedOutError,
  TooLargeError,
  UnauthorizedError,
  UnavailableError,
} from "oxbow-memory"

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Returns a client of a server that gives one prepared answer after another, and the requests that arrived. */
async function serve(t: TestContext, answers: Answer[], options: OxbowOptions = {}) {
  const requests: (IncomingMessage & { body: string })[] = []
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const part of request) body += part
    requests.push(Object.assign(request, { body }))
    const answer = answers[requests.length - 1]
    if (answer) answer(request, response)
    else json({ id: "1", operation_id: "1", items: [] })(request, response)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { oxbow: new Oxbow({ url, apiKey: "key", user: "ada", ...options }), requests }
}

const json =
  (value: unknown): Answer =>
  (_, response) =>
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(value))

const problem =
  (status: number, value: object = {}, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response
      .writeHead(status, { "Content-Type": "application/problem+json", "X-Request-Id": "r1", ...headers })
      .end(JSON.stringify({ title: "A title", status, ...value }))

const cut: Answer = (request) => request.socket.destroy()
const half: Answer = (request, response) => {
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" })
  response.write('{"id":', () => request.socket.destroy())
}
const never: Answer = () => {}

test("a request has the user, the key and the fields in snake_case", async (t) => {
  const { oxbow, requests } = await serve(t, [])
  await oxbow.forUser("周 1/2").add("x", { validAt: new Date("2024-05-01T00:00:00Z"), metadata: { aB: { cD: 1 } } })
  await oxbow.listFacts({ validAsOf: new Date("2024-05-01T00:00:00Z") })
  const [add, facts] = requests
  assert.equal(add?.url, "/v1/users/%E5%91%A8%201%2F2/memories")
  assert.equal(add?.headers.authorization, "Bearer key")
  assert.deepEqual(JSON.parse(add?.body ?? ""), {
    content: "x",
    valid_at: "2024-05-01T00:00:00.000Z",
    metadata: { aB: { cD: 1 } },
  })
  assert.equal(facts?.url, "/v1/users/ada/facts?valid_as_of=2024-05-01T00%3A00%3A00.000Z")
})

test("the names of an answer are in camelCase, except those of the user", async (t) => {
  const { oxbow } = await serve(t, [json({ memory_type: "fact", metadata: { a_b: { c_d: 1 } } })])
  assert.deepEqual({ ...(await oxbow.get("1")) }, { memoryType: "fact", metadata: { a_b: { c_d: 1 } } })
})

test("the URL may end in a slash or in /v1", async (t) => {
  const { oxbow, requests } = await serve(t, [])
  await oxbow.health()
  const host = requests[0]?.headers.host
  for (const end of ["/", "/v1", "/v1/"]) await new Oxbow({ url: `http://${host}${end}`, apiKey: "key" }).health()
  assert.deepEqual(new Set(requests.map((r) => r.url)), new Set(["/v1/health"]))
})

test("ids and users that would change the path are refused", async (t) => {
  const { oxbow, requests } = await serve(t, [])
  for (const id of ["", ".", ".."]) {
    assert.throws(() => oxbow.erase(id), OxbowError)
    assert.throws(() => oxbow.forUser(id).getSettings(), OxbowError)
  }
  assert.equal(requests.length, 0)
})

for (const [name, answer] of Object.entries({ cut, half, 503: problem(503) })) {
  test(`after ${name}, what may be repeated is repeated`, async (t) => {
    const { oxbow, requests } = await serve(t, [answer, answer, json({ id: "7" })])
    assert.equal((await oxbow.get("7")).id, "7")
    assert.equal(requests.length, 3)
  })

  test(`after ${name}, adding is repeated with the same key`, async (t) => {
    const { oxbow, requests } = await serve(t, [answer, json({ id: "7" })])
    assert.equal((await oxbow.add("x")).id, "7")
    const keys = requests.map((r) => r.headers["idempotency-key"])
    assert.match(String(keys[0]), /^[0-9a-f]{32}$/)
    assert.equal(keys[0], keys[1])
    await oxbow.addMany([{ content: "y" }], { idempotencyKey: "mine" })
    assert.equal(requests[2]?.headers["idempotency-key"], "mine")
  })

  test(`after ${name}, what may have been done is not repeated`, async (t) => {
    const { oxbow, requests } = await serve(t, [answer])
    await assert.rejects(
      oxbow.supersede("1", "x"),
      answer === cut || answer === half ? ConnectionFailedError : UnavailableError,
    )
    assert.equal(requests.length, 1)
  })
}

test("after 429, everything is repeated when the server says", async (t) => {
  const { oxbow, requests } = await serve(t, [problem(429, {}, { "Retry-After": "1" }), json({ done: true })])
  const begin = Date.now()
  assert.equal((await oxbow.forget("1")).done, true)
  assert.ok(Date.now() - begin >= 990)
  assert.equal(requests.length, 2)
})

test("retries end", async (t) => {
  const { oxbow, requests } = await serve(t, Array(9).fill(cut), { maxRetries: 2 })
  await assert.rejects(
    oxbow.get("1"),
    (error) => error instanceof ConnectionFailedError && error.cause instanceof Error,
  )
  assert.equal(requests.length, 3)
})

test("a request ends in time, also while it waits for a retry", async (t) => {
  const { oxbow } = await serve(t, [never, problem(429, {}, { "Retry-After": "600" })])
  await assert.rejects(oxbow.get("1", { timeout: 300 }), TimedOutError)
  await assert.rejects(oxbow.get("1", { timeout: 300 }), TimedOutError)
})

test("a signal ends a request, also while it waits for a retry", async (t) => {
  let controller = new AbortController()
  const { oxbow } = await serve(t, [
    () => controller.abort("enough"),
    (request, response) => {
      response.on("finish", () => controller.abort("enough"))
      problem(429, {}, { "Retry-After": "600" })(request, response)
    },
  ])
  const ended = () => assert.rejects(oxbow.get("1", { signal: controller.signal }), (reason) => reason === "enough")
  await ended()
  await ended() // at once, because the signal is aborted
  controller = new AbortController()
  await ended()
})

test("a server that cannot be reached", async () => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((closed) => server.close(closed))
  await assert.rejects(new Oxbow({ url, apiKey: "key", maxRetries: 1 }).health(), {
    name: "ConnectionFailedError",
    message: /ECONNREFUSED/,
  })
})

test("each status is an error of its own", async (t) => {
  const classes: [number, typeof APIError][] = [
    [400, BadRequestError],
    [401, UnauthorizedError],
    [403, ForbiddenError],
    [404, NotFoundError],
    [409, ConflictError],
    [413, TooLargeError],
    [418, APIError],
    [422, InvalidError],
    [429, RateLimitError],
    [500, ServerError],
    [503, UnavailableError],
    [504, ServerError],
  ]
  const answers = classes.map(([status]) => problem(status, { detail: "a detail" }))
  const { oxbow } = await serve(t, answers, { maxRetries: 0 })
  for (const [status, kind] of classes) {
    const error = await oxbow.get("1").catch((error: unknown) => error)
    assert.ok(error instanceof kind && error.constructor === kind && error instanceof OxbowError)
    assert.equal(error.name, kind.name)
    assert.equal(error.status, status)
    assert.equal(error.message, "a detail")
    assert.equal(error.requestId, "r1")
  }
})

test("an error names the field, the value and the rule", async (t) => {
  const errors = [{ location: "body.memories[1].content", message: "must not be blank", value: " " }]
  const { oxbow } = await serve(t, [problem(422, { detail: "validation failed", errors })])
  await assert.rejects(oxbow.add(" "), {
    field: "memories[1].content",
    value: " ",
    rule: "must not be blank",
    message: 'validation failed: memories[1].content must not be blank, got " "',
  })
})

test("an error of something in between is an error too", async (t) => {
  const { oxbow } = await serve(t, [(_, response) => response.writeHead(502).end("<h1>Bad Gateway</h1>")])
  await assert.rejects(oxbow.get("1"), { name: "ServerError", status: 502, message: "<h1>Bad Gateway</h1>" })
})

test("an export that breaks off is not complete", async (t) => {
  const { oxbow } = await serve(t, [
    (request, response) => {
      response.writeHead(200, { "Content-Type": "application/x-ndjson" })
      response.write('{"content": "船"}\n{"content":', () => request.socket.destroy())
    },
  ])
  const records: unknown[] = []
  const read = async () => {
    for await (const record of oxbow.export()) records.push(record)
  }
  await assert.rejects(read(), ConnectionFailedError)
  assert.deepEqual(records, [{ content: "船" }])
})

test("pages are requested when they are needed", async (t) => {
  const pages = [
    json({ items: ["a", "b"], next_cursor: "b" }),
    json({ items: ["c"], next_cursor: "c" }),
    json({ items: [] }),
  ]
  const { oxbow, requests } = await serve(t, pages)
  const users: string[] = []
  for await (const user of oxbow.listUsers({ limit: 2 })) {
    users.push(user)
    assert.equal(requests.length, user === "c" ? 2 : 1)
  }
  assert.deepEqual(users, ["a", "b", "c"])
  assert.deepEqual(
    requests.map((r) => r.url),
    ["/v1/users?limit=2", "/v1/users?limit=2&cursor=b", "/v1/users?limit=2&cursor=c"],
  )
})

test("a page starts at its cursor", async (t) => {
  const { oxbow, requests } = await serve(t, [json({ items: [], next_cursor: "m" })])
  assert.deepEqual(await oxbow.listLog({ cursor: "k" }).page(), { items: [], nextCursor: "m" })
  assert.equal(requests[0]?.url, "/v1/users/ada/log?cursor=k")
})

test("url and key come from the environment", async (t) => {
  const { requests, oxbow } = await serve(t, [])
  await oxbow.health()
  const before = { ...process.env }
  t.after(() => {
    process.env = before
  })
  process.env.OXBOW_URL = `http://${requests[0]?.headers.host}`
  process.env.OXBOW_API_KEY = "secret"
  await new Oxbow().getSettings()
  assert.equal(requests[1]?.headers.authorization, "Bearer secret")
  delete process.env.OXBOW_API_KEY
  assert.throws(() => new Oxbow(), /OXBOW_API_KEY/)
})
