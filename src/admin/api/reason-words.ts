import { REFUSALS } from "../../http/answer.ts"
import type { UNAVAILABLE } from "../../pipeline/service-unavailable.ts"
import { REASON_WORDS } from "../../verify/verification.ts"

/** Every 503. */
const UNAVAILABLE_WORDS: { readonly [reason in keyof typeof UNAVAILABLE]: string } = {
  in_flight_full: "the requests in progress used up max_in_flight_bytes",
  draining: "the service was stopping",
  addresses_unknown: "the list of the sender's addresses could not be fetched yet",
  unavailable: "the broker was unavailable",
  deadline: "the broker did not acknowledge within delivery_timeout",
  closing: "the service was stopping",
  log_io: "the disk of the log or spool failed, or was full",
  refused: "the broker refused the record",
  schema_unavailable: "its topic has no usable schema, or the registry was unavailable",
  deduplicator_unavailable: "the Deduplicator's store was unavailable",
  duplicate_pending: "another event with its id was being published",
  signed_ids_unavailable: "the store of signed ids was unavailable",
  signed_id_pending: "another event with its signed id was being published",
  unverified_keys_unavailable: "the provider's keys could not be fetched",
  sns_not_confirmed: "the SNS subscription could not be confirmed",
}

/** Reasons of processors and handshakes. */
const WORDS: { readonly [reason: string]: string | undefined } = {
  ...UNAVAILABLE_WORDS,
  accepted: "published",
  rate_limited: "more events came than its rate_limit allows",
  unverified_rate_limited: "more requests that can't be verified came than unverified_rate_limit allows",
  duplicate: "an event with its id was published before",
  replayed: "its signed id was seen before",
  filtered: "the Filter drops it",
  routed_to_drop: "the Router drops it",
  empty_list: "the list has no items",
  too_many_items: "the list has more items than the Decoder takes",
  too_many_fields: "the form has more fields than the Decoder takes",
  invalid_form: "the form is malformed",
  duplicate_field: "a form field is there twice",
  invalid_json_field: "a field that is to hold JSON does not",
  form_body: "the body is a form, and only its parameters are signed",
  empty_body: "the body is empty",
  invalid_utf8: "the body is not UTF-8",
  invalid_charset: "the text is not of its charset",
  unknown_charset: "the charset is unknown",
  invalid_json: "the body is not JSON",
  not_an_object: "the body is JSON, but not an object",
  schema_mismatch: "the body does not fit the schema",
  duplicate_member: REASON_WORDS.duplicate_member,
  wrong_verify_token: "the handshake has another verify token",
  origin_not_allowed: "the handshake comes from an origin that is not allowed",
  secret_known: "a secret was offered in a handshake, and one is configured",
  sns_wrong_url: "the SNS confirmation names a URL that is not Amazon's",
  record_too_large: "the broker accepts no record of that size",
}

/** What a reason in logs and metrics means, in words. */
export function wordsOf(reason: string): string {
  const verification = /^unverified_(.+)$/.exec(reason)?.[1] as keyof typeof REASON_WORDS | undefined
  const words =
    WORDS[reason] ??
    (verification && REASON_WORDS[verification]) ??
    (REFUSALS as { readonly [reason: string]: { readonly detail: string } | undefined })[reason]?.detail
  return words ?? reason.replaceAll("_", " ")
}
