// Hot path: every event of a pipeline with a Deduplicator passes here.
import { keysIn } from "../dedupe/key.ts"
import type { Event } from "../pipeline/event.ts"
import { QUOTE, MINUS } from "../json/bytes.ts"
import { isDigit } from "../json/tokens.ts"
import { parseRawPointer } from "../json/pointer.ts"
import { headerNameIn } from "./extraction.ts"

/** An event's key, of fixed length and collision-resistant; undefined: it has none. */
export type KeyOf = (event: Event) => string | undefined

/** For messages and the reference. */
export const DEDUPE_KEY_FORM = "header:Name or json:/pointer (RFC 6901)"

/**
 * Parses what identifies an event: `header:X-GitHub-Delivery`, `json:/id`; undefined if malformed.
 *
 * Two events have the same key if they have the same pipeline, the same configured text, and the same bytes there: a
 * header's value, or a JSON string or number as spelled. "1" and 1 differ, and 1 and 1.0: a missed duplicate does less
 * harm than a lost event. Empty text, null, booleans, arrays and objects give no key. Of a list's items each has a key of
 * its own by a header: the value and the item's index.
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
  const name = headerNameIn(text)
  if (name !== undefined)
    return ({ request, list }) => {
      const value = request.headers.get(name) || undefined
      // the items of a list share the header; its value holds no line end
      return value === undefined || list === undefined ? value : `${value}\n${list.index}`
    }
  const find = text.startsWith("json:") ? parseRawPointer(text.slice("json:".length)) : undefined
  return (
    find &&
    (({ body }) => {
      const value = find(body)
      return value !== undefined && tellsApart(value) ? value : undefined
    })
  )
}

/** Whether it is a number or a non-empty string. */
function tellsApart(value: Uint8Array): boolean {
  const first = value[0]!
  return first === QUOTE ? value.length > 2 : first === MINUS || isDigit(first)
}
