// Runs the programs that examples.mjs took from README.md and docs/typescript.md. A line with console.log and a comment
// must print the comment. Each run has users of its own.
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { newUser } from "./server.js"

const sources = new URL("../test/examples/", import.meta.url)
const built = new URL("examples/", import.meta.url)
const names = readdirSync(sources).filter((name) => name !== "model.ts")

test("the documents have examples", () => {
  assert.ok(names.length >= 6, names.join())
})

for (const name of names) {
  test(`${name} runs`, async () => {
    const source = new URL(name, sources)
    const compiled = name.endsWith(".ts") ? new URL(name.replace(/ts$/, "js"), built) : source
    const program = new URL(`run-${compiled.pathname.split("/").at(-1)}`, built)
    writeFileSync(
      program,
      readFileSync(compiled, "utf8").replaceAll('"ada"', JSON.stringify(newUser().replace(" ", "-"))),
    )
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(program)])
    for (const [, expected] of readFileSync(source, "utf8").matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)) {
      assert.ok(stdout.split("\n").includes(expected ?? ""), `${expected} is not in ${stdout}`)
    }
  })
}
