import { byteAt, OPEN_BRACE, OPEN_BRACKET, skipSpace, startOfText } from "../json/tokens.ts"

export type Format = "json" | "form" | "multipart" | "text"

const BY_MEDIA_TYPE = new Map<string, Format>([
  ["application/x-www-form-urlencoded", "form"],
  ["multipart/form-data", "multipart"],
  ["text/plain", "text"],
])

/**
 * What a body is: JSON where it begins with a brace or bracket, which forms escape; else what its Content-Type says, and JSON
 * where that is another. (A Content-Type is rarely signed: it can't make a form of an object.)
 */
export function formatOf(body: Uint8Array, contentType: string | null): Format {
  const first = firstByte(body)
  if (first === OPEN_BRACE || first === OPEN_BRACKET || contentType === null) return "json"
  return BY_MEDIA_TYPE.get(mediaType(contentType)) ?? "json"
}

/** The first byte after a byte-order mark and white space, else 0. */
export const firstByte = (body: Uint8Array): number => byteAt(body, skipSpace(body, startOfText(body)))

/** The media type of a Content-Type, in lower case, without its parameters; empty if none. */
export const mediaType = (contentType: string | null): string =>
  (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase()
