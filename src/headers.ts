// Hot path: values of headers become bytes here.
import { Buffer, isUtf8 } from "node:buffer"

/*
 * Names and values of HTTP headers. A value is a string with a character for each byte, as `Headers` has it: bytes above 0x7F have
 * no encoding of their own (RFC 9110, 5.5, obs-text), and most senders mean UTF-8. Everything else here is text.
 */

/** A header's name, in patterns (RFC 9110, 5.6.2, token). */
export const HEADER_NAME = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const WHOLE = new RegExp(`^${HEADER_NAME}$`)

/** Whether a text is a header's name: `Headers` throws for any other. */
export const isHeaderName = (text: string): boolean => WHOLE.test(text)

/** No byte has these: only code, or a runtime that decodes headers as UTF-8, gives them. */
const NOT_BYTES = /[^\0-\xff]/
const NOT_ASCII = /[^\0-\x7f]/

/** The bytes of a header's value. One with characters above U+00FF was decoded before, and is encoded in UTF-8 again. */
export const headerBytes = (value: string): Buffer => Buffer.from(value, encodingOf(value))

/** The encoding by which a header's value becomes its bytes, for what takes both. */
export const encodingOf = (value: string): "utf8" | "latin1" => (NOT_BYTES.test(value) ? "utf8" : "latin1")

/** A text as a header's value: in UTF-8. */
export const toHeaderValue = (text: string): string =>
  NOT_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text

/** A header's value as a text: UTF-8 where its bytes are, else Latin-1. */
export function headerText(value: string): string {
  if (!NOT_ASCII.test(value)) return value
  const bytes = headerBytes(value)
  return isUtf8(bytes) ? bytes.toString() : value
}
