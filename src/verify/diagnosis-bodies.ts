import type { Mistake } from "./diagnosis-words.ts"

/** A body that may be the one that was signed, and what was done to it if it is. */
export interface OtherBody {
  readonly mistake: Mistake
  readonly body: Uint8Array
}

/** What a body may have been before somebody touched it; likely ones first. */
export function* otherBodies(body: Uint8Array): Iterable<OtherBody> {
  const text = Buffer.from(body).toString()
  for (const [detail, other] of otherTexts(text)) {
    if (other !== undefined && other !== text)
      yield { mistake: { kind: "body_changed", detail }, body: Buffer.from(other) }
  }
  if (/[\u0080-\u00ff]/.test(text) && !/[^\0-\u00ff]/.test(text))
    yield {
      mistake: { kind: "body_changed", detail: "before its bytes were decoded as Latin-1" },
      body: Buffer.from(text, "latin1"),
    }
  for (const [detail, other] of otherSpellings(text))
    yield { mistake: { kind: "body_reserialised", detail }, body: Buffer.from(other) }
}

function otherTexts(text: string): [string, string | undefined][] {
  return [
    ["without the newline at its end", /\r?\n$/.test(text) ? text.replace(/\r?\n$/, "") : undefined],
    ["with a newline at its end", `${text}\n`],
    ["with CR LF at its end", `${text}\r\n`],
    ["without white space around it", text.trim()],
    ["with LF for line ends, where it has CR LF", text.replaceAll("\r\n", "\n")],
    ["with CR LF for line ends, where it has LF", text.replace(/\r?\n/g, "\r\n")],
    ["without the byte-order mark", text.replace(/^\uFEFF/, "")],
    ["with a byte-order mark", `\uFEFF${text}`],
  ]
}

/** The same JSON as libraries write it; none for what is no JSON. */
function* otherSpellings(text: string): Iterable<[string, string]> {
  let json: unknown
  try {
    json = JSON.parse(text.replace(/^\uFEFF/, ""))
  } catch {
    return
  }
  const layouts: [string, string][] = [
    ["compact, as JSON.stringify does", JSON.stringify(json)],
    ["with a space after each comma and colon, as Python does", spaced(json)],
    ["indented by 2 spaces", JSON.stringify(json, null, 2)],
    ["indented by 4 spaces", JSON.stringify(json, null, 4)],
    ["indented by tabs", JSON.stringify(json, null, "\t")],
  ]
  const seen = new Set([text])
  for (const [layout, written] of layouts) {
    for (const [style, restyle] of STYLES) {
      for (const [end, mark] of [
        ["", ""],
        [" and a newline at the end", "\n"],
      ] as const) {
        const spelled = restyle(written) + mark
        if (seen.has(spelled)) continue
        seen.add(spelled)
        yield [layout + style + end, spelled]
      }
    }
  }
}

/** `JSON.stringify` writes no line break within a string, so that those it writes are all its own. */
const spaced = (json: unknown): string =>
  JSON.stringify(json, null, 1).replace(/,\n */g, ", ").replace(/\n */g, "")

const escapeUnits = (text: string, units: RegExp): string =>
  text.replace(units, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** What is escaped in strings, by library. */
const STYLES: readonly [string, (json: string) => string][] = [
  ["", (json) => json],
  [", other than ASCII escaped", (json) => escapeUnits(json, /[\u0080-\uffff]/g)],
  [", slashes escaped as PHP does", (json) => json.replaceAll("/", String.raw`\/`)],
  [
    ", slashes and other than ASCII escaped as PHP does",
    (json) => escapeUnits(json.replaceAll("/", String.raw`\/`), /[\u0080-\uffff]/g),
  ],
  [", <, > and & escaped as Go does", (json) => escapeUnits(json, /[<>&\u2028\u2029]/g)],
]

/** Bodies beyond this many bytes are not searched for a flipped bit: it takes eight signatures a byte. */
export const MOST_BYTES_FLIPPED = 2048

/** The body with each one of its bits flipped. One buffer, changed in place: to be used before the next. */
export function* flippedBodies(body: Uint8Array): Iterable<OtherBody> {
  const flipped = Buffer.from(body)
  for (let i = 0; i < flipped.length; i++) {
    for (let bit = 1; bit < 256; bit *= 2) {
      flipped[i]! ^= bit
      yield {
        body: flipped,
        get mistake(): Mistake {
          const detail = `byte ${i} is ${spell(body[i]!)} and was signed as ${spell(body[i]! ^ bit)}`
          return { kind: "body_bit", detail }
        },
      }
      flipped[i]! ^= bit
    }
  }
}

const spell = (byte: number): string =>
  byte > 32 && byte < 127 ? `'${String.fromCharCode(byte)}'` : `0x${byte.toString(16).padStart(2, "0")}`
