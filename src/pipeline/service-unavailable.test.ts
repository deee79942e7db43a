import { expect, test } from "bun:test"
import { PublishError } from "../errors.ts"
import { unpublished } from "./service-unavailable.ts"

test.each([
  ["unavailable", 503, true],
  ["deadline", 503, true],
  ["closing", 503, true],
  ["log_io", 503, true],
  ["refused", 503, true],
  ["record_too_large", 413, false],
] as const)("a record that is not acknowledged for %s is answered %d", (code, status, again) => {
  const rejected = unpublished(new PublishError(code, "broker-7: no leader"))
  expect([rejected.status, rejected.reason, rejected.logDetail]).toEqual([
    status,
    code,
    "broker-7: no leader",
  ])
  expect(rejected.headers?.["Retry-After"] !== undefined).toBe(again)
  expect(rejected.detail).not.toContain("broker")
})
