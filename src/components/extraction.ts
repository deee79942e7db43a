import { parsePointer } from "../json/pointer.ts"
import type { Event } from "../pipeline/event.ts"

/** Extracts a record's key or a header's value; undefined: the event has none. */
export type Extract = (event: Event) => Uint8Array | undefined

/** For messages and the reference. */
export const EXTRACTION_FORM = "json:/pointer (RFC 6901), header:Name or path"

/** The name in `header:Name`: RFC 9110, 5.6.2, token. */
export const headerNameIn = (text: string): string | undefined =>
  /^header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)$/.exec(text)?.[1]

const encoder = new TextEncoder()

/** Parses `json:/id`, `header:X-Request-Id` or `path`; undefined if malformed. */
export function parseExtraction(text: string): Extract | undefined {
  if (text === "path") return (event) => encoder.encode(event.request.path)
  const name = headerNameIn(text)
  if (name !== undefined)
    return (event) => {
      const value = event.request.headers.get(name)
      return value === null ? undefined : encoder.encode(value)
    }
  const find = text.startsWith("json:") ? parsePointer(text.slice("json:".length)) : undefined
  return find && ((event) => find(event.body))
}
