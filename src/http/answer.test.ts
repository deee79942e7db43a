import { expect, test } from "bun:test"
import { PublishError } from "../errors.ts"
import { Rejected } from "../event.ts"
import { problem, refusalOf } from "./answer.ts"

test.each([
  ["unavailable", 503, true],
  ["deadline", 503, true],
  ["closing", 503, true],
  ["log_io", 503, true],
  ["refused", 503, true],
  ["record_too_large", 413, false],
] as const)("a record that is not acknowledged for %s is answered %d", (code, status, again) => {
  const rejected = refusalOf(new PublishError(code, "broker-7: no leader"))
  expect([rejected.status, rejected.reason, rejected.logDetail]).toEqual([
    status,
    code,
    "broker-7: no leader",
  ])
  expect(rejected.headers?.["Retry-After"] !== undefined).toBe(again)
  expect(rejected.detail).not.toContain("broker")
})

test("a status without a phrase of its own still has a title", async () => {
  expect(await problem(new Rejected(418, "teapot", "No coffee."), true).json()).toEqual({
    type: "about:blank",
    title: "Client Error",
    status: 418,
    detail: "No coffee.",
  })
})
