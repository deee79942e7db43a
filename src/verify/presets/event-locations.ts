import type { Coverage } from "../schemes/family.ts"
import { WrongValue } from "../../config/options/option-types.ts"

/**
 * Where a provider's events have their id, type and time, each as `header:Name` or `json:/pointer` into the event's body:
 * into the element of a list that is split.
 */
export interface EventLocations {
  /** Equal for redeliveries of an event, different for different events. */
  readonly id?: string | undefined
  readonly type?: string | undefined
  /** When it happened; seconds or milliseconds since 1970, or RFC 3339. */
  readonly time?: string | undefined
}

/** What a pipeline's components may know of the provider whose events they get. */
export interface KnownSender {
  /** The provider as configured. */
  readonly name: string
  readonly event: EventLocations
  /** What its signatures cover with the Verifier's settings; undefined: these are invalid. */
  readonly covers: Coverage | undefined
  /** Whether the signed time is compared with the clock. */
  readonly checksTime?: boolean
}

/**
 * Whether a captured request can't be sent with another value there: a header or a member of the body.
 *
 * @param location `header:Name` or `json:/pointer`
 */
export function isSigned(location: string, { body, headers = [] }: Coverage): boolean {
  if (location.startsWith("json:")) return body === "whole" || body === "form" || body === "part"
  return headers.includes(location.slice("header:".length).toLowerCase())
}

/**
 * Whether a captured request, whose content is signed, can be sent again with another id. A token signs nothing: who has
 * it needs no captured request.
 */
export const isForgeable = (id: string, covers: Coverage): boolean =>
  !isSigned(id, covers) && (covers.body !== "none" || covers.id)

/** For messages and the reference. */
export const EVENT_FORM = "event:id, event:type or event:time, where the preset knows it"

/** Whether it is `event:id`, `event:type` or `event:time`. */
export const isEventPart = (text: string): text is `event:${keyof EventLocations}` =>
  /^event:(?:id|type|time)$/.test(text)

/**
 * `event:id`, `event:type` and `event:time` as the location where the provider has it: `json:/id`. Another text is returned
 * as it is.
 *
 * @param sender the provider of the pipeline's Verifier; undefined: there is none
 * @throws WrongValue where it is unknown
 */
export function locateEventPart(text: string, sender: KnownSender | undefined): string {
  if (!isEventPart(text)) return text
  const part = text.slice("event:".length) as keyof EventLocations
  if (sender === undefined)
    throw new WrongValue(
      `${text} needs a Verifier with a provider, and the pipeline has none; write header:Name or json:/pointer`,
    )
  const found = sender.event[part]
  if (found !== undefined) return found
  const known = Object.keys(sender.event).map((it) => `event:${it}`)
  const those = known.length === 0 ? "" : `; known: ${known.join(", ")}`
  throw new WrongValue(
    `${text} has no known place in events of ${sender.name}; write header:Name or json:/pointer${those}`,
  )
}
