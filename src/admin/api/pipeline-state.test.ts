import { expect, test } from "bun:test"
import { PipelineHistory, STEP_MS, stepOf } from "../pipeline-history.ts"
import { ProblemList } from "../problems/problem-list.ts"
import type { PipelineInfo } from "../service.ts"
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

test("a pipeline refuses when at least half of its requests are refused", () => {
  const refusing = { name: "refusing", words: "the broker did not acknowledge within delivery_timeout" }
  expect(stateOf({ accepted: 1, dropped: 2, rejected: 3 })).toMatchObject(refusing)
  expect(stateOf({ accepted: 2, dropped: 2, rejected: 3 }).name).toBe("receiving")
  expect(stateOf({ dropped: 1 }).name).toBe("receiving")
})
