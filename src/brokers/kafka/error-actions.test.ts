import { expect, test } from "bun:test"
import { protocolErrors } from "./client-library.ts"
import { errorNameOf, errorActionOf } from "./error-actions.ts"

const codes = (action: string): string[] =>
  Object.entries(protocolErrors)
    .filter(([, { code }]) => errorActionOf(code) === action)
    .map(([name]) => name)

test("codes are written by number and name", () => {
  expect([errorNameOf(42), errorNameOf(-1), errorNameOf(9999)]).toEqual([
    "42 (INVALID_REQUEST)",
    "-1 (UNKNOWN_SERVER_ERROR)",
    "9999",
  ])
})

test("only errors of a leader or replicas that are away are retried without bound", () => {
  expect([...codes("retry_batch"), ...codes("retry_records")].toSorted()).toEqual([
    "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    "FENCED_LEADER_EPOCH",
    "INCONSISTENT_TOPIC_ID",
    "KAFKA_STORAGE_ERROR",
    "LEADER_NOT_AVAILABLE",
    "LISTENER_NOT_FOUND",
    "NETWORK_EXCEPTION",
    "NOT_ENOUGH_REPLICAS",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "NOT_LEADER_OR_FOLLOWER",
    "PREFERRED_LEADER_NOT_AVAILABLE",
    "REPLICA_NOT_AVAILABLE",
    "REQUEST_TIMED_OUT",
    "THROTTLING_QUOTA_EXCEEDED",
    "UNKNOWN_LEADER_EPOCH",
    "UNKNOWN_TOPIC_ID",
    "UNKNOWN_TOPIC_OR_PARTITION",
  ])
})

test("no code but these two is an acknowledgement, and unknown codes are none", () => {
  expect(codes("stored")).toEqual(["NONE", "DUPLICATE_SEQUENCE_NUMBER"])
  for (const code of [-2, 128, 9999]) expect(errorActionOf(code)).toBe("retry_bounded")
})
