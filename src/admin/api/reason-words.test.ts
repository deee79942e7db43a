import { expect, test } from "bun:test"
import { UNAVAILABLE } from "../../pipeline/service-unavailable.ts"
import { wordsOf } from "./reason-words.ts"

test("every 503 has words for an operator, not those for the sender", () => {
  for (const [reason, [detail]] of Object.entries(UNAVAILABLE)) {
    expect(wordsOf(reason)).not.toBe(detail)
    expect(wordsOf(reason)).not.toBe(reason.replaceAll("_", " "))
  }
})
