/**
 * Bytes with invisible characters made visible by signs. Line ends keep their break after the sign.
 */
export function visible(bytes: Uint8Array): string {
  let shown = ""
  for (const character of decode(bytes)) shown += SIGNS[character] ?? spell(character)
  // spaces are marked only where they could be overlooked
  return shown.replace(/(?<! ) +(?=$|[␊␍])/g, (spaces) => "·".repeat(spaces.length))
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

/** Controls, formats, separators, and blanks other than the space. */
const SHAPELESS = /^[\p{C}\p{Z}]$/u

function spell(character: string): string {
  if (character === " " || !SHAPELESS.test(character)) return character
  return `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`
}

/** Decodes UTF-8, with invalid bytes as `⟨0xE9⟩`. */
function* decode(bytes: Uint8Array): Iterable<string> {
  const text = Buffer.from(bytes).toString()
  if (!text.includes("\uFFFD")) return yield* text
  for (let i = 0; i < bytes.length;) {
    const length = [1, 2, 3, 4].find((n) => i + n <= bytes.length && isCharacter(bytes.subarray(i, i + n)))
    if (length === undefined) yield `⟨0x${bytes[i]!.toString(16).toUpperCase().padStart(2, "0")}⟩`
    else yield Buffer.from(bytes.subarray(i, i + length)).toString()
    i += length ?? 1
  }
}

function isCharacter(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString()
  return [...text].length === 1 && Buffer.from(text).equals(bytes)
}
