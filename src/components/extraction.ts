import { parsePointer } from "../json/pointer.ts"
import type { Event } from "../event.ts"

/** Finds bytes in an event: a record's key or a header's value. undefined: the event has none. */
export type Extract = (event: Event) => Uint8Array | undefined

/** What `parseExtraction` reads, for messages and the reference. */
export const EXTRACTION_FORM = "json:/pointer (RFC 6901), header:Name or path"

/** Whether it is a header's name as HTTP has it: RFC 9110, 5.6.2, token. */
export const isFieldName = (text: string): boolean => /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)

const encoder = new TextEncoder()

/** Reads where bytes are to be found: `json:/id`, `header:X-Request-Id` or `path`. undefined when it is none of them. */
export function parseExtraction(text: string): Extract | undefined {
  if (text === "path") return (event) => encoder.encode(event.request.path)
  if (text.startsWith("header:")) {
    const name = text.slice("header:".length)
    if (!isFieldName(name)) return undefined
    return (event) => {
      const value = event.request.headers.get(name)
      return value === null ? undefined : encoder.encode(value)
    }
  }
  if (text.startsWith("json:")) {
    const find = parsePointer(text.slice("json:".length))
    return find && ((event) => find(event.body))
  }
  return undefined
}
