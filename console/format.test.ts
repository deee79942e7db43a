import { expect, test } from "bun:test"
import { fromLocalTime, toLocalTime } from "./format.ts"

test.each([0, 1795373652123, 1782864000000])("a time of a form is to the millisecond: %d", (ms) => {
  expect(toLocalTime(ms)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/)
  expect(fromLocalTime(toLocalTime(ms))).toBe(ms)
})

test("a field without a time is empty", () => {
  expect(toLocalTime(undefined)).toBe("")
  expect(toLocalTime(8.65e15)).toBe("")
  expect(fromLocalTime("")).toBeNaN()
})
