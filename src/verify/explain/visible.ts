import { Buffer } from "node:buffer"
import { utf8Length } from "../../json/tokens.ts"

/**
 * Bytes with invisible characters made visible by signs. Line ends keep their break after the sign.
 */
export function visible(bytes: Uint8Array): string {
  // spaces are marked only where they could be overlooked
  return decode(bytes).replace(/(?<! ) +(?=$|[␊␍])/g, (spaces) => "·".repeat(spaces.length))
}

/** A legend of the signs that the text has. */
export function legend(shown: string): string {
  return LEGEND.filter(([sign]) => shown.includes(sign))
    .map(([sign, meaning]) => `${sign} ${meaning}`)
    .join(", ")
}

const SIGNS: { readonly [character: string]: string } = {
  "\n": "␊\n",
  "\r": "␍",
  "\t": "␉",
  "\uFEFF": "⟨BOM⟩",
}

const LEGEND = [
  ["␊", "newline"],
  ["␍", "carriage return"],
  ["␉", "tab"],
  ["·", "space at a line's end"],
  ["⟨BOM⟩", "byte-order mark"],
  ["⟨U+", "invisible character"],
  ["⟨0x", "invalid UTF-8"],
] as const

/** Invisible characters but the space: controls, formats, separators, blanks. */
const SHAPELESS = /(?! )[\p{C}\p{Z}]/gu

const sign = (character: string): string =>
  SIGNS[character] ?? `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`

/** Decodes UTF-8, with invalid bytes as `⟨0xE9⟩`. */
function decode(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  let shown = ""
  for (let from = 0; from < bytes.length;) {
    let at = from
    while (at < bytes.length && utf8Length(bytes, at) > 0) at += utf8Length(bytes, at)
    shown += text.subarray(from, at).toString().replace(SHAPELESS, sign)
    if (at < bytes.length) shown += `⟨0x${bytes[at]!.toString(16).toUpperCase().padStart(2, "0")}⟩`
    from = at + 1
  }
  return shown
}
