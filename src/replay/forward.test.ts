import { expect, test } from "bun:test"
import type { LogReader } from "../brokers/broker.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { steadyMs } from "../clock/clock.ts"
import { Forward, type ForwardOptions } from "./forward.ts"
import { positionsInMemory } from "./position-tables.ts"
import type { ReplayTarget, Sent } from "./target.ts"

/** A target that does not answer. */
function silent(): ReplayTarget {
  const { promise, resolve } = Promise.withResolvers<Sent>()
  return {
    window: { records: 2, bytes: 1000 },
    send: () => promise,
    problem: () => "no answer",
    stop: () => resolve("stopped"),
  }
}

/** A forward of a log with one record, to a target that does not answer. */
async function forwardOf(
  log: MemoryLog,
  options: Pick<ForwardOptions, "open"> & Partial<Pick<ForwardOptions, "warn">>,
) {
  await log.publish({ topic: "t", key: undefined, value: Buffer.from("a"), headers: [], timestampMs: 1 })
  const stop = new AbortController()
  let noted = Promise.withResolvers<void>()
  const forward = new Forward({
    about: { connection: "log", topic: "t" },
    store: positionsInMemory(),
    target: silent(),
    onRefusal: "skip",
    sinceMs: 0,
    signal: stop.signal,
    began: () => {},
    // each half a second
    waiting: () => noted.resolve(),
    warn: () => {},
    ...options,
  })
  const running = forward.run()
  return {
    forward,
    running,
    noted: () => (noted = Promise.withResolvers()).promise,
    async stop() {
      stop.abort()
      await running
    },
  }
}

test("a log that does not answer is asked only once which records retention is about to delete", async () => {
  const retention = { ms: 200, bytes: Number.POSITIVE_INFINITY, held: new Map() }
  const log = Object.assign(new MemoryLog(), { retention: async () => retention })
  const answered = Promise.withResolvers<LogReader>()
  const asked = Promise.withResolvers<void>()
  const warned = Promise.withResolvers<string>()
  let opened = 0
  const forward = await forwardOf(log, {
    open() {
      if (opened++ === 0) return Promise.resolve(log)
      asked.resolve()
      return answered.promise
    },
    warn: warned.resolve,
  })
  await asked.promise
  // meanwhile retention would be checked five times
  await forward.noted()
  expect(opened).toBe(2)
  answered.resolve(log)
  expect(await warned.promise).toContain("t[0]@0")
  await forward.stop()
})

test("a topic that keeps nothing is not asked without a pause while records wait", async () => {
  const asked = Promise.withResolvers<void>()
  const times: number[] = []
  const log = Object.assign(new MemoryLog(), {
    retention: async () => {
      if (times.push(steadyMs()) === 3) asked.resolve()
      return { ms: 0, bytes: Number.POSITIVE_INFINITY, held: new Map() }
    },
  })
  const forward = await forwardOf(log, { open: () => Promise.resolve(log) })
  await asked.promise
  expect(times[2]! - times[1]!).toBeGreaterThan(90)
  await forward.stop()
})

test("a forward of a log that keeps all records continues while they wait", async () => {
  const log = new MemoryLog()
  const asked = Promise.withResolvers<void>()
  let opened = 0
  const forward = await forwardOf(log, {
    open() {
      // to find out what retention keeps
      if (opened++ === 1) asked.resolve()
      return Promise.resolve(log)
    },
  })
  let hasEnded = false
  void forward.running.finally(() => (hasEnded = true))
  await asked.promise
  await Promise.race([forward.noted(), forward.running])
  expect(hasEnded).toBe(false)
  await forward.stop()
})

test("records that came since it began are waiting once they are read, and the others once they are counted", async () => {
  const log = new MemoryLog()
  const { forward, noted, stop } = await forwardOf(log, { open: () => Promise.resolve(log) })
  // when the log is found, and half a second later
  await noted()
  await noted()
  expect(forward.lag).toBe(1)
  for (let n = 0; n < 30; n++)
    await log.publish({ topic: "t", key: undefined, value: Buffer.from("a"), headers: [], timestampMs: 1 })
  await noted()
  expect(forward.lag).toBe(2)
  await forward.measure()
  expect(forward.lag).toBe(31)
  await stop()
})

test("records that were delivered before a refusal ended it are not waiting", async () => {
  const log = new MemoryLog()
  const publish = (value: string) =>
    log.publish({ topic: "t", key: undefined, value: Buffer.from(value), headers: [], timestampMs: 1 })
  for (const value of ["a", "b", "c", "refused", "d"]) await publish(value)
  const forward = new Forward({
    about: { connection: "log", topic: "t" },
    store: positionsInMemory(),
    target: {
      window: { records: 1, bytes: 1000 },
      send: async ({ value }) =>
        Buffer.from(value).toString() === "refused" ? { reason: "no" } : "delivered",
      problem: () => undefined,
      stop() {},
    },
    open: () => Promise.resolve(log),
    onRefusal: "stop",
    sinceMs: 0,
    signal: new AbortController().signal,
    began: () => {},
    waiting: () => {},
    warn: () => {},
  })
  expect(forward.run()).rejects.toThrow("no")
  await forward.run().catch(() => {})
  expect(forward.lag).toBe(2)
})
