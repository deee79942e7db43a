import { readJson } from "../schemes/json-body.ts"
import type { SignedRequest } from "../verifier.ts"
import type { Candidate } from "./inquiry.ts"

/** The body before it was changed, likely changes first. */
export function* otherBodies(request: SignedRequest): Iterable<Candidate> {
  const text = Buffer.from(request.body).toString()
  const changes = otherTexts(text).filter(([, other]) => other !== text)
  for (const [detail, other] of changes)
    yield { mistake: { kind: "body_changed", detail }, request: { ...request, body: Buffer.from(other) } }
  for (const [detail, other] of otherSpellings(text))
    yield {
      mistake: { kind: "body_reserialised", detail },
      request: { ...request, body: Buffer.from(other) },
    }
}

function otherTexts(text: string): [string, string | Uint8Array][] {
  return [
    ["without the final newline", text.replace(/\r?\n$/, "")],
    ["with a final newline", `${text}\n`],
    ["with a final CR LF", `${text}\r\n`],
    ["without white space around it", text.trim()],
    ["with LF instead of CR LF", text.replaceAll("\r\n", "\n")],
    ["with CR LF instead of LF", text.replace(/\r?\n/g, "\r\n")],
    ["without the byte-order mark", text.replace(/^\uFEFF/, "")],
    ["with a byte-order mark", `\uFEFF${text}`],
    ...(/[\u0080-\u00ff]/.test(text) && !/[^\0-\u00ff]/.test(text)
      ? [["before its bytes were decoded as Latin-1", Buffer.from(text, "latin1")] as [string, Uint8Array]]
      : []),
  ]
}

/** Of longer texts no other spelling is tried: each of fifty is written and signed. */
const MOST_RESPELLED = 64 * 1024

/** The same JSON as common libraries serialise it; nothing for other text. */
function* otherSpellings(text: string): Iterable<[string, string]> {
  if (text.length > MOST_RESPELLED) return
  const json = readJson(Buffer.from(text.replace(/^\uFEFF/, "")))
  if (json === undefined) return
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
        [" and a final newline", "\n"],
      ] as const) {
        const spelled = restyle(written) + mark
        if (seen.has(spelled)) continue
        seen.add(spelled)
        yield [layout + style + end, spelled]
      }
    }
  }
}

/** `JSON.stringify` writes no line break within a string, so all breaks are layout. */
const spaced = (json: unknown): string =>
  JSON.stringify(json, null, 1).replace(/,\n */g, ", ").replace(/\n */g, "")

const escapeUnits = (text: string, units: RegExp): string =>
  text.replace(units, (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Escaping styles of libraries. */
const STYLES: readonly [string, (json: string) => string][] = [
  ["", (json) => json],
  [", with non-ASCII escaped", (json) => escapeUnits(json, /[\u0080-\uffff]/g)],
  [", with slashes escaped as PHP does", (json) => json.replaceAll("/", String.raw`\/`)],
  [
    ", with slashes and non-ASCII escaped as PHP does",
    (json) => escapeUnits(json.replaceAll("/", String.raw`\/`), /[\u0080-\uffff]/g),
  ],
  [", with <, > and & escaped as Go does", (json) => escapeUnits(json, /[<>&\u2028\u2029]/g)],
]
