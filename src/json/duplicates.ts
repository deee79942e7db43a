import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  byteAt,
  skipSpace,
  endOfString,
} from "./tokens.ts"
import { toText } from "./name.ts"

/**
 * Finds an object with duplicate member names, however escaped: parsers keep the first, the last or none (RFC 8259, section
 * 4), so the value checked may not be the value that a consumer reads.
 *
 * @param json a valid JSON text
 * @param parsed its value by JSON.parse
 * @returns the position of the first duplicate name, if any
 */
export function findDuplicateName(json: Uint8Array, parsed: unknown): number | undefined {
  // JSON.parse keeps one member of each name; counting costs half of parsing
  return countMembers(json) === countNames(parsed) ? undefined : findFirst(json)
}

/** Outside strings, colons follow names only. */
function countMembers(json: Uint8Array): number {
  let count = 0
  for (let at = 0; at >= 0 && at < json.length;) {
    const byte = json[at]
    if (byte === COLON) count++
    at = byte === QUOTE ? endOfString(json, at + 1) : at + 1
  }
  return count
}

/** Counts the names of all objects in a value, without recursion. */
function countNames(parsed: unknown): number {
  let count = 0
  const open: unknown[] = [parsed]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== "object" || value === null) continue
    if (Array.isArray(value)) {
      for (const item of value) if (typeof item === "object") open.push(item)
      continue
    }
    for (const name in value) {
      count++
      const member = (value as { readonly [name: string]: unknown })[name]
      if (typeof member === "object") open.push(member)
    }
  }
  return count
}

function findFirst(json: Uint8Array): number | undefined {
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at >= 0 && at < json.length;) {
    const start = at
    switch (json[at]) {
      case OPEN_BRACE:
        open.push(new Set())
        break
      case OPEN_BRACKET:
        open.push(undefined)
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop()
        break
      case QUOTE: {
        at = endOfString(json, at + 1)
        const names = open.at(-1)
        if (names === undefined || byteAt(json, skipSpace(json, at)) !== COLON) continue
        const name = toText(json.subarray(start, at))
        if (names.has(name)) return start
        names.add(name)
        continue
      }
    }
    at++
  }
  return undefined
}
