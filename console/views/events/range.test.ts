import { expect, test } from "bun:test"
import { boundsOf } from "./range.ts"

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
