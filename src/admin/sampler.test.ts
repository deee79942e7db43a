import { expect, test } from "bun:test"
import { Sampler } from "./sampler.ts"
import type { Readiness } from "./service.ts"

test("a problem begins when it is sampled, though nobody asks", async () => {
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
  const service = {
    activity: async () => ({ process: "", events: [], bounds: [], latencies: [], notes: [] }),
    readiness: () => readiness,
    configuration: () => ({ loadedAtMs: 0, problem: undefined }),
    pipelines: () => [],
    forwards: () => [],
    extensions: () => [],
  }
  const sampler = new Sampler(service, (error) => failed.push(error))
  try {
    sampler.start()
    await sampler.sample()
    const sampledMs = Date.now()
    const { problems } = sampler
    const since = problems.since("connection_down:kafka")
    expect(since).toBeLessThanOrEqual(sampledMs)
    expect(problems.since("connection_down:log")).toBeUndefined()
    await sampler.sample()
    expect(problems.since("connection_down:kafka")).toBe(since!)
    expect(problems.current()).toMatchObject([
      { id: "connection_down:kafka", connection: "kafka", severity: "error", until: null },
    ])
    expect(failed).toEqual([])
  } finally {
    sampler.close()
  }
})
