import type { Coverage } from "../schemes/family.ts"
import { HEADER_NAME } from "../../headers.ts"

/**
 * `header:Name`, or `json:/pointer` into the event's body: into the element of a list that is split. Where a provider's
 * versions have it in different places, all of them: the first that an event has counts.
 */
export type EventLocation = string | readonly string[]

/** Where a provider's events have what is known of each. */
export interface EventLocations {
  /** Equal for redeliveries of an event, different for different events. */
  readonly id?: EventLocation | undefined
  readonly type?: EventLocation | undefined
  /** When it happened; seconds or milliseconds since 1970, or RFC 3339. */
  readonly time?: EventLocation | undefined
  /** The account, shop, repository or the like in which it happened. */
  readonly source?: EventLocation | undefined
  /** Names of further request headers that say something of the event, or of how to read it: the API's version. */
  readonly headers?: readonly string[] | undefined
}

export const EVENT_PARTS = ["id", "type", "time", "source"] as const
export type EventPart = (typeof EVENT_PARTS)[number]

/** The places of a part; none: it is not known. */
export const placesOf = (event: EventLocations, part: EventPart): readonly string[] =>
  [event[part] ?? []].flat()

/** The place of the id, where it is in the body; undefined: it is elsewhere, or not known. */
export const idInBody = (event: EventLocations): string | undefined =>
  placesOf(event, "id").find((place) => place.startsWith("json:"))

/** The name in `header:Name`. */
export const headerNameIn = (text: string): string | undefined => HEADER_LOCATION.exec(text)?.[1]

const HEADER_LOCATION = new RegExp(`^header:(${HEADER_NAME})$`)

/**
 * Names of the request headers that belong to an event, each once, as the provider spells them: those of its parts, then
 * the further ones. `isSigned` tells of each whether the signature covers it.
 */
export function eventHeaders(event: EventLocations): readonly string[] {
  const names = [
    ...EVENT_PARTS.flatMap((part) => placesOf(event, part).flatMap((it) => headerNameIn(it) ?? [])),
    ...(event.headers ?? []),
  ]
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()]
}

/**
 * Whether a captured request can't be sent with another value there: a header, the path, the query or a member of the body.
 *
 * @param location `header:Name`, `path`, `path:1`, `query:name` or `json:/pointer`
 */
export function isSigned(location: string, { body, url = false, headers = [] }: Coverage): boolean {
  if (location.startsWith("json:")) return body === "whole" || body === "form" || body === "part"
  if (/^(?:path|query)/.test(location)) return url
  return headers.includes(location.slice("header:".length).toLowerCase())
}

/**
 * Whether a captured request, whose content is signed, can be sent again with another id. A token signs nothing: who has
 * it needs no captured request.
 */
export const isForgeable = (id: string, covers: Coverage): boolean =>
  !isSigned(id, covers) && (covers.body !== "none" || covers.id)
