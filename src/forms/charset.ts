// Hot path: the text of every form passes here.
import { Buffer, isUtf8 } from "node:buffer"
import { readJson } from "../json/read.ts"
import { asBuffer } from "../json/tokens.ts"
import type { FormFlaw } from "./field.ts"

/** An encoding of text. */
export interface Charset {
  /** Its name in the Encoding standard, in lower case. */
  readonly name: string
  /** undefined: the bytes are none of its text. A byte-order mark is a character. */
  readonly decode: (bytes: Uint8Array) => string | undefined
}

export const UTF_8: Charset = {
  name: "utf-8",
  decode: (bytes) => (isUtf8(bytes) ? asBuffer(bytes).toString() : undefined),
}

/** UTF-8 where bytes are that, else another encoding. */
export const utf8Or = (other: Charset): Charset =>
  other === UTF_8
    ? UTF_8
    : { name: other.name, decode: (bytes) => UTF_8.decode(bytes) ?? other.decode(bytes) }

/** By the label as it is spelled; there are a few hundred. */
const KNOWN = new Map<string, Charset>()

/**
 * The encoding of a label, such as `latin1` or `Shift_JIS`; undefined: it is unknown.
 *
 * @see https://encoding.spec.whatwg.org/#names-and-labels
 */
export function charsetOf(label: string): Charset | undefined {
  const spelled = label.trim().toLowerCase()
  const known = KNOWN.get(spelled)
  if (known !== undefined) return known
  try {
    const charset = charsetBy(
      new TextDecoder(spelled as ConstructorParameters<typeof TextDecoder>[0], {
        fatal: true,
        ignoreBOM: true,
      }),
    )
    KNOWN.set(spelled, charset)
    return charset
  } catch {
    return undefined
  }
}

function charsetBy(decoder: TextDecoder): Charset {
  const name: string = decoder.encoding
  if (name === UTF_8.name) return UTF_8
  return {
    name,
    decode(bytes) {
      try {
        return decoder.decode(bytes)
      } catch {
        return undefined
      }
    },
  }
}

/** Whether a text is a label that is known: for an option's test. */
export const isCharset = (label: string): boolean => charsetOf(label) !== undefined

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]*))/g

/** The encoding that the `charset` of a Content-Type names; undefined: it names none. */
export function declaredIn(contentType: string | null | undefined): Charset | FormFlaw | undefined {
  // nearly all have no parameter
  if (contentType?.includes(";") !== true) return undefined
  for (const [, name, quoted, plain] of contentType.matchAll(PARAMETER)) {
    if (name!.toLowerCase() !== "charset") continue
    const label = (quoted ?? plain!).replaceAll("'", "").trim()
    return label === "" ? undefined : (charsetOf(label) ?? unknownCharset(label))
  }
  return undefined
}

/** How a form's text is encoded, as far as its fields do not say. */
export interface Encoding {
  /** By its Content-Type; undefined: that says nothing. */
  readonly declared: Charset | undefined
  /** Where nothing is declared. */
  readonly fallback: Charset
}

/**
 * The encoding of a form: by its field `_charset_`, then by its Content-Type, then by its field `charset`.
 *
 * @param fields names and values as bytes
 * @see https://www.rfc-editor.org/rfc/rfc7578#section-4.6 and, for `charset`, PayPal's IPN
 */
export function charsetOfForm(
  fields: Iterable<readonly [name: Uint8Array, value: Uint8Array]>,
  { declared, fallback }: Encoding,
): Charset | FormFlaw {
  let own: Charset | undefined
  for (const [name, value] of fields) {
    const isReserved = RESERVED.equals(name)
    if (value.length === 0 || (!isReserved && !PAYPALS.equals(name))) continue
    const label = asBuffer(value).toString("latin1")
    const found = charsetOf(label)
    if (isReserved) return found === undefined ? unknownCharset(label) : ofForms(found)
    own ??= found
  }
  return ofForms(declared ?? own ?? fallback)
}

/**
 * The encodings of single fields, by their names: those of SendGrid's field `charsets`, a JSON object, that are known.
 *
 * @see https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/setting-up-the-inbound-parse-webhook
 */
export function charsetsOfFields(
  fields: Iterable<readonly [name: Uint8Array, value: Uint8Array]>,
): ReadonlyMap<string, Charset> {
  const charsets = new Map<string, Charset>()
  for (const [name, value] of fields) {
    const labels = SENDGRIDS.equals(name) ? readJson(value) : undefined
    for (const [field, label] of Object.entries(labels ?? {})) {
      const charset = typeof label === "string" ? charsetOf(label) : undefined
      if (charset !== undefined) charsets.set(field, charset)
    }
  }
  return charsets
}

const SENDGRIDS = Buffer.from("charsets")
const RESERVED = Buffer.from("_charset_")
const PAYPALS = Buffer.from("charset")

/** Whether a body may have one of these fields. */
export const mayNameCharset = (body: Uint8Array): boolean => asBuffer(body).indexOf(PAYPALS) >= 0

/** Delimiters of forms are ASCII, so that HTML sends UTF-8 in place of UTF-16. */
const ofForms = (charset: Charset): Charset => (charset.name.startsWith("utf-16") ? UTF_8 : charset)

/** Bytes of a field that are none of the form's text. @param field from 1 */
export const undecodable = ({ name }: Charset, field: number): FormFlaw =>
  name === UTF_8.name
    ? { rule: "invalid_utf8", problem: `is a form with bytes that are not UTF-8 in field ${field}` }
    : { rule: "invalid_charset", problem: `is a form with bytes that are not ${name} in field ${field}` }

const MOST_QUOTED = 40

const unknownCharset = (label: string): FormFlaw => ({
  rule: "unknown_charset",
  problem: `has the charset ${JSON.stringify(label.slice(0, MOST_QUOTED))}, which is unknown`,
})
