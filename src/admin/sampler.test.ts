import { expect, test } from "bun:test"
import { Outages, Sampler } from "./sampler.ts"
import type { Readiness } from "./service.ts"

test("an outage begins when it is sampled, though nobody asks", async () => {
  const failed: unknown[] = []
  const readiness: Readiness = {
    state: "not ready",
    pipelines: [],
    connections: [
      ["kafka", "no broker answers"],
      ["log", undefined],
    ],
    impaired: [],
    stores: [],
    spools: [],
  }
  const sampler = new Sampler({ activity: async () => [], readiness: () => readiness }, (error) =>
    failed.push(error),
  )
  try {
    await sampler.sample()
    const sampledMs = Date.now()
    expect(sampler.outages.since("kafka")).toBeLessThanOrEqual(sampledMs)
    expect(sampler.outages.since("log")).toBeUndefined()
    const since = sampler.outages.since("kafka")
    await sampler.sample()
    expect(sampler.outages.since("kafka")).toBe(since!)
    expect(failed).toEqual([])
  } finally {
    sampler.close()
  }
})

test("an outage lasts from the first sampling that finds it to the first that does not", () => {
  const outages = new Outages()
  const see = (kafka: string | undefined, atMs: number): (number | undefined)[] => {
    outages.see([...new Map([["kafka", kafka]]), ["log", undefined]], atMs)
    return [outages.since("kafka"), outages.since("log")]
  }
  expect(see(undefined, 1000)).toEqual([undefined, undefined])
  expect(see("no broker answers", 2000)).toEqual([2000, undefined])
  expect(see("another reason", 3000)).toEqual([2000, undefined])
  expect(see(undefined, 4000)).toEqual([undefined, undefined])
  expect(see("no broker answers", 5000)).toEqual([5000, undefined])
  // a reload has removed it
  outages.see([], 6000)
  expect(outages.since("kafka")).toBeUndefined()
})
