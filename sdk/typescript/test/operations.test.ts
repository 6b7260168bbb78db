import assert from "node:assert/strict"
import { test } from "node:test"
import { Oxbow } from "oxbow-memory"
import { methodOf, operations } from "./operations.js"

test("every operation has a method, and every method an operation", () => {
  const beside = ["constructor", "user", "forUser", "wait"]
  const methods = Object.getOwnPropertyNames(Oxbow.prototype).filter((name) => !beside.includes(name))
  assert.deepEqual(methods.sort(), operations.map((o) => methodOf(o.operationId)).sort())
})
