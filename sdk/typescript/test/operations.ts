// The operations of server/openapi.json, and how they are called.
import { readFileSync } from "node:fs"
import type { Oxbow } from "oxbow-memory"

interface Parameter {
  name: string
  in: string
  required?: boolean
}

export interface Operation {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> }
}

export const root = new URL("../../../", import.meta.url)
const api = JSON.parse(readFileSync(new URL("server/openapi.json", root), "utf8"))

export const operations: Operation[] = Object.values<Record<string, Operation>>(api.paths).flatMap(Object.values)

export const camel = (name: string) => name.replace(/[_-]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** The method of an operation, as sdk/README.md says. */
export function methodOf(id: string): keyof Oxbow {
  const short: Record<string, string> = {
    "add-memories": "addMany",
    "merge-memories": "merge",
    import: "importMemories",
  }
  return (short[id] ?? camel(id.replace(/-memory$/, ""))) as keyof Oxbow
}

/** The names of what a method takes as arguments: what the path has, and what else is required. */
export function argumentsOf(operation: Operation): string[] {
  if (operation.operationId === "context") return ["query"]
  const names = (operation.parameters ?? []).filter((p) => p.in === "path" || p.required).map((p) => p.name)
  for (const [type, { schema }] of Object.entries(operation.requestBody?.content ?? {})) {
    if (type === "application/x-ndjson") names.push("lines")
    else names.push(...(api.components.schemas[schema.$ref?.split("/").at(-1) ?? ""].required ?? []))
  }
  return names
}
