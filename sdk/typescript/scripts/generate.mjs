// Writes src/schema.ts: the types of server/openapi.json, with names in camelCase and times as RFC 3339 text.
//
//	node scripts/generate.mjs [--check]   --check fails if the file is not up to date
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import openapiTS, { astToString } from "openapi-typescript"
import ts from "typescript"

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const api = JSON.parse(readFileSync(at("../../../server/openapi.json"), "utf8"))
const camel = (name) => name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
const refOf = (schema) => schema?.$ref?.split("/").at(-1)

const schemas = {}
// The names of fields whose keys belong to users, so they are never renamed.
const free = new Set()

// translate returns a schema with names in camelCase, and arrays that are never null.
function translate(schema, name) {
  if (Array.isArray(schema.type) && schema.type.includes("array")) schema = { ...schema, type: "array" }
  if (schema.items) return { ...schema, items: translate(schema.items) }
  if (!schema.properties) {
    if (name && !schema.$ref && (schema.additionalProperties || !schema.type)) free.add(name)
    return schema
  }
  const properties = Object.entries(schema.properties).map(([key, value]) => [camel(key), translate(value, key)])
  return {
    ...schema,
    properties: Object.fromEntries(properties),
    required: schema.required?.map(camel),
    additionalProperties: undefined,
  }
}

for (const [name, schema] of Object.entries(api.components.schemas)) schemas[name] = translate(schema)

// OpenAPI as the server writes it cannot say that a reference may be null.
for (const field of ["oldestWaiting", "reasoner"]) {
  const { properties } = schemas.Overview
  properties[field] = { anyOf: [properties[field], { type: "null" }] }
}

// The optional parameters of a query become a schema: list-memories has ListMemoriesQuery.
const sent = new Set()
for (const methods of Object.values(api.paths)) {
  for (const operation of Object.values(methods)) {
    const parameters = (operation.parameters ?? []).filter((p) => p.in === "query" && !p.required)
    if (parameters.length > 0) {
      const name = `${camel(`_${operation.operationId.replaceAll("-", "_")}`)}Query`
      sent.add(name)
      const properties = parameters.map((p) => [camel(p.name), { ...translate(p.schema), description: p.description }])
      schemas[name] = { type: "object", properties: Object.fromEntries(properties) }
    }
    const body = refOf(operation.requestBody?.content["application/json"]?.schema)
    if (body) sent.add(body)
  }
}
for (const name of sent) {
  for (const property of Object.values(schemas[name].properties)) {
    const inner = refOf(property) ?? refOf(property.items)
    if (inner) sent.add(inner)
  }
}

// A time that is sent may be a Date.
const time = ts.factory.createUnionTypeNode([
  ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
  ts.factory.createTypeReferenceNode("Date"),
])
const document = { openapi: api.openapi, info: api.info, paths: {}, components: { schemas } }
const nodes = await openapiTS(JSON.stringify(document), {
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  defaultNonNullable: false,
  transform: (schema, { path }) => {
    const [, name] = path?.match(/schemas\/(\w+)/) ?? []
    return schema.format === "date-time" && sent.has(name) ? time : undefined
  },
})
const header = `// Generated from server/openapi.json by scripts/generate.mjs. Do not edit.

/** The fields whose keys are the user's own: they keep their names. */
export const freeForm: ReadonlySet<string> = new Set(${JSON.stringify([...free].sort())})

`
// What openapi-typescript writes for parts of a document that are empty here.
const text = astToString(nodes)
const written = header + text
const file = at("../src/schema.ts")
if (!process.argv.includes("--check")) writeFileSync(file, written)
else if (readFileSync(file, "utf8") !== written) {
  console.error("src/schema.ts is not up to date: run npm run generate")
  process.exit(1)
}
