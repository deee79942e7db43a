import { expect, test } from "bun:test"
import * as fc from "fast-check"
import { OldestFirst } from "./oldest-first.ts"

test("the oldest comes first, whatever is added, moved and taken out", () => {
  const step = fc.oneof(
    fc.record({ add: fc.nat(50) }),
    fc.record({ moveBy: fc.nat(20) }),
    fc.constant({ takeOut: true } as const),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const heap = new OldestFirst<number>()
      const times = new Map<number, number>()
      for (const [at, one] of steps.entries()) {
        if ("add" in one) {
          heap.add(at, one.add)
          times.set(at, one.add)
        } else if (heap.oldest !== undefined) {
          const ms = "moveBy" in one ? heap.oldestMs + one.moveBy : Number.POSITIVE_INFINITY
          if (ms === Number.POSITIVE_INFINITY) times.delete(heap.oldest)
          else times.set(heap.oldest, ms)
          heap.moveOldest(ms)
        }
        expect(heap.oldestMs).toBe(Math.min(...times.values()))
        expect(times.get(heap.oldest!) ?? Number.POSITIVE_INFINITY).toBe(heap.oldestMs)
      }
    }),
  )
})
