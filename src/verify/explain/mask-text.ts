import { decoded, maskForm } from "./mask-form.ts"
import { maskJson } from "./mask-json.ts"
import { maskPlain, maskUrlsAndForms } from "./mask-plain.ts"
import { hidden, isSecretPath } from "./secret-names.ts"

/*
 * Masks credentials in text of any form: what stands under the name of one, and what has the form of one. JSON is read wherever
 * it begins, whatever is before it; forms, multipart, base64 and UTF-16 are read, so that escapes, nesting and lists under a
 * name are seen, and so are texts within texts. What is malformed or cut off is read as far as it goes: requests are shown
 * because they were refused.
 *
 * Texts are bytes as Latin-1. What is not masked stays as it is.
 */

/** How deep texts within texts are read. */
const MAX_WITHIN = 4

/** @param within how many texts this one is within */
export function maskText(text: string, within = 0): string {
  if (within > MAX_WITHIN || text.length < 4) return text
  const inner = (it: string): string => maskText(it, within + 1)
  const boundary = boundaryOf(text)
  if (boundary !== undefined) return maskMultipart(text, boundary, inner)
  if (UTF_16.test(text)) return recoded(text, "utf16le", inner)
  if (BASE64.test(text)) return recoded(text, /[-_]/.test(text) ? "base64url" : "base64", inner)
  return FORM.test(text)
    ? maskAround(maskForm(text, isSecretPath, inner), inner, maskUrlsAndForms)
    : maskAround(text, inner, maskPlain)
}

/** A text in which URLs, tokens and keys may stand, as a header has, and JSON, in any of its spellings. */
export function maskValue(text: string): string {
  const masked = maskText(text)
  if (masked !== text || !text.includes("%")) return masked
  const plain = decoded(text)
  const shown = maskText(plain)
  return shown === plain ? text : encodeURIComponent(shown)
}

/** Masks JSON wherever it begins, and the text around it. */
function maskAround(text: string, inner: (text: string) => string, around: (text: string) => string): string {
  let shown = ""
  let from = 0
  for (let start = jsonFrom(text, 0); start !== -1; start = jsonFrom(text, from)) {
    const { shown: value, end } = maskJson(text, start, inner)
    shown += around(text.slice(from, start)) + value
    from = end
  }
  return shown + around(text.slice(from))
}

/** Where the next object or list begins; -1: nowhere. The beginning of a text is taken for one more readily. */
function jsonFrom(text: string, from: number): number {
  if (from === 0 && /^\s*[{[]/.test(text)) return text.search(/\S/)
  JSON_START.lastIndex = from
  return JSON_START.exec(text)?.index ?? -1
}

const JSON_START = /\{\s*(?:["'{[]|[\w$.-]{1,100}\s*:)|\[\s*["'{[]/g

/** A form has one line; its first name decides. */
const FORM = /^[^\s=&"'<{:]+=[^\r\n]*[\r\n]*$/

/** Text of ASCII in UTF-16, little-endian, with a byte-order mark or without. */
const UTF_16 = /^(?:\u00ff\u00fe)?(?:[\t\n\r -~]\0){4}/
/** Digits of base64 of either alphabet, also in lines. */
const BASE64 = /^[A-Za-z\d+/_-]{16}[A-Za-z\d+/_\r\n-]*(?:={1,2}[\r\n]*)?$/

/** Masks an encoded text, where what it encodes may be read. */
function recoded(
  text: string,
  encoding: "base64" | "base64url" | "utf16le",
  inner: (text: string) => string,
): string {
  if (encoding === "utf16le") {
    const plain = Buffer.from(text, "latin1").toString("utf16le")
    const masked = inner(plain)
    return masked === plain ? text : Buffer.from(masked, "utf16le").toString("latin1")
  }
  const bytes = Buffer.from(text, encoding).toString("latin1")
  if (!/^(?:\u00ef\u00bb\u00bf)?\s*[{[<]|^-----BEGIN /.test(bytes)) return maskPlain(text)
  const masked = inner(bytes)
  return masked === bytes ? text : Buffer.from(masked, "latin1").toString(encoding)
}

/** The boundary of parts that have headers, also behind a preamble; a PEM block has none. */
function boundaryOf(text: string): string | undefined {
  const [, boundary] =
    /(?:^|\n)(--(?!---BEGIN )[^\r\n]{1,70})\r?\n(?=(?:[\w-]{1,100}:[^\r\n]{0,1000}\r?\n){0,4}content-)/i.exec(
      text,
    ) ?? []
  return boundary
}

function maskMultipart(text: string, boundary: string, inner: (text: string) => string): string {
  const parts = text.split(boundary).map((part) => {
    const [, head, value = "", end = ""] = /^(.*?\r?\n\r?\n)(.*?)(\r?\n)?$/s.exec(part) ?? []
    if (head === undefined) return inner(part)
    const shown = namesIn(head).some(isSecretPath) ? hidden(value) : inner(value)
    return maskPlain(head) + shown + end
  })
  return parts.join(boundary)
}

/** The names that a part's header gives the part and its file, plain or by RFC 5987. */
function namesIn(head: string): string[] {
  const found = head.matchAll(/;[ \t]*(?:file)?name(\*?)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;]+))/gi)
  return [...found].map(([, extended, quoted, bare = ""]) =>
    decoded(extended === "*" ? (quoted ?? bare).replace(/^[\w-]*'[\w-]*'/, "") : (quoted ?? bare)),
  )
}
