import { expect, test } from "bun:test"
import { endlessFrom } from "./follow.ts"

test.each([
  ["continues at its position", 5, 5, []],
  ["begins with the oldest record where others were deleted", 1, 2, [{ next: 1, first: 2, kind: "deleted" }]],
  ["begins anew where the topic ends before its position", 9, 2, [{ next: 9, first: 2, kind: "replaced" }]],
  ["waits at the end", 8, 8, []],
])("a forward %s", (_, next, first, gaps) => {
  const held = [
    { partition: 0, first: 2, end: 8 },
    { partition: 1, first: 0, end: 3 },
  ]
  expect(endlessFrom({ next: new Map([[0, next]]) }, held)).toEqual({
    ranges: [
      { partition: 0, first, end: Infinity },
      { partition: 1, first: 0, end: Infinity },
    ],
    gaps: gaps.map((gap) => ({ partition: 0, ...gap })) as never,
  })
})
