/**
 * Makes console/api.ts, the types of what the admin API answers and accepts, from the API's OpenAPI document, which is all
 * that the console sees of Hookline. With `--check`: whether that is current.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { adminApiDocument } from "./admin-api-document.ts"

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly string[]
  readonly anyOf?: readonly JsonSchema[]
  readonly items?: JsonSchema
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
}

const PRIMITIVES: { readonly [type: string]: string } = {
  integer: "number",
  number: "number",
  string: "string",
  boolean: "boolean",
  null: "null",
}

function typeOf(schema: JsonSchema): string {
  const { $ref, type, anyOf, items, properties, required = [] } = schema
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf("/") + 1)
  if (anyOf !== undefined) return anyOf.map(typeOf).join(" | ")
  if (schema.enum !== undefined) return schema.enum.map((it) => JSON.stringify(it)).join(" | ")
  if (items !== undefined) return `readonly (${typeOf(items)})[]`
  if (properties !== undefined) {
    const members = Object.entries(properties).map(
      ([name, member]) => `readonly ${name}${required.includes(name) ? "" : "?"}: ${typeOf(member)}`,
    )
    return `{ ${members.join("; ")} }`
  }
  const primitive = PRIMITIVES[type ?? ""]
  if (primitive === undefined) throw new Error(`no type for the schema ${JSON.stringify(schema)}`)
  return primitive
}

const document = (await adminApiDocument()) as { components: { schemas: { [name: string]: JsonSchema } } }
const types = Object.entries(document.components.schemas).map(
  ([name, schema]) => `export type ${name} = ${typeOf(schema)}\n`,
)
const text = `// Made from the admin API's OpenAPI document by \`npm run docs\`.\n\n${types.join("")}`
const target = join(import.meta.dir, "../console/api.ts")

if (!process.argv.includes("--check")) writeFileSync(target, text)
else if (readFileSync(target, "utf8") !== text) {
  console.error("console/api.ts is not what the admin API's OpenAPI document says; run npm run docs")
  process.exitCode = 1
}
