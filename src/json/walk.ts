// Walks raw JSON that is known to be valid, without checks, recursion or copies. On other bytes the positions are
// meaningless, but every walk terminates.
import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  skipSpace,
} from "./tokens.ts"

/**
 * Iterates over the members of an object or the elements of an array. The fields are positions in the item that `next` has
 * reached, ends exclusive. (One mutable object, since a body can have a million members.)
 */
export class Items {
  /** The member's name, quotes included; meaningless in arrays. */
  nameStart = 0
  nameEnd = 0
  valueStart = 0
  valueEnd = 0
  /** The comma or closing bracket after the value; before the first item, the opening one. */
  delimiter: number
  readonly #bytes: Uint8Array
  readonly #open: number
  readonly #inObject: boolean

  /** @param open position of the opening bracket */
  constructor(bytes: Uint8Array, open: number) {
    this.#bytes = bytes
    this.#open = open
    this.#inObject = bytes[open] === OPEN_BRACE
    this.delimiter = open
  }

  /** Advances; false at the end. */
  next(): boolean {
    if (this.#bytes[this.delimiter] !== COMMA && this.delimiter !== this.#open) return false
    let at = skipSpace(this.#bytes, this.delimiter + 1)
    if (isClosing(this.#bytes[at]!)) return false
    if (this.#inObject) {
      this.nameStart = at
      this.nameEnd = endOfString(this.#bytes, at)
      at = skipSpace(this.#bytes, skipSpace(this.#bytes, this.nameEnd) + 1)
    }
    this.valueStart = at
    this.valueEnd = endOfValue(this.#bytes, at)
    this.delimiter = skipSpace(this.#bytes, this.valueEnd)
    return true
  }
}

function isClosing(byte: number): boolean {
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET
}

/** The position after the value that starts at `at`. */
export function endOfValue(bytes: Uint8Array, at: number): number {
  const first = bytes[at]
  if (first === QUOTE) return endOfString(bytes, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfContainer(bytes, at)
  while (at < bytes.length && isInScalar(bytes[at]!)) at++
  return at
}

function isInScalar(byte: number): boolean {
  return byte > 0x20 && byte !== COMMA && !isClosing(byte)
}

function endOfContainer(bytes: Uint8Array, at: number): number {
  let depth = 0
  for (;;) {
    while (at < bytes.length && STEP[bytes[at]!] === 0) at++
    if (at >= bytes.length) return at
    if (bytes[at] === QUOTE) {
      at = endOfString(bytes, at)
    } else {
      depth += STEP[bytes[at]!]!
      at++
      if (depth === 0) return at
    }
  }
}

/** The change of depth by a byte outside strings; 2 for the quote. */
const STEP = Int8Array.from({ length: 256 }, (_, byte) => {
  if (byte === QUOTE) return 2
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return 1
  return isClosing(byte) ? -1 : 0
})

/** The position after the string that starts at `at`. */
function endOfString(bytes: Uint8Array, at: number): number {
  at++
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}
