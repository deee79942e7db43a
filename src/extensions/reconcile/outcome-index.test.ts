import { expect, test } from "bun:test"
import type { Handler } from "../../pipeline/compose.ts"
import { Accepted } from "../../pipeline/outcome.ts"
import { indexed } from "./outcome-index.ts"

test("a pipeline whose outcomes are indexed has all of its handler", () => {
  const handler: Handler = {
    admit: undefined,
    methods: [],
    handle: () => Promise.resolve(new Accepted({ partition: 0, offset: 0 })),
    verifiesSenders: true,
    quickCheck: { needsBody: true, isSigned: () => true },
    response: undefined,
    outcomes: [],
  }
  const { handle: _, ...rest } = handler
  expect(indexed(handler, "/id", { add() {} })).toMatchObject(rest)
})
