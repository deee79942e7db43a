// Hot path: every form passes here.
import { Buffer } from "node:buffer"
import { charsetOfForm, undecodable, UTF_8, type Encoding } from "./charset.ts"
import { MOST_FIELDS, TOO_MANY_FIELDS, type FormFlaw, type TextField } from "./field.ts"

const AMPERSAND = 0x26
const EQUALS = 0x3d
const PLUS = 0x2b
const PERCENT = 0x25
const SPACE = 0x20

/**
 * The fields of an application/x-www-form-urlencoded body, in order, as browsers and `URLSearchParams` read them, but for
 * one thing: bytes that are not of its encoding are refused, not replaced.
 *
 * @param encoding undefined: UTF-8, whatever the form itself says
 * @see https://url.spec.whatwg.org/#urlencoded-parsing
 */
export function parseUrlencoded(body: Uint8Array, encoding?: Encoding): TextField[] | FormFlaw {
  const pairs: (readonly [name: Uint8Array, value: Uint8Array])[] = []
  for (let start = 0; start < body.length;) {
    // without a search for each of a million
    if (body[start] === AMPERSAND) {
      start++
      continue
    }
    const found = body.indexOf(AMPERSAND, start)
    const end = found === -1 ? body.length : found
    if (pairs.length === MOST_FIELDS) return TOO_MANY_FIELDS
    const pair = body.subarray(start, end)
    const equals = pair.indexOf(EQUALS)
    pairs.push(
      equals === -1
        ? [unescaped(pair), NOTHING]
        : [unescaped(pair.subarray(0, equals)), unescaped(pair.subarray(equals + 1))],
    )
    start = end + 1
  }
  const charset = encoding === undefined ? UTF_8 : charsetOfForm(pairs, encoding)
  if ("problem" in charset) return charset
  const fields: TextField[] = []
  for (const [nameBytes, valueBytes] of pairs) {
    const name = charset.decode(nameBytes)
    const value = charset.decode(valueBytes)
    if (name === undefined || value === undefined) return undecodable(charset, fields.length + 1)
    fields.push({ name, value })
  }
  return fields
}

const NOTHING = new Uint8Array(0)

/** The bytes of a name or value. */
function unescaped(encoded: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at++) {
    const byte = encoded[at]!
    const escaped = byte === PERCENT && at + 2 < encoded.length ? percentDecoded(encoded, at) : -1
    if (escaped >= 0) at += 2
    bytes[length++] = escaped >= 0 ? escaped : byte === PLUS ? SPACE : byte
  }
  return bytes.subarray(0, length)
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
