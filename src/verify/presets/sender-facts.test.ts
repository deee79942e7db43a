import { expect, test } from "bun:test"
import { PRESETS } from "./presets.ts"
import { describeAfter, describeDelivery, inBytes, inTime } from "./delivery-facts.ts"
import { FACTS, factsOf } from "./sender-facts.ts"

const sources = Object.entries(FACTS).flatMap(([name, rows]) =>
  rows.map((row) => [name, row.source] as const),
)

test.each(sources)("%s: its facts are of a preset, and of the page %s", (name, source) => {
  expect(PRESETS).toHaveProperty([name])
  expect(new URL(source).protocol).toBe("https:")
})

test("a fact has one source", () => {
  for (const [name, rows] of Object.entries(FACTS)) {
    const keys = rows.flatMap((row) => Object.keys(row).filter((key) => key !== "source"))
    expect([name, keys.toSorted()]).toEqual([name, [...new Set(keys)].toSorted()])
  }
})

test("the facts of a preset are those of all its pages; a custom provider and a kind have none", () => {
  expect(factsOf("github")).toMatchObject({ repeatsForMs: 0, largestBytes: 26_214_400 })
  expect(factsOf("hmac")).toEqual({})
  expect(factsOf("acme")).toEqual({})
})

test("times and sizes are in the largest unit that is exact", () => {
  expect([800, 3000, 600_000, 90_000, 14_400_000, 86_400_000, 259_200_000].map(inTime)).toEqual([
    "800 ms",
    "3 s",
    "10 min",
    "90 s",
    "4 h",
    "24 h",
    "3 days",
  ])
  expect([1_000_000, 262_144, 26_214_400].map(inBytes)).toEqual(["1 MB", "256 KiB", "25 MiB"])
})

test("the statuses that a sender repeats are written so that they can be told apart", () => {
  for (const name of Object.keys(FACTS)) {
    const { repeatsOn = "5xx" } = factsOf(name)
    expect([name, repeatsOn.replace(/^all but /, "")]).toEqual([
      name,
      expect.stringMatching(/^\d(?:\d\d|xx)(?:(?:, \d(?:\d\d|xx))* and \d(?:\d\d|xx))?$/),
    ])
  }
})

test("what a sender does after a status follows from what it repeats", () => {
  expect(describeAfter(401, { repeatsForMs: 0 })).toEqual(["does not send it again by itself"])
  expect(describeAfter(401, { repeats: "up to 5 times", repeatsOn: "408, 429 and 5xx" })).toEqual([
    "does not send it again: it does so on 408, 429 and 5xx only",
  ])
  expect(describeAfter(503, { repeats: "up to 5 times", repeatsOn: "408, 429 and 5xx" })).toEqual([
    "sends again up to 5 times",
  ])
  expect(describeAfter(406, { repeatsForMs: 28_800_000, repeatsOn: "all but 406" })).toEqual([
    "does not send it again",
  ])
  expect(
    describeAfter(503, { repeatsForMs: 28_800_000, repeatsOn: "all but 406", disables: "ends it" }),
  ).toEqual(["sends again for 8 h", "ends it"])
  expect(describeAfter(503, { repeatsForMs: 0, repeatsMore: "with retries enabled there" })).toEqual([
    "does not send it again by itself, except with retries enabled there",
  ])
  expect(describeAfter(503, { repeats: "3 times", repeatsMore: "with a policy of your own" })).toEqual([
    "sends again 3 times, more often with a policy of your own",
  ])
  expect(describeAfter(503, { repeatsOn: "5xx" })).toEqual(["sends it again"])
  expect(describeAfter(503, { waitsMs: 3000 })).toEqual([])
})

test("a sender's deliveries are described in clauses that continue its name", () => {
  expect(describeDelivery({ waitsMs: 3000, takesOnly: 200, repeatsForMs: 0, keepsOrder: false })).toEqual([
    "waits 3 s for an answer",
    "counts only 200 as delivered",
    "does not send again by itself",
    "the order is not kept",
  ])
  expect(describeDelivery({ repeatsMore: "with a policy of your own", keepsOrder: true })).toEqual([
    "sends again more often with a policy of your own",
    "keeps the order",
  ])
  expect(describeDelivery({ keepsOrder: "of a resource's events" })).toEqual([
    "keeps the order of a resource's events",
  ])
})
