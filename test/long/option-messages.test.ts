import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { CORPUS, optionMessages } from "../support/option-messages.ts"

test("messages on options are those of the corpus, which test/support/option-messages.ts writes", () => {
  const corpus = readFileSync(CORPUS, "utf8").trimEnd().split("\n")
  const found = optionMessages()
  expect({
    missing: corpus.filter((it) => !found.includes(it)),
    unexpected: found.filter((it) => !corpus.includes(it)),
  }).toEqual({ missing: [], unexpected: [] })
})
