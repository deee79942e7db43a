import { expect, test } from "bun:test"
import { corpusOf } from "./corpus.ts"
import { TARGETS } from "./targets.ts"

test.each(Object.entries(TARGETS))(
  "%s: what has to hold does for every input that is kept",
  async (_, make) => {
    const target = await make()
    const inputs = corpusOf(target)
    expect(inputs.length).toBeGreaterThan(5)
    for (const input of inputs) await target.check(input)
  },
)
