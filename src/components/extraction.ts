import { WrongValue } from "../config/options/option-types.ts"
import { copyOf, parseRawPointer } from "../json/pointer.ts"
import type { Event } from "../pipeline/event.ts"
import {
  EVENT_FORM,
  isEventPart,
  locateEventPart,
  type KnownSender,
} from "../verify/presets/event-locations.ts"

/** Extracts a record's key or a header's value; undefined: the event has none. */
export type Extract = (event: Event) => Uint8Array | undefined

/** For messages and the reference. */
export const EXTRACTION_FORM = `json:/pointer (RFC 6901), header:Name, path, or ${EVENT_FORM}`

/** The name in `header:Name`: RFC 9110, 5.6.2, token. */
export const headerNameIn = (text: string): string | undefined =>
  /^header:([!#$%&'*+.^_`|~0-9A-Za-z-]+)$/.exec(text)?.[1]

const encoder = new TextEncoder()

/** Whether it is of the form of an extraction, for an option's test: which provider knows `event:id` is another question. */
export const isExtraction = (text: string): boolean =>
  isEventPart(text) || (isOneLine(text) && parseLocation(text) !== undefined)

/** A pointer may contain line ends, but one of several lines is the file's next key, indented. */
export const isOneLine = (text: string): boolean => !text.includes("\n")

/**
 * Parses `json:/id`, `header:X-Request-Id`, `path` or `event:id`; undefined if malformed.
 *
 * @param sender the pipeline's, `context.sender`
 * @throws WrongValue for a part of the event that the provider is not known to have: see `checkExtractions`
 */
export const parseExtraction = (text: string, sender: KnownSender | undefined): Extract | undefined =>
  parseLocation(locateEventPart(text, sender))

/** Reports the parts of the event that the provider is not known to have: a component's `checkInPipeline`. */
export function checkExtractions(
  texts: readonly string[],
  sender: KnownSender | undefined,
  report: (text: string) => void,
): void {
  for (const text of texts) {
    try {
      locateEventPart(text, sender)
    } catch (error) {
      if (!(error instanceof WrongValue)) throw error
      report(error.message)
    }
  }
}

/** How the value at a location is read; undefined: it counts as missing. */
interface Reading<T> {
  readonly header: (value: string, event: Event) => T | undefined
  /** @param raw of the body: a string in quotes, null */
  readonly json: (raw: Uint8Array) => T | undefined
}

/** Parses `header:Name` or `json:/pointer`; undefined: neither. */
export function locate<T>(
  text: string,
  { header, json }: Reading<T>,
): ((event: Event) => T | undefined) | undefined {
  const name = headerNameIn(text)
  if (name !== undefined)
    return (event) => {
      const value = event.request.headers.get(name)
      return value === null ? undefined : header(value, event)
    }
  const find = text.startsWith("json:") ? parseRawPointer(text.slice("json:".length)) : undefined
  return (
    find &&
    ((event) => {
      const raw = find(event.body)
      return raw && json(raw)
    })
  )
}

const parseLocation = (text: string): Extract | undefined =>
  text === "path"
    ? (event) => encoder.encode(event.request.path)
    : locate(text, { header: (value) => encoder.encode(value), json: copyOf })
