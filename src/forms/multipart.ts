import { isUtf8 } from "node:buffer"
import { HEADER_NAME } from "../senders/header-name.ts"
import { MOST_FIELDS, notUtf8, TOO_MANY_FIELDS, type Field, type FormFlaw } from "./field.ts"

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

/**
 * The fields of a multipart/form-data body, in order.
 *
 * @param contentType with the boundary
 * @see https://www.rfc-editor.org/rfc/rfc7578
 * @see https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data for names
 */
export function parseMultipart(body: Uint8Array, contentType: string): Field[] | FormFlaw {
  const boundary = boundaryIn(contentType)
  if (boundary === undefined) return invalid("has no boundary in its Content-Type")
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  const dashed = Buffer.from(`--${boundary}`, "latin1")
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1")
  const fields: Field[] = []
  let at = bytes.subarray(0, dashed.length).equals(dashed) ? dashed.length : afterPreamble(bytes, delimiter)
  for (;;) {
    if (at < 0) return invalid("does not begin with its boundary")
    if (bytes.subarray(at, at + 2).equals(DASHES)) return fields
    if (!bytes.subarray(at, at + 2).equals(CRLF))
      return invalid(`has no line end after its boundary at byte ${at}`)
    if (fields.length === MOST_FIELDS) return TOO_MANY_FIELDS
    const headersEnd = bytes.indexOf(BLANK_LINE, at)
    if (headersEnd === -1 || headersEnd - at > MOST_HEADER_BYTES)
      return invalid(`has a part without the end of its headers at byte ${at}`)
    const start = headersEnd + BLANK_LINE.length
    const end = bytes.indexOf(delimiter, start)
    if (end === -1) return invalid("ends without its last boundary")
    const field = readPart(
      bytes.subarray(at + 2, Math.max(headersEnd, at + 2)),
      bytes.subarray(start, end),
      fields.length + 1,
    )
    if ("problem" in field) return field
    fields.push(field)
    at = end + delimiter.length
  }
}

const CRLF = Buffer.from("\r\n")
const DASHES = Buffer.from("--")
const BLANK_LINE = Buffer.from("\r\n\r\n")

const invalid = (problem: string): FormFlaw => ({
  rule: "invalid_form",
  problem: `is not a multipart form: it ${problem}`,
})

/** The position after the first boundary that text stands before; -1: there is none. */
function afterPreamble(bytes: Buffer, delimiter: Buffer): number {
  const found = bytes.indexOf(delimiter)
  return found === -1 ? -1 : found + delimiter.length
}

/** RFC 2046, 5.1.1: up to 70 characters. */
const BOUNDARY = /;\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;,"]{1,70}))/i

function boundaryIn(contentType: string): string | undefined {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  return quoted ?? plain
}

const FIELD_NAME = new RegExp(`^${HEADER_NAME}(?=:)`)

function readPart(head: Buffer, value: Buffer, number: number): Field | FormFlaw {
  if (!isUtf8(head)) return notUtf8(number)
  const headers = new Map<string, string>()
  for (const line of head.toString().split("\r\n")) {
    const name = FIELD_NAME.exec(line)?.[0].toLowerCase()
    if (name === undefined) return invalid(`has a malformed header in part ${number}`)
    if (headers.has(name)) return invalid(`has a header twice in part ${number}`)
    headers.set(name, line.slice(name.length + 1).trim())
  }
  const disposition = readDisposition(headers.get("content-disposition") ?? "")
  if (disposition === undefined) return invalid(`has no name in part ${number}`)
  const { name, filename } = disposition
  if (filename !== undefined) {
    const file = { filename, contentType: headers.get("content-type"), bytes: value }
    return { name, value: file }
  }
  return isUtf8(value) ? { name, value: value.toString() } : notUtf8(number)
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
