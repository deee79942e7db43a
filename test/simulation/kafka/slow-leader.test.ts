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
  const { told, failures } = await simulate({ scenarios: [SCENARIO], isTold: true })
  expect(failures).toEqual([])
  const rejected = [...told[0]!.history.matchAll(/^ *(\d+)\.\d+ .* rejected: deadline$/gm)]
  const atMs = rejected.map(([, ms]) => Number(ms))
  // whether it has become faster shows only by a record that it is sent, once nothing was answered for a while
  const apartMs = atMs.slice(1).map((ms, at) => ms - atMs[at]!)
  expect(atMs.length).toBeGreaterThan(0)
  expect(Math.min(...apartMs)).toBeGreaterThan(EVERY_MS)
})

test("a leader that is throttled to half of what comes acknowledges two of five events at least", async () => {
  const bytesPerMs = 1000
  const bytes = 4000
  const keys = 40
  // twice as much, evenly
  const everyMs = (keys * bytes) / (2 * bytesPerMs)
  const count = 200
  const steps = Array.from({ length: keys }, (_, key) => ({
    ...events,
    atMs: 500 + key,
    key,
    bytes,
    count,
    everyMs,
    timeoutMs: 5000,
  }))
  const scenario: KafkaScenario = {
    ...SCENARIO,
    cluster: { ...SCENARIO.cluster, brokers: 1 },
    service: { compression: "none", prepared: 1 },
    topics: [{ name: "topic", partitions: 16 }],
    steps: [{ atMs: 0, do: "late acknowledgements", ms: 5, overlap: false, bytesPerMs }, ...steps],
    healMs: 25_000,
  }
  // the audit has all of them acknowledged, which can't be
  const { told, failures } = await simulate({ scenarios: [scenario], isTold: true, failures: 0 })
  const history = [...told, ...failures][0]!.history
  const acknowledged = history.match(/ acknowledged: /g)!.length
  expect(acknowledged / (keys * count)).toBeGreaterThan(0.4)
})
