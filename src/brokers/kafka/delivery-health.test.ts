import { expect, test } from "bun:test"
import { DeliveryHealth } from "./delivery-health.ts"
import { errorActionOf } from "./error-actions.ts"

const NOT_ENOUGH_REPLICAS = 19
const NOT_AUTHORIZED = 29
const TOO_LARGE = 10
const WRONG_CLOCK = 32

/** What becomes of a partition whose batches are answered so, at these times in ms. */
function after(
  answers: readonly (readonly [ms: number, errorCode: number | "lost" | "late"])[],
): DeliveryHealth {
  const health = new DeliveryHealth()
  for (const [ms, answer] of answers) {
    if (answer === 0) health.acknowledged(ms)
    else if (answer === "lost") health.lost(ms)
    else if (answer === "late") health.late(ms)
    else health.rejected(errorActionOf(answer), answer, ms)
  }
  return health
}

test.each([
  ["nothing was sent", [], 0, undefined],
  ["one batch was refused for now, as while a leader moves", [[0, NOT_ENOUGH_REPLICAS]], 100, undefined],
  [
    "batches were refused for 1.9 s",
    [
      [0, 19],
      [1900, 19],
    ],
    1900,
    undefined,
  ],
  [
    "batches were refused for 2 s",
    [
      [0, 19],
      [2000, 19],
    ],
    2000,
    "error 19 (NOT_ENOUGH_REPLICAS)",
  ],
  [
    "requests were lost for 2 s",
    [
      [0, "lost"],
      [2000, "lost"],
    ],
    2000,
    "no answer",
  ],
  ["it refuses for good", [[0, NOT_AUTHORIZED]], 1, "error 29 (TOPIC_AUTHORIZATION_FAILED)"],
  ["it refuses every timestamp", [[0, WRONG_CLOCK]], 1, "error 32 (INVALID_TIMESTAMP)"],
  [
    "it refuses a record",
    [
      [0, TOO_LARGE],
      [3000, TOO_LARGE],
    ],
    3000,
    undefined,
  ],
  ["a batch was late", [[0, "late"]], 1, "no answer within delivery_timeout"],
  [
    "what is late has another reason",
    [
      [0, 19],
      [1000, "late"],
    ],
    1000,
    "error 19 (NOT_ENOUGH_REPLICAS)",
  ],
  [
    "it acknowledged since",
    [
      [0, "late"],
      [1, 0],
    ],
    1,
    undefined,
  ],
  [
    "it failed again, after an acknowledgement",
    [
      [0, 19],
      [2000, 19],
      [2001, 0],
      [2002, 19],
    ],
    2100,
    undefined,
  ],
  ["the last failure is 10 s ago", [[0, "late"]], 10_000, "no answer within delivery_timeout"],
  ["the last failure is more than 10 s ago", [[0, "late"]], 10_001, undefined],
  [
    "one failure now, one long ago",
    [
      [0, 19],
      [60_000, 19],
    ],
    60_000,
    undefined,
  ],
] as const)("%s", (_, answers, nowMs, reason) => {
  expect(after(answers).failure(nowMs)?.reason).toBe(reason!)
})
