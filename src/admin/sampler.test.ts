import { expect, test } from "bun:test"
import { Sampler } from "./sampler.ts"
import type { Readiness } from "./service.ts"

test("an outage begins when it is sampled, though nobody looks", async () => {
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
