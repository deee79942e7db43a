import { expect, test } from "bun:test"
import type { WorkerStatus } from "./restarting-worker.ts"
import { readinessOfWorkers } from "./readiness.ts"

const up = (worker: number, kafka?: string, store?: string, topics: string[] = []): WorkerStatus => {
  const pipelines = {
    ...(kafka !== undefined && { kafka }),
    ...(store !== undefined && { deduplicating: store }),
  }
  const isWhole = kafka === undefined && store === undefined
  return {
    worker,
    process: "up",
    stalledMs: undefined,
    readyz: {
      status: isWhole ? (topics.length === 0 ? "ready" : "partly ready") : "not ready",
      connections: { other: "ready", kafka: kafka ?? "ready" },
      ...(topics.length > 0 && { impaired: { kafka: topics.map((it) => `topic ${it}: no leader`) } }),
      deduplicator_stores: { redis: store ?? "ready" },
      ...(!isWhole && { pipelines }),
    },
  }
}
const away = (worker: number, process: WorkerStatus["process"]): WorkerStatus => ({
  worker,
  process,
  stalledMs: undefined,
  readyz: undefined,
})
const stalled = (worker: number): WorkerStatus => ({ ...away(worker, "up"), stalledMs: 2250 })

const readiness = (workers: WorkerStatus[], isDraining = false) => {
  const { connections, stores, workers: each, ...rest } = readinessOfWorkers(workers, isDraining)
  return { ...rest, connections: new Map(connections), stores: new Map(stores), workers: new Map(each) }
}

test("a worker that accepts no connections takes no events, and says why", () => {
  const full = (worker: number): WorkerStatus => {
    const status = up(worker)
    const listeners = { all: "max_connections reached" }
    return { ...status, readyz: { ...status.readyz!, status: "not ready", listeners } }
  }
  const some = readiness([up(1), full(2)])
  expect(some.state).toBe("partly ready")
  expect(some.workers.get("2")).toContain("max_connections")
  expect(readiness([full(1), full(2)]).state).toBe("not ready")
})

test("all workers take events", () => {
  const { state, connections, stores, workers } = readiness([up(1), up(2)])
  expect(state).toBe("ready")
  expect([...connections]).toEqual([
    ["other", undefined],
    ["kafka", undefined],
  ])
  expect([...stores]).toEqual([["redis", undefined]])
  expect([...workers]).toEqual([
    ["1", undefined],
    ["2", undefined],
  ])
})

test("as long as one takes events the whole is partly ready, and what the others have is listed", () => {
  const { state, connections, workers } = readiness([
    up(1, "no leader"),
    up(2),
    away(3, "waiting"),
    away(4, "up"),
  ])
  expect(state).toBe("partly ready")
  expect(connections.get("kafka")).toBe("worker 1: no leader")
  expect([...workers.values()]).toEqual([undefined, undefined, "ended, to be restarted", "does not answer"])
})

test("a pipeline that one worker has no connection for is named with the worker; one that none has, without", () => {
  const pipelinesOf = (workers: WorkerStatus[]) => [...readinessOfWorkers(workers, false).pipelines]
  expect(pipelinesOf([up(1, "no leader"), up(2)])).toEqual([["kafka", "worker 1: no leader"]])
  expect(pipelinesOf([up(1, "no leader"), up(2, "no leader")])).toEqual([["kafka", "no leader"]])
})

test.each([
  ["all have the same problem, which is listed once", [up(1, "no leader"), up(2, "no leader")]],
  ["each has another one", [up(1, "no leader"), up(2, undefined, "no store")]],
  ["none is up", [away(1, "starting"), away(2, "waiting")]],
])("not ready: %s", (_, workers) => {
  const { state, connections } = readiness(workers)
  expect(state).toBe("not ready")
  if (workers.every(({ readyz }) => readyz?.connections["kafka"] === "no leader"))
    expect(connections.get("kafka")).toBe("no leader")
})

test("one that is away and does not listen leaves its part to the others", () => {
  expect(readiness([up(1), away(2, "waiting"), away(3, "starting")]).state).toBe("ready")
})

test("topics that workers can't publish to make it partly ready, and are listed once", () => {
  const { state, impaired } = readiness([
    up(1, undefined, undefined, ["a", "b"]),
    up(2, undefined, undefined, ["b"]),
  ])
  expect(state).toBe("partly ready")
  expect(new Map(impaired).get("kafka")).toEqual(["topic a: no leader", "topic b: no leader"])
})

test("while a worker stalls the whole is not ready: it still gets new connections", () => {
  const { state, workers } = readiness([up(1), stalled(2)])
  expect(state).toBe("not ready")
  expect(workers.get("2")).toBe("stalled: has not answered for 2.3 s")
})

test("while it drains it is not ready, whatever the workers say", () => {
  expect(readiness([up(1), up(2)], true).state).toBe("draining")
})
