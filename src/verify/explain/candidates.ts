import { Buffer } from "node:buffer"
import type { VerifierSettings } from "../schemes/family.ts"
import { readJson } from "../../json/read.ts"
import { decodeBase64, decodeHex } from "../schemes/secrets.ts"
import type { SignedRequest } from "../verifier.ts"
import type { Candidate } from "./inquiry.ts"

/**
 * The URLs that may be registered with a provider for the one requested: other schemes, proxy hosts, ports, slashes and
 * queries.
 */
export function otherUrls(request: SignedRequest): readonly Candidate[] {
  const { url, headers } = request
  const [, host = "", path = "", query = ""] = /^https?:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/i.exec(url) ?? []
  const name = host.replace(/:\d+$/, "")
  const forwarded = headers.get("X-Forwarded-Host")?.split(",", 1)[0]?.trim()
  const hosts = [host, name, headers.get("Host"), forwarded].filter((it) => it !== undefined && it !== null)
  const bare = path.replace(/\/$/, "")
  const spellings = ["https", "http"].flatMap((scheme) =>
    [...hosts, `${name}:${scheme === "https" ? 443 : 80}`].flatMap((it) =>
      [path, bare, `${bare}/`].flatMap((path) =>
        [query, ""].map((query) => `${scheme}://${it}${path}${query}`),
      ),
    ),
  )
  const others = [...new Set(spellings)].filter((it) => it !== url)
  return others.map((other) => {
    // path and query as requested follow an origin by themselves
    const origin = other.endsWith(path + query) ? other.slice(0, other.length - (path + query).length) : other
    const mistake = { kind: "url_other", detail: other, options: { public_url: origin } } as const
    return { mistake, request: { ...request, url: other } }
  })
}

/** Secrets of a list that may be one with commas, then one with commas that may be a list. */
export function* otherLists(settings: VerifierSettings): Iterable<Candidate> {
  const all = settings.secret ?? []
  const secrets = all.slice(0, MOST_JOINED)
  for (const comma of [",", ", "])
    for (let from = 0; from < secrets.length - 1; from++)
      for (let to = secrets.length; to > from + 1; to--) {
        const options = { secret: "the whole of it, from a file" }
        const mistake = { kind: "secret_split", detail: `${all.length} secrets`, options } as const
        yield { mistake, settings: { ...settings, secret: [secrets.slice(from, to).join(comma)] } }
      }
  for (const secret of all) {
    const parts = secret.split(",").flatMap((it) => it.trim() || [])
    if (parts.length < 2) continue
    const options = { secret: "the same, one a line" }
    const mistake = { kind: "secret_joined", detail: `${parts.length} secrets`, options } as const
    yield { mistake, settings: { ...settings, secret: parts } }
  }
}

/** Each try reads the whole body. */
const MOST_JOINED = 6

/** Likely variants of a secret, as the configuration would spell it. */
export function* otherSecrets(settings: VerifierSettings, key: "secret" | "password"): Iterable<Candidate> {
  for (const secret of settings[key] ?? []) {
    const others = [
      ["secret_around", "white space", secret.trim()],
      ["secret_around", "quotes", secret.trim().replace(/^(["'])(.*)\1$/s, "$2")],
      ["secret_form", "followed by a newline", `${secret}\n`],
      ["secret_form", "without the prefix whsec_", secret.replace(/^whsec_/, "")],
      ["secret_form", "with the prefix whsec_", `whsec_${secret}`],
      ["secret_form", "without the prefix Bearer", secret.replace(/^Bearer +/i, "")],
      ["secret_form", "with the prefix Bearer", `Bearer ${secret}`],
      ["secret_form", "used as text, not decoded from base64", Buffer.from(secret).toString("base64")],
    ] as const
    for (const [kind, detail, other] of others)
      if (other !== secret && other !== "") {
        const without = kind === "secret_around" ? "without the " : ""
        const options = { [key]: `the same, ${without}${detail}` }
        yield { mistake: { kind, detail, options }, settings: { ...settings, [key]: [other] } }
      }
  }
}

export const AS_TEXT = "used as text"

/** The HMAC keys that a text may stand for, each with its decoding. */
export function otherKeys(secret: string): [string, Uint8Array][] {
  const bare = secret.trim().replace(/^whsec_/, "")
  const keys: [string, Uint8Array][] = [[AS_TEXT, Buffer.from(secret)]]
  if (bare !== secret) keys.push(["used as text, without whsec_ or white space", Buffer.from(bare)])
  const bytes = decodeBase64(bare.replaceAll("-", "+").replaceAll("_", "/"))
  if (bytes !== undefined) keys.push(["decoded from base64", bytes])
  const digits = decodeHex(bare)
  if (digits !== undefined) keys.push(["decoded from hexadecimal", digits])
  return keys
}

/** What the Enricher appends. */
const ENRICHMENT =
  /,?"received_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d","source":"webhook"(\}\s*)$/

const NAMED = ',"value":'

/**
 * A body that is a record of Hookline's: its value, or a line of `hookline tail --format json`; undefined: it is not. `before`
 * is the value without the members that were appended.
 */
export function readRecord(body: Uint8Array) {
  const text = Buffer.from(body).toString()
  const line = valueOfLine(text)
  const value = line ?? text
  if (!ENRICHMENT.test(value.slice(-200))) return undefined
  return {
    form: line === undefined ? ("value" as const) : ("line" as const),
    before: value.replace(ENRICHMENT, "$1"),
  }
}

function valueOfLine(text: string): string | undefined {
  if (!/^\{"topic":"[^"]*","partition":\d+,"offset":\d+,/.test(text)) return undefined
  // quotes within the members before it are escaped
  const at = text.indexOf(NAMED)
  return at === -1 ? undefined : text.trimEnd().slice(at + NAMED.length, -1)
}

/**
 * The body before it was enriched. These are the signed bytes, unless members of the same names were removed from them, or a
 * Decoder made the object.
 */
export function* beforeEnrichment(request: SignedRequest): Iterable<Candidate> {
  const record = readRecord(request.body)
  if (record === undefined) return
  for (const original of new Set([record.before, record.before.trimEnd()]))
    yield {
      mistake: { kind: "body_enriched", detail: "" },
      request: { ...request, body: Buffer.from(original) },
    }
}

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

/** The longest text whose other spellings are tried: each of fifty is written and signed. */
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
