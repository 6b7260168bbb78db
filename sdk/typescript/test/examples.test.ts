// Runs the programs that examples.mjs took from README.md and docs/typescript.md. A line with console.log and a comment
// must print the comment.
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { copyFileSync, readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

const sources = new URL("../test/examples/", import.meta.url)
const built = new URL("examples/", import.meta.url)
const names = readdirSync(sources).filter((name) => name !== "model.ts")

test("the documents have examples", () => {
  assert.ok(names.length >= 6, names.join())
})

for (const name of names) {
  test(`${name} runs`, async () => {
    const source = new URL(name, sources)
    const program = name.endsWith(".ts") ? new URL(name.replace(/ts$/, "js"), built) : new URL(name, built)
    if (source.pathname.endsWith(".cjs")) copyFileSync(source, program)
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(program)])
    for (const [, expected] of readFileSync(source, "utf8").matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)) {
      assert.ok(stdout.split("\n").includes(expected ?? ""), `${expected} is not in ${stdout}`)
    }
  })
}
