import { expect, test } from "bun:test"
import { pino } from "pino"
import { AdaptiveTimeout } from "./adaptive-timeout.ts"
import { CONNECT_TIMEOUT_MS } from "./timeouts.ts"
import type { BrokerSocket } from "./broker-socket.ts"
import { ClusterMetadata } from "./metadata.ts"

const [METADATA, API_VERSIONS, INIT_PRODUCER_ID] = [3, 18, 22]
const ENDPOINT = { host: "127.0.0.1", port: 9092 }

/** What a broker answers, by API. */
const ANSWERS: { readonly [api: number]: object } = {
  [API_VERSIONS]: {
    apiKeys: [METADATA, INIT_PRODUCER_ID].map((apiKey) => ({ apiKey, minVersion: 0, maxVersion: 12 })),
  },
  [METADATA]: { brokers: [{ nodeId: 1, ...ENDPOINT }], topics: [], clusterId: "c", controllerId: 1 },
  [INIT_PRODUCER_ID]: { producerId: 7n },
}

const connect = (): Promise<BrokerSocket> => {
  const send: BrokerSocket["send"] = (api, _version, _encode, _decode, _, __, callback) =>
    callback(null, ANSWERS[api] as never)
  return Promise.resolve({ isOpen: true, send, close() {} } as unknown as BrokerSocket)
}

test("an error of this program while metadata is applied is logged once with its stack, and retried with back-off", async () => {
  const logged: { readonly msg: string; readonly err?: { readonly stack: string } }[] = []
  const log = pino({}, { write: (line) => void logged.push(JSON.parse(line)) })
  const client = {
    clientId: "test",
    bootstrap: [ENDPOINT],
    connectTimeout: new AdaptiveTimeout(CONNECT_TIMEOUT_MS),
    hasAnswered: false,
    connect,
  }
  const attemptsMs: number[] = []
  const { promise: applied, resolve } = Promise.withResolvers<void>()
  const readiness: (true | string)[] = []
  const cluster = new ClusterMetadata(
    client,
    log,
    { batch() {}, retried() {}, connected() {}, incident() {} },
    () => [],
    () => {
      attemptsMs.push(performance.now())
      readiness.push(cluster.ready())
      if (attemptsMs.length < 4) throw new TypeError("topics is not iterable")
      queueMicrotask(resolve)
      return 1000
    },
  )
  cluster.refresh()
  await applied
  const problem = "metadata not applied: TypeError: topics is not iterable"
  expect(readiness).toEqual([true, problem, problem, problem])
  expect(cluster.ready()).toBe(true)
  const pausesMs = attemptsMs.slice(1).map((ms, index) => Math.round(ms - attemptsMs[index]!))
  expect(pausesMs[0]).toBeGreaterThanOrEqual(99)
  expect(pausesMs[1]).toBeGreaterThanOrEqual(199)
  expect(pausesMs[2]).toBeGreaterThanOrEqual(399)
  const faults = logged.filter(({ msg }) => msg === "unhandled error while applying metadata; retrying")
  expect(faults).toHaveLength(1)
  expect(faults[0]!.err!.stack).toContain("metadata.test.ts")
  cluster.close()
})
