import { InvalidArgumentError } from "commander"
import type { StoredRecord } from "../brokers/broker.ts"
import { parsePointer } from "../json/pointer.ts"
import { isJson } from "./record-formats.ts"

/** Whether a record is to be printed. */
export type Matches = (record: StoredRecord) => boolean

/**
 * Parses `json:/type=invoice.*`, `header:Name=value` or `key=value`: what is compared with a pattern, in which `*` stands for any text.
 * A string is compared as its text, another JSON value as it is spelled. What a record lacks, or has as null, matches nothing.
 */
export function parseCondition(text: string): Matches {
  const at = text.indexOf("=")
  const [what, pattern] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  const find = at < 0 ? undefined : parseField(what)
  if (find === undefined)
    throw new InvalidArgumentError("Expected json:/pointer=pattern, header:Name=pattern or key=pattern.")
  return (record) => find(record).some((value) => fits(Buffer.from(value).toString(), pattern))
}

function parseField(what: string): ((record: StoredRecord) => readonly Uint8Array[]) | undefined {
  if (what === "key") return ({ key }) => (key === undefined ? [] : [key])
  const [, kind, name = ""] = /^(json|header):(.*)$/s.exec(what) ?? []
  if (kind === "header" && name !== "") {
    const wanted = name.toLowerCase()
    return ({ headers }) => headers.flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []))
  }
  const find = kind === "json" ? parsePointer(name) : undefined
  return find && (({ value }) => (isJson(value) ? [find(value) ?? []].flat() : []))
}

/** Whether a text is a pattern's, whose `*` stand for any text. Linear: each part is looked for from where the last one ended. */
function fits(text: string, pattern: string): boolean {
  const [head = "", ...parts] = pattern.split("*")
  const tail = parts.pop()
  if (tail === undefined) return text === pattern
  if (!text.startsWith(head)) return false
  let at = head.length
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return text.length - tail.length >= at && text.endsWith(tail)
}
