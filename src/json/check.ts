// Hot path: every body passes here. Own code and not JSON.parse, see the figures at findFlaw.
import { isUtf8 } from "node:buffer"
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
  startOfText,
} from "./bytes.ts"
import { endOfUtf8 } from "./utf8.ts"

/** Which rule a body breaks. */
export type Rule = "empty_body" | "invalid_utf8" | "invalid_json" | "not_an_object"

/** Why a body is not a JSON object in UTF-8. */
export interface Flaw {
  readonly rule: Rule
  /**
   * Where the mistake is: how many bytes of the body, a byte-order mark counted, some text that keeps the rule could begin
   * with. The body's length when it only ended too early.
   */
  readonly offset: number
  /** For the sender, in a sentence. It holds nothing of the body. */
  readonly detail: string
}

/**
 * Looks for the first reason why a body is not one JSON object (RFC 8259) in valid UTF-8; undefined when it is one. A
 * byte-order mark may stand before it. The verdict is that of a fatal TextDecoder and JSON.parse. Any depth of nesting is
 * taken, in one pass without recursion.
 */
export function findFlaw(bytes: Uint8Array): Flaw | undefined {
  const start = startOfText(bytes)
  if (bytes.length === start) {
    return { rule: "empty_body", offset: start, detail: "The body is empty; it must be a JSON object." }
  }
  if (!isUtf8(bytes)) {
    const offset = endOfUtf8(bytes)
    return { rule: "invalid_utf8", offset, detail: `The body is not valid UTF-8 at byte ${offset}.` }
  }
  const mistake = findMistake(bytes, start)
  if (mistake !== undefined) return mistake
  const offset = skipSpace(bytes, start)
  if (bytes[offset] === OPEN_BRACE) return undefined
  return {
    rule: "not_an_object",
    offset,
    detail: `The body is JSON, but not an object: expected { at byte ${offset}.`,
  }
}

function invalid(offset: number, expected: string): Flaw {
  return {
    rule: "invalid_json",
    offset,
    detail: `The body is not valid JSON: expected ${expected} at byte ${offset}.`,
  }
}

/** Reads one JSON text from `at` to the end of the bytes, which are valid UTF-8. */
function findMistake(bytes: Uint8Array, at: number): Flaw | undefined {
  let depth = 0
  // The kinds of the open containers, a bit each, 1 for an object: up to 32 of the innermost here, those around them in
  // `outer`, so that depth costs next to nothing.
  let kinds = 0
  let outer: number[] | undefined

  value: for (;;) {
    at = skipSpace(bytes, at)
    if (depth !== 0 && (kinds & 1) === 1) {
      if (bytes[at] !== QUOTE) return invalid(at, "a name in quotes")
      at = endOfString(bytes, at + 1)
      if (at < 0) return invalid(~at, expectedInString(bytes, ~at))
      at = skipSpace(bytes, at)
      if (bytes[at] !== COLON) return invalid(at, ":")
      at = skipSpace(bytes, at + 1)
    }
    const first = bytes[at]
    if (first === QUOTE) {
      at = endOfString(bytes, at + 1)
      if (at < 0) return invalid(~at, expectedInString(bytes, ~at))
    } else if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      if (depth !== 0 && (depth & 31) === 0) (outer ??= []).push(kinds)
      kinds = (kinds << 1) | (first === OPEN_BRACE ? 1 : 0)
      depth++
      at = skipSpace(bytes, at + 1)
      if (bytes[at] !== (first === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)) continue
    } else if (first === MINUS || isDigit(first)) {
      at = endOfNumber(bytes, at)
      if (at < 0) return invalid(~at, "a digit")
    } else {
      const word = first === 0x74 ? TRUE : first === 0x66 ? FALSE : first === 0x6e ? NULL : undefined
      if (word === undefined) return invalid(at, "a value")
      at = endOfWord(bytes, at, word)
      if (at < 0) return invalid(~at, "true, false or null")
    }
    while (depth !== 0) {
      at = skipSpace(bytes, at)
      const next = bytes[at]
      if (next === COMMA) {
        at++
        continue value
      }
      const inObject = (kinds & 1) === 1
      if (next !== (inObject ? CLOSE_BRACE : CLOSE_BRACKET))
        return invalid(at, inObject ? ", or }" : ", or ]")
      at++
      depth--
      kinds = depth !== 0 && (depth & 31) === 0 ? outer!.pop()! : kinds >>> 1
    }
    at = skipSpace(bytes, at)
    return at === bytes.length ? undefined : invalid(at, "the end")
  }
}

// Each of these gives the position after what it reads, or, where that breaks off, `~position` of the mistake, which is
// negative.

function endOfString(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) {
      at = endOfEscape(bytes, at + 1)
      if (at < 0) return at
    } else if (byte === undefined || byte < 0x20) {
      return ~at
    } else {
      at++
    }
  }
}

function endOfEscape(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // solidus
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 1
    case 0x75: // u
      for (let digit = at + 1; digit <= at + 4; digit++) {
        if (!isHexDigit(bytes[digit])) return ~digit
      }
      return at + 5
    default:
      return ~at
  }
}

function expectedInString(bytes: Uint8Array, at: number): string {
  if (at === bytes.length) return "the rest of a string"
  return bytes[at]! < 0x20 && bytes[at - 1] !== BACKSLASH
    ? "control characters to be escaped"
    : "an escape sequence"
}

function endOfNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === MINUS) at++
  if (bytes[at] === ZERO) {
    at++
  } else {
    at = endOfDigits(bytes, at)
    if (at < 0) return at
  }
  if (bytes[at] === 0x2e) {
    at = endOfDigits(bytes, at + 1)
    if (at < 0) return at
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++
    if (bytes[at] === 0x2b || bytes[at] === MINUS) at++
    at = endOfDigits(bytes, at)
  }
  return at
}

function endOfDigits(bytes: Uint8Array, at: number): number {
  if (!isDigit(bytes[at])) return ~at
  do at++
  while (isDigit(bytes[at]))
  return at
}

function endOfWord(bytes: Uint8Array, at: number, word: Uint8Array): number {
  for (const letter of word) {
    if (bytes[at] !== letter) return ~at
    at++
  }
  return at
}

const MINUS = 0x2d
const ZERO = 0x30
const TRUE = Buffer.from("true")
const FALSE = Buffer.from("false")
const NULL = Buffer.from("null")

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39
}

function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}
