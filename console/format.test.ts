import { expect, test } from "bun:test"
import { formatShare, fromLocalTime, toLocalTime } from "./format.ts"

test.each([0, 1795373652123, 1782864000000])("a time of a form is to the millisecond: %d", (ms) => {
  expect(toLocalTime(ms)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/)
  expect(fromLocalTime(toLocalTime(ms))).toBe(ms)
})

test("a field without a time is empty", () => {
  expect(toLocalTime(undefined)).toBe("")
  expect(toLocalTime(8.65e15)).toBe("")
  expect(fromLocalTime("")).toBeNaN()
})

test("shares are percentages, small ones with a digit, and never 0 % where there is one", () => {
  expect([0, 0.0004, 0.004, 0.31, 1].map(formatShare)).toEqual(["0 %", "<0.1 %", "0.4 %", "31 %", "100 %"])
})
