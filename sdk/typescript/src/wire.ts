import { freeForm } from "./schema.js"

/** Renames the fields of an answer to camelCase, except inside fields whose keys are the user's own. */
export function fromWire(value: unknown): unknown {
  return rename(value, (name) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()))
}

/** Renames the fields of a request to snake_case, except inside fields whose keys are the user's own. */
export function toWire(value: unknown): unknown {
  return rename(value, snake)
}

/** Returns a query string: lists are joined by commas, and fields that are undefined are left out. */
export function toQuery(query: object): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(snake(name), value instanceof Date ? value.toISOString() : String(value))
  }
  const text = parameters.toString()
  return text && `?${text}`
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function rename(value: unknown, to: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, to))
  if (typeof value !== "object" || value === null || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [to(name), freeForm.has(snake(name)) ? field : rename(field, to)]),
  )
}
