import { expect, test } from "bun:test"
import { inSlices } from "../../clock/slices.ts"
import { History } from "../history.ts"
import { PipelineHistory, STEP_MS, stepOf } from "../pipeline-history.ts"
import { ProblemList } from "../problems/problem-list.ts"
import type { PipelineInfo } from "../service.ts"
import type { PipelineState } from "./shapes.ts"
import { pipelineStates } from "./pipeline-state.ts"

const NOW = 10_000 * STEP_MS
const SPAN = { fromMs: NOW, untilMs: NOW }
const pipeline = { id: "orders", connection: "kafka", topic: "orders" } as PipelineInfo
const missing = "topic orders does not exist; create it"

/** The state of a pipeline that has counted this, while Kafka reports these problems of topics. */
function stateOf(counts: { readonly [outcome: string]: number }, impaired: readonly string[] = []) {
  const history = new PipelineHistory(stepOf(NOW), 0)
  for (const [outcome, count] of Object.entries(counts)) history.count(outcome, "deadline", count, SPAN)
  const readiness = { pipelines: [], impaired: [["kafka", impaired] as const] }
  return pipelineStates({ extensions: () => [] }, readiness, new ProblemList(), NOW)(pipeline, history)
}

test("a pipeline whose topic can't be published to is down, with or without events, until one is accepted", () => {
  const down = { name: "down", words: missing, since: null } as const
  expect(stateOf({}, [missing])).toEqual(down)
  expect(stateOf({ rejected: 3 }, ["topic others: partition 0 has no leader", missing])).toEqual(down)
  expect(stateOf({ accepted: 1 }, ["topic orders: partition 1 has no leader"]).name).toBe("receiving")
  expect(stateOf({}, ["topic orders-eu does not exist; create it", "of topic orders"]).name).toBe("idle")
})

test("a pipeline is refusing from a refused signature until an event is verified, and scanners keep none refusing", async () => {
  const history = new History(0)
  let nowMs = NOW
  const counts = new Map<string, number>()
  const stateAfter = async (outcome: string, reason: string, afterMs: number): Promise<PipelineState> => {
    nowMs += afterMs
    const series = `${outcome}\n${reason}`
    counts.set(series, (counts.get(series) ?? 0) + 1)
    const events = [...counts].map(([key, count]) => {
      const [of = "", why = ""] = key.split("\n")
      return { pipeline: "orders", outcome: of, reason: why, count }
    })
    const sample = { process: "a", events, bounds: [], latencies: [], notes: [] }
    await inSlices(history.take([sample], nowMs, nowMs))
    const states = pipelineStates(
      { extensions: () => [] },
      { pipelines: [], impaired: [] },
      new ProblemList(),
      nowMs,
    )
    return states(pipeline, history.of("orders"))
  }
  const HOUR = 3_600_000
  await inSlices(
    history.take([{ process: "a", events: [], bounds: [], latencies: [], notes: [] }], nowMs, nowMs),
  )
  expect(await stateAfter("accepted", "", 1000)).toMatchObject({ name: "receiving" })
  expect(await stateAfter("rejected", "unverified_missing_header", HOUR)).toMatchObject({ name: "idle" })
  const words = "no secret or key matches"
  const refusedMs = nowMs + 1000
  expect(await stateAfter("rejected", "unverified_no_match", 1000)).toMatchObject({ name: "refusing", words })
  expect(await stateAfter("rejected", "unverified_malformed", 7 * HOUR)).toEqual({
    name: "refusing",
    words,
    since: refusedMs,
  })
  expect(await stateAfter("accepted", "", 1000)).toMatchObject({ name: "receiving" })
})

test("a pipeline refuses when at least half of its requests are refused", () => {
  const refusing = { name: "refusing", words: "the broker did not acknowledge within delivery_timeout" }
  expect(stateOf({ accepted: 1, dropped: 2, rejected: 3 })).toMatchObject(refusing)
  expect(stateOf({ accepted: 2, dropped: 2, rejected: 3 }).name).toBe("receiving")
  expect(stateOf({ dropped: 1 }).name).toBe("receiving")
})
