import { expect, setSystemTime, test } from "bun:test"
import { parseOffset, parseTimeFlag } from "./flag-values.ts"

test.each([
  ["90s", "2026-11-22T13:58:30.000Z"],
  ["1h", "2026-11-22T13:00:00.000Z"],
  ["1.5d", "2026-11-21T02:00:00.000Z"],
  ["2026-11-22", new Date(2026, 10, 22).toISOString()],
  ["2026-11-22T14:00", new Date(2026, 10, 22, 14).toISOString()],
  ["2026-11-22T14:00:07.5Z", "2026-11-22T14:00:07.500Z"],
  ["2026-11-22T14:00:00+05:30", "2026-11-22T08:30:00.000Z"],
])("%s is %s", (text, time) => {
  setSystemTime(new Date("2026-11-22T14:00:00Z"))
  try {
    expect(new Date(parseTimeFlag(text)).toISOString()).toBe(time)
  } finally {
    setSystemTime()
  }
})

test.each(["", "yesterday", "1", "2026-13-01", "2026-11-22 14:00", "-1h", "14:00"])(
  "%p is no time",
  (text) => {
    expect(() => parseTimeFlag(text)).toThrow("Expected a duration such as 90s")
  },
)

test("offsets are of every partition, or of one", () => {
  expect(parseOffset("3:42", parseOffset("7"))).toEqual([
    { partition: undefined, offset: 7 },
    { partition: 3, offset: 42 },
  ])
  for (const text of ["", "-1", "1:", ":1", "a", "1:2:3"])
    expect(() => parseOffset(text)).toThrow("Expected an offset")
})
