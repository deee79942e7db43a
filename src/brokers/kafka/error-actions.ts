import { protocolErrors } from "./client-library.ts"

/**
 * What to do with a batch after the broker's answer (https://kafka.apache.org/41/design/protocol/#error-codes):
 *
 * - `stored`: it is durably in the log
 * - `retry_records`: it was not appended; its records may be sent again, in other batches as well
 * - `retry_batch`: it may have been appended, and may yet be lost; only the same batch with the same sequence may be sent
 *   again. The leader or its replicas are away: that ends, so retries are unbounded
 * - `raise_epoch`: it was not appended, and the partition needs a new producer epoch
 * - `retry_then_isolate`: it was not appended: it was damaged in transit, or the topic does not accept one of its records
 * - `isolate`: one of its records is not taken
 * - `refuse`: none of its records is accepted, and a retry does not help
 * - `retry_bounded`: the error says nothing about the batch; it is sent again, a bounded number of times
 */
export type ErrorAction =
  | "stored"
  | "retry_records"
  | "retry_batch"
  | "raise_epoch"
  | "retry_then_isolate"
  | "isolate"
  | "refuse"
  | "retry_bounded"

/**
 * NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION and KAFKA_STORAGE_ERROR are `retry_batch`: a leader that loses its
 * leadership while it waits for its followers answers so too, for batches that may survive. What is not named is
 * `retry_bounded`: the codes of group, transaction, fetch, authentication and administrative requests, -1
 * (UNKNOWN_SERVER_ERROR), and those that this table does not know yet.
 */
const ERROR_ACTIONS: { readonly [code: number]: ErrorAction } = {
  0: "stored",
  2: "retry_then_isolate", // CORRUPT_MESSAGE
  3: "retry_batch", // UNKNOWN_TOPIC_OR_PARTITION
  5: "retry_batch", // LEADER_NOT_AVAILABLE
  6: "retry_batch", // NOT_LEADER_OR_FOLLOWER
  7: "retry_batch", // REQUEST_TIMED_OUT
  9: "retry_batch", // REPLICA_NOT_AVAILABLE
  10: "isolate", // MESSAGE_TOO_LARGE
  13: "retry_batch", // NETWORK_EXCEPTION
  17: "refuse", // INVALID_TOPIC_EXCEPTION
  18: "isolate", // RECORD_LIST_TOO_LARGE
  19: "retry_records", // NOT_ENOUGH_REPLICAS
  20: "retry_batch", // NOT_ENOUGH_REPLICAS_AFTER_APPEND
  21: "refuse", // INVALID_REQUIRED_ACKS
  29: "refuse", // TOPIC_AUTHORIZATION_FAILED
  31: "refuse", // CLUSTER_AUTHORIZATION_FAILED
  32: "isolate", // INVALID_TIMESTAMP
  43: "isolate", // UNSUPPORTED_FOR_MESSAGE_FORMAT
  44: "isolate", // POLICY_VIOLATION
  45: "raise_epoch", // OUT_OF_ORDER_SEQUENCE_NUMBER
  46: "stored", // DUPLICATE_SEQUENCE_NUMBER
  47: "raise_epoch", // INVALID_PRODUCER_EPOCH
  49: "raise_epoch", // INVALID_PRODUCER_ID_MAPPING
  56: "retry_batch", // KAFKA_STORAGE_ERROR
  59: "raise_epoch", // UNKNOWN_PRODUCER_ID
  72: "retry_batch", // LISTENER_NOT_FOUND
  74: "retry_batch", // FENCED_LEADER_EPOCH
  75: "retry_batch", // UNKNOWN_LEADER_EPOCH
  76: "refuse", // UNSUPPORTED_COMPRESSION_TYPE
  80: "retry_batch", // PREFERRED_LEADER_NOT_AVAILABLE
  83: "retry_batch", // ELIGIBLE_LEADERS_NOT_AVAILABLE
  87: "isolate", // INVALID_RECORD
  89: "retry_records", // THROTTLING_QUOTA_EXCEEDED
  90: "raise_epoch", // PRODUCER_FENCED
  100: "retry_batch", // UNKNOWN_TOPIC_ID
  103: "retry_batch", // INCONSISTENT_TOPIC_ID
}

export function errorActionOf(errorCode: number): ErrorAction {
  return ERROR_ACTIONS[errorCode] ?? "retry_bounded"
}

/** An error code as a person looks it up: `42 (INVALID_REQUEST)`. */
export function errorNameOf(errorCode: number): string {
  const name = NAMES.get(errorCode)
  return name === undefined ? `${errorCode}` : `${errorCode} (${name})`
}

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(protocolErrors).map(([name, { code }]) => [code, name]),
)
