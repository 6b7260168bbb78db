// Runs the vectors of every SDK. sdk/README.md describes them.
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { APIError, Oxbow, Pages } from "oxbow-memory"
import { argumentsOf, camel, methodOf, operations, root } from "./operations.js"
import { appKey, newUser, operatorKey, personKey, until, url } from "./server.js"

interface Step {
  call: string
  args: Record<string, unknown>
  key?: "app" | "person" | "operator" | "wrong"
  expect?: unknown
  error?: Record<string, unknown>
  save?: Record<string, string>
  until?: boolean
}

const free = ["metadata", "old_metadata", "new_metadata", "details", "settings", "tendencies", "value"]

/** Returns a value with the names of this SDK. */
function named(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(named)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [camel(k), free.includes(k) ? v : named(v)]))
}

/** Returns a value with variables in place of their names. */
function filled(value: unknown, variables: Map<string, unknown>): unknown {
  if (typeof value === "string" && value.startsWith("$")) return variables.get(value.slice(1))
  if (Array.isArray(value)) return value.map((item) => filled(item, variables))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, filled(v, variables)]))
}

const conditions: Record<string, (actual: unknown, expected: never, condition: Record<string, number>) => boolean> = {
  $uuid: (actual) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(actual)),
  $time: (actual) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(String(actual)),
  $includes: (actual, wanted: unknown[]) =>
    Array.isArray(actual) && wanted.every((w) => actual.some((item) => matches(item, w))),
  $excludes: (actual, unwanted: unknown[]) =>
    Array.isArray(actual) && !unwanted.some((u) => actual.some((item) => matches(item, u))),
  $length: (actual, length) => (actual as unknown[]).length === length,
  $contains: (actual, text) => String(actual).includes(text),
  $from: inRange,
  $to: inRange,
  $same: (actual, time) => Date.parse(String(actual)) === Date.parse(time),
  $absent: (actual) => actual === undefined,
}

function inRange(actual: unknown, _: never, { $from = -Infinity, $to = Infinity }: Record<string, number>): boolean {
  return typeof actual === "number" && actual >= $from && actual <= $to
}

function matches(actual: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null) return actual === expected
  if (Array.isArray(expected)) {
    return Array.isArray(actual) && actual.length === expected.length && expected.every((e, i) => matches(actual[i], e))
  }
  const fields = Object.entries(expected)
  const condition = fields[0]?.[0]
  if (condition?.startsWith("$")) {
    const holds = conditions[condition]
    assert(holds, `unknown condition ${condition}`)
    return holds(actual, fields[0]?.[1] as never, expected as Record<string, number>)
  }
  if (typeof actual !== "object" || actual === null) return false
  return fields.every(([key, value]) => matches((actual as Record<string, unknown>)[key], value))
}

async function call(client: Oxbow, id: string, args: Record<string, unknown>): Promise<unknown> {
  const operation = operations.find((o) => o.operationId === id)
  assert(operation, `no operation ${id}`)
  const names = argumentsOf(operation).map(camel)
  const { ...options } = named(args) as Record<string, unknown>
  const positional = names.map((name) => options[name])
  for (const name of names) delete options[name]
  const method = client[methodOf(id)] as (...args: unknown[]) => unknown
  const result = method.call(client, ...positional, options)
  if (result instanceof Pages) return result.all()
  if (id !== "export") return result
  const records: unknown[] = []
  for await (const record of result as AsyncIterable<unknown>) records.push(record)
  return records
}

async function run(step: Step, clients: Record<string, Oxbow>, variables: Map<string, unknown>): Promise<void> {
  const client = clients[step.key ?? "app"]
  assert(client)
  const args = filled(step.args, variables) as Record<string, unknown>
  if (step.error) {
    const error = await call(client, step.call, args).then(
      (result) => assert.fail(`${step.call} returned ${JSON.stringify(result)}`),
      (error: unknown) => error,
    )
    assert(error instanceof APIError, `${step.call}: ${error}`)
    for (const [key, value] of Object.entries(step.error)) {
      const actual: unknown = error[key as "status"]
      if (!matches(actual, value)) assert.deepEqual(actual, value, `${key} of ${error.message}`)
    }
    return
  }
  const expected = filled(step.call === "export" ? step.expect : named(step.expect), variables)
  let result = await call(client, step.call, args)
  const holds = () => expected === undefined || matches(result, expected)
  if (step.until && !holds()) {
    await until(async () => {
      result = await call(client, step.call, args)
      return holds()
    }, JSON.stringify(step))
  }
  if (!holds()) assert.deepEqual(result, expected, step.call)
  for (const [name, path] of Object.entries(step.save ?? {})) {
    const value = path.split(".").reduce<unknown>((v, key) => (v as Record<string, unknown>)[camel(key)], result)
    assert.notEqual(value, undefined, `${step.call} returned no ${path}`)
    variables.set(name, value)
  }
}

const nullable = ["down_since", "worked_at", "oldest_waiting", "reasoner"]

/** Returns the fields that are null although their types do not say so. */
function nulls(value: unknown, name = ""): string[] {
  if (value === null) return nullable.includes(name) ? [] : [name]
  if (typeof value !== "object" || free.includes(name)) return []
  return Object.entries(value).flatMap(([key, inner]) => nulls(inner, Array.isArray(value) ? name : key))
}

/** Fetches, and fails if an answer does not fit the types: lists are never null. */
async function checkedFetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  if (response.headers.get("Content-Type")?.startsWith("application/json")) {
    assert.deepEqual(nulls(await response.clone().json()), [], String(input))
  }
  return response
}

const directory = new URL("sdk/vectors/", root)
for (const file of readdirSync(directory)) {
  for (const { name, steps } of JSON.parse(readFileSync(new URL(file, directory), "utf8")).cases) {
    test(`${file}: ${name}`, async () => {
      const user = newUser()
      const clients = {
        app: new Oxbow({ url, apiKey: appKey, user, fetch: checkedFetch }),
        operator: new Oxbow({ url, apiKey: operatorKey, user, fetch: checkedFetch }),
        person: new Oxbow({
          url,
          apiKey: (steps as Step[]).some((s) => s.key === "person") ? await personKey(user) : "",
        }),
        wrong: new Oxbow({ url, apiKey: "oxb_wrong", user }),
      }
      const variables = new Map<string, unknown>([["user", user]])
      for (const step of steps as Step[]) await run(step, clients, variables)
    })
  }
}
