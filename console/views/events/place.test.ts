import { expect, test } from "bun:test"
import { parseRoute } from "../../router.ts"
import { hrefOfPlace, placeOf } from "./place.ts"

const nothing = {
  record: undefined,
  filter: "",
  range: { range: undefined, since: undefined, until: undefined },
}
const source = { connection: "log", topic: "payments" }

test.each([
  ["#/events", { ...nothing, source: undefined }],
  ["#/events/log/payments", { ...nothing, source }],
  [
    "#/events/log/payments/0/42",
    { ...nothing, source, record: { topic: "payments", partition: 0, offset: 42 } },
  ],
  ["#/events/log", { ...nothing, source: { connection: "log", topic: undefined } }],
  [
    "#/events/log/payments/0/42?all=true",
    {
      ...nothing,
      source: { connection: "log", topic: undefined },
      record: { topic: "payments", partition: 0, offset: 42 },
    },
  ],
  [
    "#/events/log/payments?where=%2Ftype+%3D+a*&range=15m",
    { source, record: undefined, filter: "/type = a*", range: { ...nothing.range, range: "15m" } },
  ],
  ["#/events/log/a%2Fb", { ...nothing, source: { connection: "log", topic: "a/b" } }],
] as const)("%s is a place, and its link", (href, place) => {
  expect(placeOf(parseRoute(href))).toEqual(place)
  expect(hrefOfPlace(place)).toBe(href)
})

test("an offset that is none opens no record", () =>
  expect(placeOf(parseRoute("#/events/log/payments/0/x")).record).toBeUndefined())
