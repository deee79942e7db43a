import { expect, test } from "bun:test"
import type { WorkerStatus } from "./fleet.ts"
import { readinessOf } from "./readiness.ts"

const up = (worker: number, kafka?: string, store?: string): WorkerStatus => {
  return {
    worker,
    slot: "up",
    stalledMs: undefined,
    state: {
      connections: [
        ["log", undefined],
        ["kafka", kafka],
      ],
      stores: [["redis", store]],
    },
  }
}
const away = (worker: number, slot: WorkerStatus["slot"]): WorkerStatus => ({
  worker,
  slot,
  stalledMs: undefined,
  state: undefined,
})
const stalled = (worker: number): WorkerStatus => ({ ...away(worker, "up"), stalledMs: 2250 })

const told = (workers: WorkerStatus[], log?: string, isDraining = false) => {
  const {
    connections,
    stores,
    workers: each,
    ...rest
  } = readinessOf({
    workers,
    hosted: [["log", log]],
    spools: [],
    isDraining,
  })
  return { ...rest, connections: new Map(connections), stores: new Map(stores), workers: new Map(each) }
}

test("all workers take events", () => {
  const { state, connections, stores, workers } = told([up(1), up(2)])
  expect(state).toBe("ready")
  expect([...connections]).toEqual([
    ["log", undefined],
    ["kafka", undefined],
  ])
  expect([...stores]).toEqual([["redis", undefined]])
  expect([...workers]).toEqual([
    ["1", undefined],
    ["2", undefined],
  ])
})

test("as long as one takes events the whole is ready, and what the others have is told", () => {
  const { state, connections, workers } = told([up(1, "no leader"), up(2), away(3, "waiting"), away(4, "up")])
  expect(state).toBe("ready")
  expect(connections.get("kafka")).toBe("worker 1: no leader")
  expect([...workers.values()]).toEqual([
    undefined,
    undefined,
    "ended, to be started again",
    "does not answer",
  ])
})

test.each([
  ["all have the same problem, which is told once", [up(1, "no leader"), up(2, "no leader")], undefined],
  ["each has another one", [up(1, "no leader"), up(2, undefined, "no store")], undefined],
  ["none is up", [away(1, "starting"), away(2, "waiting")], undefined],
  ["what is open in the supervisor can't be used", [up(1), up(2)], "no space left"],
])("not ready: %s", (_, workers, log) => {
  const { state, connections } = told(workers, log)
  expect(state).toBe("not ready")
  expect(connections.get("log")).toBe(log)
  if (workers.every(({ state }) => state?.connections[1]?.[1] === "no leader"))
    expect(connections.get("kafka")).toBe("no leader")
})

test("while a worker stalls the whole is not ready: new connections go on being given to it", () => {
  const { state, workers } = told([up(1), stalled(2)])
  expect(state).toBe("not ready")
  expect(workers.get("2")).toBe("stalled: has not answered for 2.3 s")
})

test("while it drains it is not ready, whatever the workers say", () => {
  expect(told([up(1), up(2)], undefined, true).state).toBe("draining")
})
