import { expect, test } from "bun:test"
import { boundsOf, fromInput, toInput } from "./range.ts"

const NOW = 1_800_000_000_000

test.each([
  [{}, { since: undefined, until: undefined }],
  [{ range: "15m" }, { since: NOW - 900_000, until: undefined }],
  [{ range: "unknown" }, { since: undefined, until: undefined }],
  [
    { range: "custom", since: "5", until: "7" },
    { since: 5, until: 7 },
  ],
  [
    { range: "custom", since: "x", until: "" },
    { since: undefined, until: undefined },
  ],
  [
    { range: "1h", since: "5" },
    { since: NOW - 3_600_000, until: undefined },
  ],
])("%j", (query, bounds) => expect(boundsOf(query, NOW)).toEqual(bounds))

test("a field for a time shows the local one, and gives back the same", () => {
  expect(fromInput(toInput(NOW))).toBe(String(NOW))
  expect(toInput(undefined)).toBe("")
  expect(fromInput("")).toBeUndefined()
})
