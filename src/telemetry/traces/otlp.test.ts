import { expect, test } from "bun:test"
import { readRejectedSpans } from "./otlp.ts"

test.each([
  ["nothing", [], 0],
  ["an empty partial success", [0x0a, 0], 0],
  ["three, with a reason", [0x0a, 5, 0x08, 3, 0x12, 1, 0x78], 3],
  ["as many as two groups have", [0x0a, 3, 0x08, 0xac, 0x02], 300],
  ["fields of later versions", [0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4, 0x0a, 2, 0x08, 1], 1],
  ["a page in HTML", [...Buffer.from("<html>")], undefined],
  ["a message that is cut", [0x0a, 5, 0x08], undefined],
  ["a number that is cut", [0x0a, 2, 0x08, 0x80], undefined],
  ["a number that does not end", [0x08, ...Array.from({ length: 12 }, () => 0x80), 0], undefined],
  ["another type of the field", [0x08, 1], undefined],
] as const)("of an answer with %s", (_, answer, rejected) => {
  expect(readRejectedSpans(Uint8Array.from(answer))).toBe(rejected!)
})
