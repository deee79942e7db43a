// Hot path: every event of a pipeline with a Deduplicator passes here.
import { keysIn } from "../dedupe/key.ts"
import type { Event } from "../pipeline/event.ts"
import { MINUS, QUOTE, skipSpace, startOfText, isDigit } from "../json/tokens.ts"
import { spells, toName, type Name } from "../json/name.ts"
import { Items } from "../json/walk.ts"
import { headerBytes } from "../headers.ts"
import { locateEventPart, type KnownSender } from "./known-sender.ts"
import { isForgeable } from "../verify/senders.ts"
import type { Coverage } from "../verify/verification.ts"
import { firstOf, locate, valueBy, type EventFunction, type ValueOf } from "./extraction.ts"

/** An event's key, of fixed length and collision-resistant; undefined: it has none. */
export type KeyOf = (event: Event) => string | undefined

/** For messages and the reference. */
export const DEDUPE_KEY_FORM = "header:Name, json:/pointer (RFC 6901), or event:id"

/** The default, where the preset knows an id. */
export const EVENT_ID = "event:id"

/** For an option's test. */
export const isDedupeKey = (text: string): boolean => text === EVENT_ID || parseFinder(text) !== undefined

/**
 * Parses what identifies an event: `header:X-GitHub-Delivery`, `json:/id`, or `event:id`, where the preset has the id;
 * undefined if malformed.
 *
 * Two events have the same key if they have the same pipeline, the same configured text, and the same bytes there: a
 * header's value, or a JSON string or number as spelled. "1" and 1 differ, and 1 and 1.0: a missed duplicate does less
 * harm than a lost event. Empty text, null, booleans, arrays and objects give no key. Of a list's items each has a key of
 * its own by a header: the value and the item's index.
 *
 * With `event:id`, an id that the provider's signature does not cover is a key together with the body: a captured request
 * with the id of another event makes that event no duplicate. A member that each attempt has anew is left out of it.
 *
 * @param pipeline the pipeline's id
 * @param sender the pipeline's, `context.sender`
 * @throws WrongValue for `event:id` where the preset knows none
 */
export function parseDedupeKey(
  text: string | EventFunction,
  pipeline: string,
  sender: KnownSender | undefined,
): KeyOf | undefined {
  if (typeof text === "function") return keyBy(text, pipeline)
  const covers = text === EVENT_ID ? sender?.covers : undefined
  return firstOf(locateEventPart(text, sender).map((location) => keyAt(location, pipeline, covers)))
}

/** Keys by a function of the user's: empty ones are none. */
function keyBy(find: EventFunction, pipeline: string): KeyOf {
  const keyOf = keysIn([pipeline, "function"])
  const valueOf = valueBy(find)
  return (event) => {
    const found = valueOf(event)
    return found === undefined || found.length === 0 ? undefined : keyOf(found)
  }
}

/** @param covers of the provider whose id is there; undefined: a key that was configured */
function keyAt(location: string, pipeline: string, covers: Coverage | undefined): KeyOf | undefined {
  const find = parseFinder(location)
  if (find === undefined) return undefined
  const isBound = covers !== undefined && isForgeable(location, covers)
  const keyOf = keysIn(isBound ? [pipeline, EVENT_ID, location] : [pipeline, location])
  const renewed = covers?.renewed === undefined ? undefined : toName(covers.renewed)
  return (event) => {
    const found = find(event)
    if (found === undefined) return undefined
    if (!isBound) return keyOf(found)
    const body = renewed === undefined ? [event.body] : without(event.body, renewed)
    return keyOf(String(found.length), ":", found, ...body)
  }
}

/** The bytes before and after a top-level member of a JSON object; of duplicates, between them too. */
function without(body: Uint8Array, name: Name): readonly Uint8Array[] {
  const members = new Items(body, skipSpace(body, startOfText(body)))
  const kept: Uint8Array[] = []
  let from = 0
  while (members.next()) {
    if (!spells(body, members.nameStart, members.nameEnd, name)) continue
    kept.push(body.subarray(from, members.nameStart))
    from = members.valueEnd
  }
  return [...kept, body.subarray(from)]
}

const parseFinder = (text: string): ValueOf | undefined =>
  locate(text, {
    // the items of a list share the header; its value holds no line end
    header: (value, { list }) =>
      value === "" ? undefined : headerBytes(list === undefined ? value : `${value}\n${list.index}`),
    json: (value) => (tellsApart(value) ? value : undefined),
  })

/** Whether it is a number or a non-empty string. */
function tellsApart(value: Uint8Array): boolean {
  const first = value[0]!
  return first === QUOTE ? value.length > 2 : first === MINUS || isDigit(first)
}
