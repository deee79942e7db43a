/**
 * What a broker's answer to a batch means for it (https://kafka.apache.org/41/design/protocol/#error-codes):
 *
 * - `stored`: it is durably in the log
 * - `refused_for_now`: it was not appended; the records may be sent again, in another batch as well
 * - `unsure`: it may have been appended and may yet be lost; only the same batch with the same sequence may be sent again
 * - `out_of_sequence`: it was not appended, and the partition wants a new producer epoch
 * - `unfit`: a record of it can't be taken
 * - `refused`: no record of it is taken, and a retry does not help
 */
export type Verdict = "stored" | "refused_for_now" | "unsure" | "out_of_sequence" | "unfit" | "refused"

/**
 * Codes that are checked before a batch is appended. NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION and
 * KAFKA_STORAGE_ERROR are not among them: a leader that loses its leadership while it waits for its followers answers
 * so too, for batches that may survive. Whatever is not named is `unsure`.
 */
const VERDICTS: { readonly [code: number]: Verdict } = {
  0: "stored",
  2: "refused_for_now", // CORRUPT_MESSAGE
  10: "unfit", // MESSAGE_TOO_LARGE
  17: "refused", // INVALID_TOPIC_EXCEPTION
  18: "unfit", // RECORD_LIST_TOO_LARGE
  19: "refused_for_now", // NOT_ENOUGH_REPLICAS
  29: "refused", // TOPIC_AUTHORIZATION_FAILED
  31: "refused", // CLUSTER_AUTHORIZATION_FAILED
  32: "unfit", // INVALID_TIMESTAMP
  43: "unfit", // UNSUPPORTED_FOR_MESSAGE_FORMAT
  44: "unfit", // POLICY_VIOLATION
  45: "out_of_sequence", // OUT_OF_ORDER_SEQUENCE_NUMBER
  46: "stored", // DUPLICATE_SEQUENCE_NUMBER
  47: "out_of_sequence", // INVALID_PRODUCER_EPOCH
  59: "out_of_sequence", // UNKNOWN_PRODUCER_ID
  76: "refused", // UNSUPPORTED_COMPRESSION_TYPE
  87: "unfit", // INVALID_RECORD
  89: "refused_for_now", // THROTTLING_QUOTA_EXCEEDED
  90: "out_of_sequence", // PRODUCER_FENCED
}

export function verdictOf(errorCode: number): Verdict {
  return VERDICTS[errorCode] ?? "unsure"
}

/** Error codes that are acted on by name. */
export const UNKNOWN_TOPIC = 3
export const MESSAGE_TOO_LARGE = 10
export const INVALID_TOPIC = 17
export const RECORD_LIST_TOO_LARGE = 18
export const TOPIC_NOT_ALLOWED = 29
export const CLUSTER_NOT_ALLOWED = 31
export const INVALID_TIMESTAMP = 32
