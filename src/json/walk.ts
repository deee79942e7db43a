// Steps over the raw bytes of JSON that is known to be valid. Nothing here checks, recurses or copies.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from "./bytes.ts"

/** A member of an object, or an element of an array: positions in the bytes, ends exclusive. */
export interface Item {
  /** Where the name's opening quote stands, and the position after its closing one. Both -1 for an element. */
  readonly nameStart: number
  readonly nameEnd: number
  readonly valueStart: number
  readonly valueEnd: number
  /** Position of the comma or the closing bracket that follows the value. */
  readonly delimiter: number
  /** Whether the container closes there. */
  readonly last: boolean
}

/**
 * Reads one item of a container.
 *
 * @param at position after the container's opening bracket or after a comma
 * @returns undefined when the container closes there, as an empty one does
 */
export function readItem(bytes: Uint8Array, at: number, inObject: boolean): Item | undefined {
  let valueStart = skipSpace(bytes, at)
  const first = bytes[valueStart]
  if (first === CLOSE_BRACE || first === CLOSE_BRACKET) return undefined
  let nameStart = -1
  let nameEnd = -1
  if (inObject) {
    nameStart = valueStart
    nameEnd = endOfString(bytes, nameStart)
    valueStart = skipSpace(bytes, skipSpace(bytes, nameEnd) + 1)
  }
  const valueEnd = endOfValue(bytes, valueStart)
  const delimiter = skipSpace(bytes, valueEnd)
  return { nameStart, nameEnd, valueStart, valueEnd, delimiter, last: bytes[delimiter] !== COMMA }
}

/** The position after a value of any kind, whose first byte is at `at`. */
export function endOfValue(bytes: Uint8Array, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return endOfString(bytes, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfContainer(bytes, at)
  while (at < bytes.length && isInScalar(bytes[at]!)) at++
  return at
}

function isInScalar(byte: number): boolean {
  return byte > 0x20 && byte !== COMMA && byte !== CLOSE_BRACE && byte !== CLOSE_BRACKET
}

function endOfContainer(bytes: Uint8Array, at: number): number {
  let depth = 0
  for (;;) {
    while (at < bytes.length && STEP[bytes[at]!] === 0) at++
    if (at === bytes.length) return at
    if (bytes[at] === QUOTE) {
      at = endOfString(bytes, at)
    } else {
      depth += STEP[bytes[at]!]!
      at++
      if (depth === 0) return at
    }
  }
}

/** What a byte outside strings does to the depth; 2 for the quote, and 0 for all that can be passed over. */
const STEP = Int8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE) return 2
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return 1
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? -1 : 0
})

/** The position after a string, whose opening quote is at `at`. */
function endOfString(bytes: Uint8Array, at: number): number {
  at++
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}
