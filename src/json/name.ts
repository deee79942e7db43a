import { BACKSLASH, asBuffer } from "./bytes.ts"

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
  const length = end - start
  if (length < quoted.length || length > 2 + 6 * text.length) return false
  if (length === quoted.length && startsWith(bytes, start, quoted)) return true
  for (let at = start; at < end; at++) {
    if (bytes[at] === BACKSLASH) return toText(bytes.subarray(start, end)) === text
  }
  return false
}

function startsWith(bytes: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index++) {
    if (bytes[start + index] !== wanted[index]) return false
  }
  return true
}

/** The text of a JSON string, quotes included. Lone surrogate escapes stay what they are. */
export function toText(string: Uint8Array): string {
  return JSON.parse(asBuffer(string).toString()) as string
}
