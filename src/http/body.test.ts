import { expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import { InFlightBudget } from "./admission/budget.ts"
import { decodeBody } from "./body.ts"
import { decoderFor } from "./content-coding.ts"

const gunzip = decoderFor("gzip")
const BODY = Buffer.from('{"event":"push"}')

test.each([
  ["fits", 1000, 1000, BODY.length],
  ["is larger than the limit of a body", 1000, 4, "body_too_large"],
  ["finds the budget used up", 100, 1000, "in_flight_full"],
  ["finds the budget lowered by a reload below what is held", 50, 1000, "in_flight_full"],
] as const)("a compressed body that %s", (_what, budgetBytes, maxBytes, expected) => {
  const budget = new InFlightBudget(100)
  budget.enter().reserve(100)
  budget.maxBytes = budgetBytes
  const decoded = decodeBody(gzipSync(BODY), gunzip as never, budget.enter(), maxBytes)
  expect<string | number>(typeof decoded === "string" ? decoded : decoded.length).toBe(expected)
})
