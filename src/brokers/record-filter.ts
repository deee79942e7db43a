import { HooklineError } from "../errors.ts"
import { isJson } from "../json/check.ts"
import { compilePattern } from "../json/pattern.ts"
import { parsePointer } from "../json/pointer.ts"
import { withoutSchemaId } from "../json/schema-id.ts"
import type { StoredRecord } from "./broker.ts"

/** Whether a record meets a condition. */
export type Matches = (record: StoredRecord) => boolean

/** Where the next of several conditions begins. */
const NEXT = /\s+&&\s+(?=(?:json:|header:|key=|text=))/

/**
 * Parses `json:/type=invoice.*`, `header:Name=value` or `key=value`: what is compared with a pattern, in which `*` stands for any text.
 * A string is compared as its text, another JSON value as it is spelled. What a record lacks, or has as null, matches nothing.
 * `text=acme` matches a key, header or value that contains the text, in upper or lower case. All of several, with ` && ` between
 * them, must match.
 *
 * @throws HooklineError `usage`
 */
export function parseCondition(text: string): Matches {
  const all = text.split(NEXT).map(parseOne)
  return (record) => all.every((matches) => matches(record))
}

function parseOne(text: string): Matches {
  const at = text.indexOf("=")
  const [what, pattern] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  if (what === "text") return contains(pattern)
  const find = at < 0 ? undefined : parseField(what)
  if (find === undefined)
    throw new HooklineError(
      "usage",
      "Expected json:/pointer=pattern, header:Name=pattern, key=pattern or text=some text.",
    )
  const fits = compilePattern(pattern)
  return (record) => find(record).some((value) => fits(Buffer.from(value)))
}

function contains(text: string): Matches {
  const wanted = text.toLowerCase()
  return ({ key, value, headers }) =>
    [value, ...(key === undefined ? [] : [key]), ...headers.map(([, it]) => it)].some((bytes) =>
      Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString().toLowerCase().includes(wanted),
    )
}

function parseField(what: string): ((record: StoredRecord) => readonly Uint8Array[]) | undefined {
  if (what === "key") return ({ key }) => (key === undefined ? [] : [key])
  const [, kind, name = ""] = /^(json|header):(.*)$/s.exec(what) ?? []
  if (kind === "header" && name !== "") {
    const wanted = name.toLowerCase()
    return ({ headers }) => headers.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []))
  }
  const find = kind === "json" ? parsePointer(name) : undefined
  return (
    find &&
    ((record) => {
      const value = withoutSchemaId(record.value)
      return isJson(value) ? [find(value) ?? []].flat() : []
    })
  )
}
