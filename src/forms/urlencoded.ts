// Hot path: every form passes here.
import { isUtf8 } from "node:buffer"
import { MOST_FIELDS, notUtf8, TOO_MANY_FIELDS, type FormFlaw, type TextField } from "./field.ts"

const AMPERSAND = 0x26
const EQUALS = 0x3d
const PLUS = 0x2b
const PERCENT = 0x25
const SPACE = 0x20

/**
 * The fields of an application/x-www-form-urlencoded body, in order, as browsers and `URLSearchParams` read them, but for
 * one thing: bytes that are not UTF-8 are refused, not replaced.
 *
 * @see https://url.spec.whatwg.org/#urlencoded-parsing
 */
export function parseUrlencoded(body: Uint8Array): TextField[] | FormFlaw {
  const fields: TextField[] = []
  for (let start = 0; start < body.length;) {
    // without a search for each of a million
    if (body[start] === AMPERSAND) {
      start++
      continue
    }
    const found = body.indexOf(AMPERSAND, start)
    const end = found === -1 ? body.length : found
    if (fields.length === MOST_FIELDS) return TOO_MANY_FIELDS
    const pair = body.subarray(start, end)
    const equals = pair.indexOf(EQUALS)
    const name = decode(equals === -1 ? pair : pair.subarray(0, equals))
    const value = equals === -1 ? "" : decode(pair.subarray(equals + 1))
    if (name === undefined || value === undefined) return notUtf8(fields.length + 1)
    fields.push({ name, value })
    start = end + 1
  }
  return fields
}

/** The text of a name or value; undefined: it is not UTF-8. */
function decode(encoded: Uint8Array): string | undefined {
  const bytes = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at++) {
    const byte = encoded[at]!
    const escaped = byte === PERCENT && at + 2 < encoded.length ? percentDecoded(encoded, at) : -1
    if (escaped >= 0) at += 2
    bytes[length++] = escaped >= 0 ? escaped : byte === PLUS ? SPACE : byte
  }
  const decoded = bytes.subarray(0, length)
  return isUtf8(decoded) ? decoded.toString() : undefined
}

/** The byte of `%XX`; -1: these are no hexadecimal digits, and the percent sign stands for itself. */
function percentDecoded(bytes: Uint8Array, at: number): number {
  const high = hexDigit(bytes[at + 1]!)
  const low = hexDigit(bytes[at + 2]!)
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}
