import { WrongValue } from "../config/options/option-types.ts"
import {
  EVENT_PARTS,
  type EventLocations,
  type EventPart,
  placesOf,
  type SenderFacts,
} from "../verify/senders.ts"
import type { Coverage } from "../verify/verification.ts"

/** What a pipeline's components may know of the provider whose events they get. */
export interface KnownSender {
  /** The provider as configured. */
  readonly name: string
  readonly event: EventLocations
  /** What its documentation says of its deliveries. */
  readonly facts?: SenderFacts
  /** What its signatures cover with the Verifier's settings; undefined: these are invalid. */
  readonly covers: Coverage | undefined
  /** What its bodies are, as `format` of the Decoder has it; undefined: JSON, or it is not known. */
  readonly format?: string | undefined
  /** Whether the signed time is compared with the clock. */
  readonly checksTime?: boolean
}

/** For messages and the reference. */
export const EVENT_FORM = "event:id, event:type, event:time or event:source, where the preset knows it"

/** Whether it is `event:id`, `event:type`, `event:time` or `event:source`. */
export const isEventPart = (text: string): text is `event:${EventPart}` =>
  /^event:(?:id|type|time|source)$/.test(text)

/**
 * `event:id` and the like as the places where the provider has it: `json:/id`. Another text is returned as it is.
 *
 * @param sender the provider of the pipeline's Verifier; undefined: there is none
 * @throws WrongValue where it is unknown
 */
export function locateEventPart(text: string, sender: KnownSender | undefined): readonly string[] {
  if (!isEventPart(text)) return [text]
  const part = text.slice("event:".length) as EventPart
  if (sender === undefined)
    throw new WrongValue(
      `${text} needs a Verifier with a provider, and the pipeline has none; write header:Name or json:/pointer`,
    )
  const found = placesOf(sender.event, part)
  if (found.length > 0) return found
  const known = EVENT_PARTS.filter((it) => sender.event[it] !== undefined).map((it) => `event:${it}`)
  const those = known.length === 0 ? "" : `; known: ${known.join(", ")}`
  throw new WrongValue(
    `${text} has no known place in events of ${sender.name}; write header:Name or json:/pointer${those}`,
  )
}
