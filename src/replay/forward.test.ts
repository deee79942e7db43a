import { expect, test } from "bun:test"
import type { LogReader } from "../brokers/broker.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { Forward } from "./forward.ts"
import { positionsInMemory } from "./position-tables.ts"
import type { ReplayTarget, Sent } from "./target.ts"

/** A target that does not answer. */
function silent(): ReplayTarget {
  const { promise, resolve } = Promise.withResolvers<Sent>()
  return {
    window: { records: 1, bytes: 1000 },
    send: () => promise,
    problem: () => "no answer",
    stop: () => resolve("stopped"),
  }
}

test("a log that does not answer is asked once for records that retention is about to delete", async () => {
  const retention = { ms: 200, bytes: Number.POSITIVE_INFINITY, held: new Map() }
  const log = Object.assign(new MemoryLog(), { retention: async () => retention })
  await log.publish({ topic: "t", key: undefined, value: Buffer.from("a"), headers: [], timestampMs: 1 })
  const stop = new AbortController()
  const answered = Promise.withResolvers<LogReader>()
  const asked = Promise.withResolvers<void>()
  let noted = Promise.withResolvers<void>()
  const warned = Promise.withResolvers<string>()
  let opened = 0
  const forward = new Forward({
    about: { connection: "log", topic: "t" },
    store: positionsInMemory(),
    target: silent(),
    open() {
      if (opened++ === 0) return Promise.resolve(log)
      asked.resolve()
      return answered.promise
    },
    onRefusal: "skip",
    sinceMs: 0,
    signal: stop.signal,
    began: () => {},
    // each half a second, in which retention would be looked at 50 times
    waiting: () => noted.resolve(),
    warn: warned.resolve,
  })
  const running = forward.run()
  await asked.promise
  noted = Promise.withResolvers()
  await noted.promise
  expect(opened).toBe(2)
  answered.resolve(log)
  expect(await warned.promise).toContain("t[0]@0")
  stop.abort()
  await running
})

test("a log that keeps all is forwarded on, though records wait for a long time", async () => {
  const log = new MemoryLog()
  await log.publish({ topic: "t", key: undefined, value: Buffer.from("a"), headers: [], timestampMs: 1 })
  const stop = new AbortController()
  const asked = Promise.withResolvers<void>()
  let noted = Promise.withResolvers<void>()
  let opened = 0
  const forward = new Forward({
    about: { connection: "log", topic: "t" },
    store: positionsInMemory(),
    target: silent(),
    open() {
      // for what retention keeps
      if (opened++ === 1) asked.resolve()
      return Promise.resolve(log)
    },
    onRefusal: "skip",
    sinceMs: 0,
    signal: stop.signal,
    began: () => {},
    waiting: () => noted.resolve(),
    warn: () => {},
  })
  let hasEnded = false
  const running = forward.run().finally(() => (hasEnded = true))
  await asked.promise
  noted = Promise.withResolvers()
  await Promise.race([noted.promise, running])
  expect(hasEnded).toBe(false)
  stop.abort()
  await running
})
