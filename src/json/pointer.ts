import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET, QUOTE, skipSpace, startOfText } from "./tokens.ts"
import { spells, toName, toText, type Name } from "./name.ts"
import { endOfValue, Items } from "./walk.ts"

/**
 * Finds a value in a valid JSON text and copies its bytes; undefined: missing or null.
 *
 * A string gives its text in UTF-8 (lone surrogates become U+FFFD); another value its raw bytes, so 12345678901234567890 and
 * 1.0 stay as they are. Of duplicate members the last counts, as in JSON.parse.
 */
export type FindBytes = (json: Uint8Array) => Uint8Array | undefined

/** Parses a JSON pointer (RFC 6901), such as `/items/0`; the empty one is the whole text. Undefined: malformed. */
export function parsePointer(pointer: string): FindBytes | undefined {
  const find = parseRawPointer(pointer)
  return (
    find &&
    ((json) => {
      const raw = find(json)
      return raw && copyOf(raw)
    })
  )
}

/** As `parsePointer`, but gives raw values: strings in quotes, and null. */
export function parseRawPointer(pointer: string): FindBytes | undefined {
  if (!/^(\/([^~/]|~[01])*)*$/.test(pointer)) return undefined
  const steps = pointer.split("/").slice(1).map(toStep)
  return (json) => {
    let start = skipSpace(json, startOfText(json))
    for (const step of steps) {
      start = follow(json, start, step)
      if (start < 0) return undefined
    }
    return json.subarray(start, endOfValue(json, start))
  }
}

interface Step {
  readonly name: Name
  readonly index: number | undefined
}

function toStep(token: string): Step {
  const name = token.replaceAll("~1", "/").replaceAll("~0", "~")
  return { name: toName(name), index: /^(0|[1-9]\d*)$/.test(name) ? Number(name) : undefined }
}

/** Position of the value that a step leads to from the value at `start`, else -1. */
function follow(json: Uint8Array, start: number, { name, index }: Step): number {
  const isObject = json[start] === OPEN_BRACE
  if (!isObject && (json[start] !== OPEN_BRACKET || index === undefined)) return -1
  const items = new Items(json, start)
  let found = -1
  for (let position = 0; items.next(); position++) {
    if (isObject) {
      if (spells(json, items.nameStart, items.nameEnd, name)) found = items.valueStart
    } else if (position === index) {
      return items.valueStart
    }
  }
  return found
}

/** The text of a raw string, the bytes of another raw value; undefined: null. */
export function copyOf(found: Uint8Array): Uint8Array | undefined {
  const raw = new Uint8Array(found)
  if (raw[0] === QUOTE) return raw.includes(BACKSLASH) ? Buffer.from(toText(raw)) : raw.subarray(1, -1)
  return raw[0] === 0x6e ? undefined : raw
}
