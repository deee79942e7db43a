import { expect, test } from "bun:test"
import { simulate } from "../workers.ts"
import type { KafkaScenario } from "./scenario.ts"

const TIMEOUT_MS = 1000
const EVERY_MS = 150
const COUNT = 60

const events = { do: "publish", topic: "topic", key: -1, bytes: 20 } as const

/** One of three leaders takes longer to acknowledge than records of a short `delivery_timeout` have. */
const SCENARIO: KafkaScenario = {
  simulation: "kafka",
  seed: 101,
  release: "4.1",
  cluster: {
    brokers: 3,
    minInsyncReplicas: 1,
    defaultPartitions: 1,
    autoCreate: false,
    maxMessageBytes: 1_048_588,
    maxRequestBytes: 104_857_600,
    replicaLagMs: 300,
    sessionMs: 1000,
  },
  service: { compression: "none", maxRequestBytes: 1_000_000, prepared: 1 },
  topics: [{ name: "topic", partitions: 3 }],
  steps: [
    { atMs: 0, do: "slow", broker: 1, forMs: 60_000, ms: 1500, direction: "toClient" },
    { atMs: 500, ...events, count: 20, everyMs: 100, timeoutMs: 5000 },
    { atMs: 3000, ...events, count: COUNT, everyMs: EVERY_MS, timeoutMs: TIMEOUT_MS },
  ],
  forgets: false,
  healMs: 15_000,
}

test("records without a key that a slow leader can't acknowledge in time go to one that can", async () => {
  const { told, failures } = await simulate({ simulation: "kafka", scenario: SCENARIO, isTold: true })
  expect(failures).toEqual([])
  const rejected = [...told[0]!.history.matchAll(/^ *(\d+)\.\d+ .* rejected: deadline$/gm)]
  const atMs = rejected.map(([, ms]) => Number(ms))
  // whether it has become faster shows only by a record that it is sent, once nothing was answered for a while
  const apartMs = atMs.slice(1).map((ms, at) => ms - atMs[at]!)
  expect(atMs.length).toBeGreaterThan(0)
  expect(Math.min(...apartMs)).toBeGreaterThan(EVERY_MS)
})
