import { expect, test } from "bun:test"
import type { LogReader } from "../brokers/broker.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { Forward } from "./forward.ts"
import { MemoryPositions } from "./group-positions.ts"
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
  const log = new MemoryLog()
  await log.publish({ topic: "t", key: undefined, value: Buffer.from("a"), headers: [], timestampMs: 1 })
  const stop = new AbortController()
  const answered = Promise.withResolvers<LogReader>()
  const noted = Promise.withResolvers<void>()
  const warned = Promise.withResolvers<string>()
  let opened = 0
  const forward = new Forward({
    about: { connection: "log", topic: "t" },
    store: new MemoryPositions(),
    target: silent(),
    open: () => (opened++ === 0 ? Promise.resolve(log) : answered.promise),
    onRefusal: "skip",
    sinceMs: 0,
    signal: stop.signal,
    retentionMs: 200,
    began: () => {},
    // each half a second, and by then retention has been looked at 50 times
    waiting: (_, problem) => problem !== undefined && noted.resolve(),
    warn: warned.resolve,
  })
  const running = forward.run()
  await noted.promise
  expect(opened).toBe(2)
  answered.resolve(log)
  expect(await warned.promise).toContain("t[0]@0")
  stop.abort()
  await running
})
