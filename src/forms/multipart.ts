import { Buffer } from "node:buffer"
import { asBuffer } from "../json/tokens.ts"
import { HEADER_NAME } from "../headers.ts"
import {
  charsetOfForm,
  charsetsOfFields,
  declaredIn,
  mayNameCharset,
  undecodable,
  type Charset,
  type Encoding,
} from "./charset.ts"
import { MOST_FIELDS, TOO_MANY_FIELDS, type Field, type FormFlaw } from "./field.ts"

/*
 * multipart/form-data of a whole body, without copies:
 *
 *     --boundary CRLF
 *     Content-Disposition: form-data; name="a"; filename="b.txt" CRLF
 *     Content-Type: text/plain CRLF
 *     CRLF
 *     bytes CRLF
 *     --boundary--
 *
 * Stricter than Bun's FormData, which drops parts that it can't read, replaces bytes that are not UTF-8 and takes a file
 * without a name for a text without one: docs/decisions/multipart.md.
 */

/** The longest headers of a part. */
const MOST_HEADER_BYTES = 8 * 1024

/** A part as bytes: its headers without the empty line, and its value. */
interface Part {
  readonly head: Buffer
  readonly value: Buffer
}

/**
 * The fields of a multipart/form-data body, in order. The text of a part is in the encoding that its own Content-Type names,
 * else in the form's.
 *
 * @param contentType with the boundary
 * @see https://www.rfc-editor.org/rfc/rfc7578
 * @see https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data for names
 */
export function parseMultipart(
  body: Uint8Array,
  contentType: string,
  encoding: Encoding,
): Field[] | FormFlaw {
  const parts = partsOf(body, contentType)
  if ("problem" in parts) return parts
  const texts = textsOf(parts, body)
  const charset = charsetOfForm(texts, encoding)
  if ("problem" in charset) return charset
  const charsets = { charset, ofFields: charsetsOfFields(texts) }
  const fields: Field[] = []
  for (const part of parts) {
    const field = readPart(part, fields.length + 1, charsets)
    if ("problem" in field) return field
    fields.push(field)
  }
  return fields
}

/** Only line breaks may stand before the first boundary: who can't change a signed body could else choose what is read of it. */
function partsOf(body: Uint8Array, contentType: string): Part[] | FormFlaw {
  const boundary = boundaryIn(contentType)
  if (boundary === undefined) return invalid("has no boundary in its Content-Type")
  const bytes = asBuffer(body)
  const dashed = Buffer.from(`--${boundary}`, "latin1")
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1")
  const parts: Part[] = []
  let at = 0
  while (bytes[at] === CR || bytes[at] === LF) at++
  if (!bytes.subarray(at, at + dashed.length).equals(dashed))
    return invalid("does not begin with its boundary")
  at += dashed.length
  for (;;) {
    if (bytes.subarray(at, at + 2).equals(DASHES)) return parts
    if (!bytes.subarray(at, at + 2).equals(CRLF))
      return invalid(`has no line end after its boundary at byte ${at}`)
    if (parts.length === MOST_FIELDS) return TOO_MANY_FIELDS
    const headersEnd = bytes.indexOf(BLANK_LINE, at)
    if (headersEnd === -1 || headersEnd - at > MOST_HEADER_BYTES)
      return invalid(`has a part without the end of its headers at byte ${at}`)
    const start = headersEnd + BLANK_LINE.length
    const end = bytes.indexOf(delimiter, start)
    if (end === -1) return invalid("ends without its last boundary")
    parts.push({
      head: bytes.subarray(at + 2, Math.max(headersEnd, at + 2)),
      value: bytes.subarray(start, end),
    })
    at = end + delimiter.length
  }
}

const CR = 0x0d
const LF = 0x0a
const CRLF = Buffer.from("\r\n")
const DASHES = Buffer.from("--")
const BLANK_LINE = Buffer.from("\r\n\r\n")

const invalid = (problem: string): FormFlaw => ({
  rule: "invalid_form",
  problem: `is not a multipart form: it ${problem}`,
})

/** RFC 2046, 5.1.1: up to 70 characters. */
const BOUNDARY = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;,"]{1,70}))/i

function boundaryIn(contentType: string): string | undefined {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  return quoted ?? plain
}

/** Names and values of those that are texts, for what they say of the form's encoding; their names are ASCII. */
function textsOf(parts: readonly Part[], body: Uint8Array): (readonly [Uint8Array, Uint8Array])[] {
  // hardly any says something
  if (!mayNameCharset(body)) return []
  return parts.flatMap(({ head, value }) => {
    const disposition = dispositionIn(head.toString("latin1"))
    return disposition?.filename === undefined && disposition !== undefined
      ? [[Buffer.from(disposition.name, "latin1"), value] as const]
      : []
  })
}

const FIELD_NAME = new RegExp(`^${HEADER_NAME}(?=:)`)

interface Charsets {
  /** Of the form. */
  readonly charset: Charset
  /** By names of fields that may have another. */
  readonly ofFields: ReadonlyMap<string, Charset>
}

function readPart({ head, value }: Part, number: number, { charset, ofFields }: Charsets): Field | FormFlaw {
  const text = charset.decode(head)
  if (text === undefined) return undecodable(charset, number)
  const headers = headersIn(text)
  if (typeof headers === "string") return invalid(`${headers} in part ${number}`)
  const disposition = readDisposition(headers.get("content-disposition") ?? "")
  if (disposition === undefined) return invalid(`has no name in part ${number}`)
  const { name, filename } = disposition
  const contentType = headers.get("content-type")
  if (filename !== undefined) return { name, value: { filename, contentType, bytes: value } }
  const own = declaredIn(contentType) ?? ofFields.get(name) ?? charset
  if ("problem" in own) return own
  const decoded = own.decode(value)
  return decoded === undefined ? undecodable(own, number) : { name, value: decoded }
}

const dispositionIn = (head: string): ReturnType<typeof readDisposition> => {
  const headers = headersIn(head)
  return typeof headers === "string" ? undefined : readDisposition(headers.get("content-disposition") ?? "")
}

/** The headers of a part, by names in lower case; a text: what is wrong with them. */
function headersIn(head: string): ReadonlyMap<string, string> | string {
  const headers = new Map<string, string>()
  for (const line of head.split("\r\n")) {
    const name = FIELD_NAME.exec(line)?.[0].toLowerCase()
    if (name === undefined) return "has a malformed header"
    if (headers.has(name)) return "has a header twice"
    headers.set(name, line.slice(name.length + 1).trim())
  }
  return headers
}

const PARAMETER = /;[ \t]*([a-z]+\*?)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))[ \t]*/iy

/** Name and file name of `form-data; name="a"; filename="b"`; undefined: malformed, or without a name. */
function readDisposition(text: string): { name: string; filename: string | undefined } | undefined {
  const type = /^form-data[ \t]*/i.exec(text)
  if (type === null) return undefined
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = type[0].length
  while (PARAMETER.lastIndex < text.length) {
    const [, key, quoted, plain] = PARAMETER.exec(text) ?? []
    if (key === undefined || parameters.has(key.toLowerCase())) return undefined
    parameters.set(key.toLowerCase(), plain ?? unescape(quoted!))
  }
  const name = parameters.get("name")
  const extended = parameters.get("filename*")
  const filename = extended === undefined ? parameters.get("filename") : readExtended(extended)
  return name === undefined || filename === null ? undefined : { name, filename }
}

/** The text of `utf-8''na%C3%AFve.txt` (RFC 8187), which RFC 7578 forbids and Python's urllib3 sends; null: malformed. */
function readExtended(value: string): string | null {
  const [, encoded] = /^utf-8'[^']*'(.*)$/i.exec(value) ?? []
  try {
    return encoded === undefined ? null : decodeURIComponent(encoded)
  } catch {
    return null
  }
}

/** Browsers escape a quote and line ends by percent signs, and nothing else; other senders by a backslash. */
const unescape = (text: string): string =>
  text.replace(/%22|%0D|%0A|\\(["\\])/gi, (it, escaped?: string) => escaped ?? decodeURIComponent(it))
