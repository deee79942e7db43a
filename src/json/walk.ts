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
  while (at < bytes.length) {
    const byte = bytes[at]!
    if (byte === QUOTE) {
      at = endOfString(bytes, at)
      continue
    }
    at++
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth++
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) break
  }
  return at
}

/** The position after a string, whose opening quote is at `at`. */
function endOfString(bytes: Uint8Array, at: number): number {
  at++
  while (at < bytes.length) {
    const byte = bytes[at]!
    if (byte === QUOTE) return at + 1
    at += byte === BACKSLASH ? 2 : 1
  }
  return bytes.length
}

/** A member's name, ready to be looked for among names as they are spelled in JSON. */
export interface Name {
  readonly text: string
  /** The name as JSON spells it without needless escapes, quotes included. */
  readonly quoted: Uint8Array
}

export function toName(text: string): Name {
  return { text, quoted: Buffer.from(JSON.stringify(text)) }
}

/** Whether the JSON string from `start` to `end`, quotes included, spells the name, however it is escaped. */
export function spells(bytes: Uint8Array, start: number, end: number, { text, quoted }: Name): boolean {
  const string = bytes.subarray(start, end)
  if (string.includes(BACKSLASH)) return toText(string) === text
  return Buffer.compare(string, quoted) === 0
}

/** The text of a JSON string, quotes included. Lone surrogate escapes stay what they are. */
export function toText(string: Uint8Array): string {
  return JSON.parse(asBuffer(string).toString()) as string
}

/** The same bytes as a Buffer, for its native searches. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
