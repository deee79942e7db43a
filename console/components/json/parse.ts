import { visit, type JSONVisitor } from "jsonc-parser"

/**
 * JSON as it was sent: numbers and escapes keep their spelling, members their order, and a duplicate name stays
 * twice. JSON.parse loses all of these.
 */
export type JsonNode = JsonScalar | JsonArray | JsonObject

export interface JsonScalar {
  readonly kind: "string" | "number" | "literal"
  /** Its spelling; a string with its quotes. */
  readonly text: string
}

export interface JsonArray {
  readonly kind: "array"
  readonly items: JsonNode[]
}

export interface JsonObject {
  readonly kind: "object"
  /** Names are spelled as they were, with their quotes. */
  readonly members: { readonly name: string; readonly value: JsonNode }[]
}

/** @returns undefined: it is not JSON, or nested too deep to be shown. */
export function parseJson(text: string): JsonNode | undefined {
  const source = text.replace(/^\ufeff/, "")
  const root: JsonArray = { kind: "array", items: [] }
  const open: (JsonArray | JsonObject)[] = [root]
  let name = ""
  let isValid = true
  const add = (value: JsonNode): void => {
    const parent = open.at(-1)!
    if (parent.kind === "array") parent.items.push(value)
    else parent.members.push({ name, value })
  }
  const begin = (value: JsonArray | JsonObject): void => {
    add(value)
    open.push(value)
  }
  const end = (): void => void open.pop()
  const spelling = (offset: number, length: number): string => source.slice(offset, offset + length)
  const visitor: JSONVisitor = {
    onObjectBegin: () => begin({ kind: "object", members: [] }),
    onObjectProperty: (_, offset, length) => (name = spelling(offset, length)),
    onObjectEnd: end,
    onArrayBegin: () => begin({ kind: "array", items: [] }),
    onArrayEnd: end,
    onLiteralValue(value: unknown, offset, length) {
      const kind = typeof value === "string" || typeof value === "number" ? typeof value : "literal"
      add({ kind: kind as JsonScalar["kind"], text: spelling(offset, length) })
    },
    onError: () => (isValid = false),
  }
  try {
    visit(source, visitor, { disallowComments: true })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return undefined
  }
  return isValid ? root.items[0] : undefined
}

/** What is wrong with a body of JSON, in the browser's words; undefined: nothing. */
export function jsonProblem(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value)
    return isObject ? undefined : "JSON, but not an object"
  } catch (error) {
    return (error as Error).message
  }
}

/** Whether a body of that content type is to be JSON; `application/cloudevents+json` is. */
export const isJsonType = (contentType: string): boolean => /[/+]json\b/i.test(contentType)

/** JSON indented, for editing; what is not JSON, or has numbers that JavaScript would change, as it is. */
export function indented(text: string): string {
  try {
    const value = JSON.parse(text) as unknown
    return JSON.stringify(value) === text.trim() ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}
