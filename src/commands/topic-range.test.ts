import { expect, setSystemTime, test } from "bun:test"
import { parseTopicRange } from "./topic-range.ts"

test.each([
  ["kafka/payments", "kafka", "payments", {}],
  ["kafka/payments@10..20", "kafka", "payments", { fromOffset: 10, untilOffset: 20 }],
  ["payments@10..", undefined, "payments", { fromOffset: 10 }],
  ["kafka/payments@10..", "kafka", "payments", { fromOffset: 10 }],
  ["a/b/payments@..20", "a/b", "payments", { untilOffset: 20 }],
  [
    "kafka/payments@2026-11-22T14:00Z..2026-11-22T15:00:00.5+01:00",
    "kafka",
    "payments",
    { sinceMs: Date.UTC(2026, 10, 22, 14), untilMs: Date.UTC(2026, 10, 22, 14, 0, 0, 500) },
  ],
])("%s is a range of a topic", (text, connection, topic, range) => {
  expect(parseTopicRange(text)).toEqual({ connection, topic, range, text })
})

test("a duration is back from now", () => {
  const nowMs = Date.UTC(2026, 10, 22, 14)
  setSystemTime(nowMs)
  const { range } = parseTopicRange("kafka/payments@1h..90s")
  setSystemTime()
  expect(range).toEqual({ sinceMs: nowMs - 3_600_000, untilMs: nowMs - 90_000 })
})

test.each([
  ["pay ments", "Expected CONNECTION/TOPIC"],
  ["kafka/", "Expected CONNECTION/TOPIC"],
  ["/payments", "Expected CONNECTION/TOPIC"],
  ["kafka/payments@", "Expected a range"],
  ["kafka/payments@..", "Expected a range"],
  ["kafka/payments@10", "Expected a range"],
  ["kafka/payments@1..2..3", "Expected a range"],
  ["kafka/payments@10..1h", "two offsets or of two times"],
  ["kafka/payments@tomorrow..", "Expected a duration"],
])("%s is none", (text, message) => {
  expect(() => parseTopicRange(text)).toThrow(message)
})
