import { expect, test } from "bun:test"
import { componentContext } from "../../test/support/component-context.ts"
import { eventOf, IN_TIME } from "../../test/support/event.ts"
import { Dropped } from "../pipeline/outcome.ts"
import { filter } from "./filter.ts"

interface Given {
  readonly when?: string
  readonly keep?: readonly string[]
  readonly drop?: readonly string[]
}

function filtering({ when = "json:/type", keep, drop }: Given) {
  const warnings: unknown[] = []
  const context = componentContext()
  let unfiltered = 0
  const step = filter.create(
    { when, keep, drop },
    {
      ...context,
      metrics: { ...context.metrics, unfiltered: (count = 1) => void (unfiltered += count) },
      log: Object.assign(Object.create(context.log), {
        warn: (fields: unknown) => void warnings.push(fields),
      }),
    },
  )
  const of = (body: string, headers: { [name: string]: string } = {}): "kept" | string => {
    const event = eventOf(body, { headers })
    const result = step(event, IN_TIME)
    return result === event ? "kept" : (result as Dropped).reason
  }
  return { of, warnings, unfiltered: () => unfiltered }
}

test.each<[Given, body: string, "kept" | "filtered"]>([
  [{ keep: ["invoice.*", "customer.created"] }, '{"type":"invoice.paid"}', "kept"],
  [{ keep: ["invoice.*", "customer.created"] }, '{"type":"customer.created"}', "kept"],
  [{ keep: ["invoice.*", "customer.created"] }, '{"type":"customer.deleted"}', "filtered"],
  [{ keep: ["invoice.*"] }, '{"type":"Invoice.paid"}', "filtered"],
  [{ keep: ["invoice.*"] }, String.raw`{"type":"invo\u0069ce.paid"}`, "kept"],
  [{ drop: ["ping"] }, '{"type":"ping"}', "filtered"],
  [{ drop: ["ping"] }, '{"type":"ping2"}', "kept"],
  [{ drop: ["4*"] }, '{"type":42}', "filtered"],
  [{ drop: ["false"] }, '{"type":false}', "filtered"],
  [{ drop: ["b"] }, '{"type":"a","type":"b"}', "filtered"],
])("%p of %s: %s", (given, body, outcome) => {
  const { of, unfiltered } = filtering(given)
  expect(of(body)).toBe(outcome)
  expect(unfiltered()).toBe(0)
})

test.each([
  ["keep", { keep: ["*"] }],
  ["drop", { drop: ["*"] }],
])("with %s, an event without the value is kept and counted, and the log says so once", (_, given) => {
  const { of, warnings, unfiltered } = filtering(given)
  const without = [
    "{}",
    '{"type":null}',
    '{"type":""}',
    '{"type":{"a":1}}',
    '{"type":["invoice.paid"]}',
    '{"a":{"type":"x"}}',
  ]
  for (const body of without) expect([body, of(body)]).toEqual([body, "kept"])
  expect(unfiltered()).toBe(without.length)
  expect(warnings).toEqual([{ events: 1, when: "json:/type" }])
})

test("a header can decide", () => {
  const { of, unfiltered } = filtering({ when: "header:X-GitHub-Event", drop: ["ping"] })
  expect(of("{}", { "x-github-event": "ping" })).toBe("filtered")
  expect(of("{}", { "x-github-event": "push" })).toBe("kept")
  expect(of("{}")).toBe("kept")
  expect(unfiltered()).toBe(1)
})
