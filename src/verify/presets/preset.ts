import type { Family } from "../schemes/family.ts"
import type { HmacForm } from "../schemes/hmac-form.ts"
import type { SchemeForm } from "../schemes/scheme-form.ts"
import { tokenIn } from "../schemes/token.ts"
import type { EventLocations } from "./event-locations.ts"

/** A provider whose scheme is known. */
export interface Preset {
  /** As the provider writes its name. */
  readonly title: string
  /** As data, where it has a form that custom providers can have, too. */
  readonly scheme: SchemeForm | Family
  /** The provider's documentation or library that the row follows. */
  readonly docs: string
  /** As documented. Where the signed body has an id, an unsigned header is none. */
  readonly event?: EventLocations
  /** Pitfalls, in a sentence. */
  readonly note?: string | undefined
  /** Whether the tolerance is Hookline's choice, as the provider documents none. */
  readonly toleranceIsOurs?: true
  /** What its bodies are; absent: JSON objects. */
  readonly body?: BodyForm
}

/** Options of the Decoder, as a file would spell them. */
export interface BodyForm {
  readonly format: "json" | "form" | "multipart" | "text" | "auto"
  readonly unwrap?: string
  readonly json_fields?: string
  readonly lists?: "refuse" | "wrap" | "split"
  /** Where the provider's batches may have more items than the Decoder's default. */
  readonly max_list_items?: string
  /** The provider's documentation of its bodies, of presets. */
  readonly docs?: string
}

export const NO_TOLERANCE =
  "The provider documents no tolerance and may deliver late, so the time is unchecked unless tolerance is set."

/** `t=<time>,v1=<signature>` in one header, of `{timestamp}.{body}`: Stripe's scheme, which others share. */
export const likeStripe = (header: string, toleranceMs: number, own: Partial<HmacForm> = {}): SchemeForm => ({
  hmac: {
    header,
    list: ",",
    prefix: "v1=",
    payload: "{timestamp}.{body}",
    time: { item: "t=", unit: "s" },
    toleranceMs,
    ...own,
  },
})

/** A token that its user chooses. */
export const HEADER_OR_QUERY = tokenIn("Authorization", {
  requires: [
    ["secret", "header"],
    ["secret", "query"],
  ],
})
