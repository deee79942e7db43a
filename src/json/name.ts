import { Buffer } from "node:buffer"
import { asBuffer, BACKSLASH, byteAt, SOLIDUS } from "./tokens.ts"

/** A member name, prepared for comparison with raw JSON. */
export interface Name {
  readonly text: string
  /** The shortest JSON spelling, quotes included. */
  readonly quoted: Uint8Array
}

export function toName(text: string): Name {
  return { text, quoted: Buffer.from(JSON.stringify(text)) }
}

/**
 * Whether the JSON string from `start` to `end`, quotes included, spells the name, however escaped. Allocates nothing for
 * names that differ, of which a body can have a million.
 */
export function spells(bytes: Uint8Array, start: number, end: number, { text, quoted }: Name): boolean {
  if (end - start < quoted.length || end - start > 2 + 6 * text.length) return false
  let at = start
  for (const wanted of quoted) {
    const byte = byteAt(bytes, at)
    if (byte !== BACKSLASH) {
      if (byte !== wanted) return false
      at++
    } else if (wanted === BACKSLASH || wanted === SOLIDUS || wanted >= 0x80) {
      // has escapes other than \u00.., or several bytes
      return toText(bytes.subarray(start, end)) === text
    } else {
      if (asciiOfEscape(bytes, at) !== wanted) return false
      at += 6
    }
  }
  return at === end
}

/** The character of `\u00..` at a position; -1 for other escapes. */
function asciiOfEscape(bytes: Uint8Array, at: number): number {
  if (bytes[at + 1] !== 0x75 || bytes[at + 2] !== 0x30 || bytes[at + 3] !== 0x30) return -1
  return hexDigit(byteAt(bytes, at + 4)) * 16 + hexDigit(byteAt(bytes, at + 5))
}

function hexDigit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
}

/** The text of a JSON string, given with its quotes. Keeps lone surrogates. */
export function toText(string: Uint8Array): string {
  return JSON.parse(asBuffer(string).toString()) as string
}
