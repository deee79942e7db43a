import type { PublishError, PublishFault } from "../errors.ts"
import { Rejected } from "./outcome.ts"

const NOT_STORED = "The event can't be stored now; send it again later."
const NOT_VERIFIED = "The event can't be verified now; send it again later."
const SHUTTING_DOWN = "The service is shutting down; send the event again."
const SAME_ID_PENDING = "Another event with the same id is being stored; send this one again."

/** Every 503: the detail for the sender, and the seconds of Retry-After. */
export const UNAVAILABLE = {
  in_flight_full: ["Too many events in progress; send this one again.", 1],
  draining: [SHUTTING_DOWN, 1],
  addresses_unknown: ["The addresses that may send are not known yet; send the event again later.", 5],
  unavailable: [NOT_STORED, 5],
  deadline: ["The event was not stored in time; send it again.", 5],
  closing: [SHUTTING_DOWN, 1],
  log_io: [NOT_STORED, 30],
  // after an operator's fix the same event succeeds: the sender should keep it
  refused: [NOT_STORED, 60],
  schema_unavailable: [NOT_STORED, 5],
  deduplicator_unavailable: [NOT_STORED, 5],
  duplicate_pending: [SAME_ID_PENDING, 5],
  signed_ids_unavailable: [NOT_VERIFIED, 5],
  signed_id_pending: [SAME_ID_PENDING, 5],
  unverified_keys_unavailable: [NOT_VERIFIED, 5],
  sns_not_confirmed: ["The subscription could not be confirmed now.", 5],
} as const satisfies { readonly [reason: string]: readonly [detail: string, retryAfterS: number] } & {
  readonly [fault in Exclude<PublishFault, "record_too_large">]: unknown
}

/**
 * The refusal of what can't be accepted now: 503 with Retry-After.
 *
 * @param logDetail for the log, never sent
 */
export function unavailable(reason: keyof typeof UNAVAILABLE, logDetail?: string): Rejected {
  const [detail, retryAfterS] = UNAVAILABLE[reason]
  return new Rejected(503, reason, detail, { logDetail, headers: { "Retry-After": String(retryAfterS) } })
}

const PUBLISH_FAULTS = ["unavailable", "deadline", "closing", "log_io", "refused"] as const

/** Every refusal for a record that the broker did not acknowledge. */
export const UNPUBLISHED: readonly Rejected[] = [
  ...PUBLISH_FAULTS.map((fault) => unavailable(fault)),
  unpublished({ code: "record_too_large", message: "" }),
]

/** The refusal for a record that the broker did not acknowledge. */
export function unpublished({ code, message }: Pick<PublishError, "code" | "message">): Rejected {
  return code === "record_too_large"
    ? new Rejected(413, code, "The event is too large to be stored.", { logDetail: message })
    : unavailable(code, message)
}
