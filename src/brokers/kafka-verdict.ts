import { protocolErrors } from "@platformatic/kafka"

/**
 * What a broker's answer to a batch means for it (https://kafka.apache.org/41/design/protocol/#error-codes):
 *
 * - `stored`: it is durably in the log
 * - `refused_for_now`: it was not appended; the records may be sent again, in another batch as well
 * - `unsure`: it may have been appended and may yet be lost; only the same batch with the same sequence may be sent again.
 *   The partition's leader or its replicas are not there: that ends, so there is no end to the tries
 * - `out_of_sequence`: it was not appended, and the partition wants a new producer epoch
 * - `corrupt`: it was not appended, since it was damaged on its way or has a record that the topic does not take
 * - `unfit`: a record of it can't be taken
 * - `refused`: no record of it is taken, and a retry does not help
 * - `unexpected`: the code says nothing about records. The same batch is sent again, a bounded number of times
 */
export type Verdict =
  | "stored"
  | "refused_for_now"
  | "unsure"
  | "out_of_sequence"
  | "corrupt"
  | "unfit"
  | "refused"
  | "unexpected"

/**
 * NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION and KAFKA_STORAGE_ERROR are `unsure`: a leader that loses its
 * leadership while it waits for its followers answers so too, for batches that may survive. What is not named is
 * `unexpected`: the codes of group, transaction, fetch, authentication and administrative requests, -1
 * (UNKNOWN_SERVER_ERROR), and those that this table does not know yet.
 */
const VERDICTS: { readonly [code: number]: Verdict } = {
  0: "stored",
  2: "corrupt", // CORRUPT_MESSAGE
  3: "unsure", // UNKNOWN_TOPIC_OR_PARTITION
  5: "unsure", // LEADER_NOT_AVAILABLE
  6: "unsure", // NOT_LEADER_OR_FOLLOWER
  7: "unsure", // REQUEST_TIMED_OUT
  9: "unsure", // REPLICA_NOT_AVAILABLE
  10: "unfit", // MESSAGE_TOO_LARGE
  13: "unsure", // NETWORK_EXCEPTION
  17: "refused", // INVALID_TOPIC_EXCEPTION
  18: "unfit", // RECORD_LIST_TOO_LARGE
  19: "refused_for_now", // NOT_ENOUGH_REPLICAS
  20: "unsure", // NOT_ENOUGH_REPLICAS_AFTER_APPEND
  21: "refused", // INVALID_REQUIRED_ACKS
  29: "refused", // TOPIC_AUTHORIZATION_FAILED
  31: "refused", // CLUSTER_AUTHORIZATION_FAILED
  32: "unfit", // INVALID_TIMESTAMP
  43: "unfit", // UNSUPPORTED_FOR_MESSAGE_FORMAT
  44: "unfit", // POLICY_VIOLATION
  45: "out_of_sequence", // OUT_OF_ORDER_SEQUENCE_NUMBER
  46: "stored", // DUPLICATE_SEQUENCE_NUMBER
  47: "out_of_sequence", // INVALID_PRODUCER_EPOCH
  49: "out_of_sequence", // INVALID_PRODUCER_ID_MAPPING
  56: "unsure", // KAFKA_STORAGE_ERROR
  59: "out_of_sequence", // UNKNOWN_PRODUCER_ID
  72: "unsure", // LISTENER_NOT_FOUND
  74: "unsure", // FENCED_LEADER_EPOCH
  75: "unsure", // UNKNOWN_LEADER_EPOCH
  76: "refused", // UNSUPPORTED_COMPRESSION_TYPE
  80: "unsure", // PREFERRED_LEADER_NOT_AVAILABLE
  83: "unsure", // ELIGIBLE_LEADERS_NOT_AVAILABLE
  87: "unfit", // INVALID_RECORD
  89: "refused_for_now", // THROTTLING_QUOTA_EXCEEDED
  90: "out_of_sequence", // PRODUCER_FENCED
  100: "unsure", // UNKNOWN_TOPIC_ID
  103: "unsure", // INCONSISTENT_TOPIC_ID
}

export function verdictOf(errorCode: number): Verdict {
  return VERDICTS[errorCode] ?? "unexpected"
}

/** An error code as a person looks it up: `42 (INVALID_REQUEST)`. */
export function nameOf(errorCode: number): string {
  const name = NAMES.get(errorCode)
  return name === undefined ? `${errorCode}` : `${errorCode} (${name})`
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(protocolErrors).map(([name, { code }]) => [code, name]),
)

/** Error codes that are acted on by name. */
export const UNKNOWN_TOPIC = 3
export const MESSAGE_TOO_LARGE = 10
export const INVALID_TOPIC = 17
export const RECORD_LIST_TOO_LARGE = 18
export const TOPIC_NOT_ALLOWED = 29
export const CLUSTER_NOT_ALLOWED = 31
export const INVALID_TIMESTAMP = 32
export const TOPIC_EXISTS = 36
export const DUPLICATE_SEQUENCE = 46
