// Hot path: every event of a pipeline with a Filter or a Router passes here.
import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET, QUOTE } from "../json/bytes.ts"
import { toText } from "../json/name.ts"
import type { Event } from "../pipeline/event.ts"
import {
  EVENT_FORM,
  isEventPart,
  locateEventPart,
  type KnownSender,
} from "../verify/presets/event-locations.ts"
import { isOneLine, locate } from "./extraction.ts"

/**
 * The value that a Filter or Router decides by, in UTF-8: a header's, or the text of a JSON string, number (as spelled) or
 * boolean. undefined: the event has none, or an empty one; null, objects and arrays are none. Not a copy.
 */
export type ValueOf = (event: Event) => Uint8Array | undefined

/** For messages and the reference. */
export const EVENT_VALUE_FORM = `json:/pointer (RFC 6901), header:Name, or ${EVENT_FORM}`

/** Whether it is of the form, for an option's test: which provider knows `event:type` is another question. */
export const isEventValue = (text: string): boolean =>
  isEventPart(text) || (isOneLine(text) && parseLocation(text) !== undefined)

/**
 * Parses `json:/type`, `header:X-Event` or `event:type`; undefined if malformed.
 *
 * @param sender the pipeline's, `context.sender`
 * @throws WrongValue for a part of the event that the provider is not known to have: see `checkExtractions`
 */
export const parseEventValue = (text: string, sender: KnownSender | undefined): ValueOf | undefined =>
  parseLocation(locateEventPart(text, sender))

const parseLocation = (text: string): ValueOf | undefined =>
  locate(text, { header: (value) => (value === "" ? undefined : Buffer.from(value)), json: scalar })

const NULL = 0x6e

function scalar(raw: Uint8Array): Uint8Array | undefined {
  const [first] = raw
  if (first === undefined || first === OPEN_BRACE || first === OPEN_BRACKET || first === NULL)
    return undefined
  if (first !== QUOTE) return raw
  if (raw.length === 2) return undefined
  return raw.includes(BACKSLASH) ? Buffer.from(toText(raw)) : raw.subarray(1, -1)
}
