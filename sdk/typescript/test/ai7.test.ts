// Runs the tests of the tools with the next release of the AI SDK, which is installed under another name.
import assert from "node:assert/strict"
import { register } from "node:module"

const resolve = `(name, context, next) => next(name.replace(/^ai(?=$|\\/)/, "ai7"), context)`
register(`data:text/javascript,export const resolve = ${encodeURIComponent(resolve)}`)
assert.match(import.meta.resolve("ai"), /ai7/)
await import("./ai.test.js")
