// The server that scripts/test-sdk starts, and users of their own for tests.
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { Oxbow, type OxbowOptions } from "oxbow-memory"

/** Returns a variable that scripts/test-sdk sets. */
export function variable(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run scripts/test-sdk`)
  return value
}

export const url = variable("OXBOW_URL")
export const appKey = variable("OXBOW_API_KEY")
export const operatorKey = variable("OXBOW_OPERATOR_KEY")

/** Returns a user that no other test has. */
export const newUser = () => `用户 ${randomUUID()}`

/** Makes a key of a person. */
export async function personKey(user: string): Promise<string> {
  const program = variable("OXBOW_BIN")
  return (await promisify(execFile)(program, ["keys", "api", "create", "--user", user, "--name", "test"])).stdout.trim()
}

/** Returns a client of an app for a new user. */
export const client = (options: OxbowOptions = {}) => new Oxbow({ url, apiKey: appKey, user: newUser(), ...options })

/** Calls f until it returns a value, for at most a minute. */
export async function until<T>(f: () => Promise<T | undefined | false>, what = "the condition"): Promise<T> {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    const value = await f()
    if (value !== undefined && value !== false) return value
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${what} did not become true within a minute`)
}
