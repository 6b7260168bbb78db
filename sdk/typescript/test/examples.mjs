// Writes the examples of README.md and docs/typescript.md to test/examples/, from where the tests compile and run them.
// A block with an import or a require begins a program; the blocks that follow continue it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"

const to = new URL("examples/", import.meta.url)
rmSync(to, { recursive: true, force: true })
mkdirSync(to)
writeFileSync(new URL("model.ts", to), 'export { model } from "../model.js"\n')
for (const [name, path] of [
  ["readme", "../README.md"],
  ["docs", "../../../docs/typescript.md"],
]) {
  const programs = []
  for (const [, language, code] of readFileSync(new URL(path, import.meta.url), "utf8").matchAll(
    /```([jt]s)\n(.*?)```/gs,
  )) {
    if (programs.length === 0 || /^import |require\(/m.test(code)) programs.push({ language, code: "" })
    programs.at(-1).code += code
  }
  programs.forEach(({ language, code }, i) => {
    const extension = language === "ts" ? "ts" : "cjs"
    writeFileSync(new URL(`${name}-${i}.${extension}`, to), language === "ts" ? `export {}\n${code}` : code)
  })
}
