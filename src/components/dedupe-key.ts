// Hot path: every event of a pipeline with a Deduplicator passes here.
import { keysIn } from "../dedupe/key.ts"
import type { Event } from "../event.ts"
import { QUOTE, MINUS } from "../json/bytes.ts"
import { isDigit } from "../json/tokens.ts"
import { parseRawPointer } from "../json/pointer.ts"
import { isFieldName } from "./extraction.ts"

/** Tells events apart: a key of fixed length, the same for the same event alone. undefined: the event has none. */
export type KeyOf = (event: Event) => string | undefined

/** What `parseDedupeKey` reads, for messages and the reference. */
export const DEDUPE_KEY_FORM = "header:Name or json:/pointer (RFC 6901)"

/**
 * Reads what tells events apart: `header:X-GitHub-Delivery`, `json:/id`. undefined when it is none of them.
 *
 * Two events have the same key when they are of one pipeline, the configured text is the same, and so is what it finds,
 * byte for byte: a header's value, or a JSON string or number as it is spelled. "1" and 1 are different, 1 and 1.0 too:
 * a duplicate that passes does less harm than an event that is taken for another one. An empty text, null, true, an array
 * or an object tell no events apart: an event with these, or without the header or member, has no key.
 *
 * @param pipeline the pipeline's id
 */
export function parseDedupeKey(text: string, pipeline: string): KeyOf | undefined {
  const find = parseFinder(text)
  if (find === undefined) return undefined
  const keyOf = keysIn([pipeline, text])
  return (event) => {
    const found = find(event)
    return found === undefined ? undefined : keyOf(found)
  }
}

function parseFinder(text: string): ((event: Event) => string | Uint8Array | undefined) | undefined {
  if (text.startsWith("header:")) {
    const name = text.slice("header:".length)
    return isFieldName(name) ? ({ request }) => request.headers.get(name) || undefined : undefined
  }
  if (!text.startsWith("json:")) return undefined
  const find = parseRawPointer(text.slice("json:".length))
  return (
    find &&
    (({ body }) => {
      const value = find(body)
      return value !== undefined && tellsApart(value) ? value : undefined
    })
  )
}

/** Whether it is a number, or a string that is not empty. */
function tellsApart(value: Uint8Array): boolean {
  const first = value[0]!
  return first === QUOTE ? value.length > 2 : first === MINUS || isDigit(first)
}
