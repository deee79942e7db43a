import { afterEach, expect, test } from "bun:test"
import type { Broker, StoredRecord } from "../brokers/broker.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { PublishError } from "../errors.ts"
import type { Record } from "../pipeline/record.ts"
import { BrokerTarget } from "./broker-target.ts"
import { ReplayJob, type ReplayOptions } from "./job.ts"
import type { ReplayPosition } from "./progress.ts"
import { countRecords, selectRecords } from "./range.ts"
import { UrlTarget } from "./url-target.ts"

let server: Bun.Server<undefined> | undefined
afterEach(async () => server?.stop(true))

/** A log whose topic `in` has records of values 0, 1, 2, … */
async function logOf(count: number): Promise<MemoryLog> {
  const log = new MemoryLog()
  for (let i = 0; i < count; i++)
    await log.publish({
      topic: "in",
      key: Buffer.from(`k${i % 3}`),
      value: Buffer.from(`${i}`),
      headers: [["h", Buffer.from([i])]],
      timestampMs: 1_000_000 + i,
    })
  return log
}

async function jobOf(
  log: MemoryLog,
  { broker = log, ...options }: Partial<ReplayOptions> & { broker?: Broker } = {},
): Promise<ReplayJob> {
  const selection = await selectRecords(log, "in", {})
  const target = new BrokerTarget({ broker, topic: "out", partitions: selection.partitions })
  return new ReplayJob({ reader: log, selection, target, onRefusal: "skip", ...options })
}

const valuesOf = (log: MemoryLog): string[] => log.records("out").map(({ value }) => `${value}`)
const upTo = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i}`)

/** A broker before a log that is asked about each record; the records that it has are those of the log. */
class Gate implements Broker {
  readonly #log: MemoryLog
  readonly #before: (record: Record) => Promise<void> | void

  constructor(log: MemoryLog, before: (record: Record) => Promise<void> | void) {
    this.#log = log
    this.#before = before
  }

  async publish(record: Record) {
    await this.#before(record)
    return this.#log.publish(record)
  }

  prepare(topics: readonly string[]): void {
    this.#log.prepare(topics)
  }

  ready(): true {
    return true
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

test("values, keys, headers, times and order are the same in the target", async () => {
  const log = await logOf(5000)
  const job = await jobOf(log)
  await job.start()
  expect(job.progress()).toMatchObject({
    state: "done",
    offsets: 5000,
    passed: 5000,
    replayed: 5000,
    failed: 0,
  })
  expect(log.records("out")).toEqual(log.records("in").map((record) => ({ ...record, topic: "out" })))
})

test("only matching records are sent, and all count as passed", async () => {
  const log = await logOf(4000)
  const job = await jobOf(log, { matches: ({ offset }: StoredRecord) => offset % 1500 === 1499 })
  await job.start()
  expect(job.progress()).toMatchObject({ state: "done", passed: 4000, replayed: 2 })
  expect(valuesOf(log)).toEqual(["1499", "2999"])
})

test("no more than the window is ahead of what is saved, and another job continues from there", async () => {
  const log = await logOf(3000)
  const saved: ReplayPosition[] = []
  const ahead: number[] = []
  let given = 0
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>()
  const gate = new Gate(log, () => {
    if (++given === 1700) reach()
    ahead.push(given - (saved.at(-1)?.next.get(0) ?? 0))
  })
  const first = await jobOf(log, { broker: gate, save: (position) => void saved.push(position) })
  const ended = first.start()
  await reached
  await first.cancel()
  await ended
  expect(Math.max(...ahead)).toBeLessThanOrEqual(1000)
  expect(first.progress().state).toBe("cancelled")
  // what was sent was acknowledged, and saved
  expect(saved.at(-1)!.next.get(0)).toBe(given)
  const second = await jobOf(log, { from: saved.at(-1)! })
  await second.start()
  expect(second.progress()).toMatchObject({ state: "done", replayed: 3000, passed: 3000 })
  expect(valuesOf(log)).toEqual(upTo(3000))
})

test("a paused job sends nothing until it is resumed", async () => {
  const log = await logOf(10)
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const gate = new Gate(log, ({ value }) => {
    if (`${value}` !== "2") return
    expect(job.pause()).toBe(true)
    begin()
  })
  const job = await jobOf(log, { broker: gate, rate: 200 })
  const ended = job.start()
  await begun
  await new Promise(setImmediate)
  expect(job.progress()).toMatchObject({ state: "paused", perSecond: 0 })
  const before = valuesOf(log).length
  await Bun.sleep(50)
  expect(valuesOf(log)).toHaveLength(before)
  expect(job.pause()).toBe(false)
  expect(job.resume()).toBe(true)
  await ended
  expect(job.progress().state).toBe("done")
  expect(valuesOf(log)).toEqual(upTo(10))
})

test("what a broker can't take now is published again, in order, with all after it", async () => {
  const log = await logOf(100)
  let failures = 0
  const problems: (string | undefined)[] = []
  let isDown = false
  const gate = new Gate(log, ({ value }) => {
    if (`${value}` === "40" && failures === 0) {
      failures++
      isDown = true
    } else if (`${value}` === "40") isDown = false
    if (!isDown) return
    throw new PublishError("unavailable", "the broker is away")
  })
  const job = await jobOf(log, { broker: gate })
  const ended = job.start()
  while (problems.at(-1) === undefined) {
    await new Promise(setImmediate)
    problems.push(job.progress().problem)
  }
  expect(problems.at(-1)).toBe("the broker is away")
  await ended
  expect(valuesOf(log)).toEqual(upTo(100))
  expect(job.progress().problem).toBeUndefined()
})

test("a refused record is among the failures, or ends the job before it", async () => {
  const log = await logOf(20)
  const refusing = (): Gate =>
    new Gate(log, ({ value }) => {
      if (`${value}` === "7") throw new PublishError("record_too_large", "too large")
    })
  const skipping = await jobOf(log, { broker: refusing() })
  await skipping.start()
  expect(skipping.progress()).toMatchObject({
    state: "done",
    replayed: 19,
    failed: 1,
    failures: [{ partition: 0, offset: 7, reason: "too large", code: "record_too_large" }],
  })
  const saved: ReplayPosition[] = []
  const stopping = await jobOf(log, {
    broker: refusing(),
    onRefusal: "stop",
    save: (position) => void saved.push(position),
  })
  await stopping.start()
  expect(stopping.progress()).toMatchObject({ state: "failed", problem: "in[0]@7 was refused: too large" })
  expect(stopping.error).toMatchObject({ code: "record_too_large" })
  expect(saved.at(-1)!.next.get(0)).toBe(7)
})

test("a position that can't be saved ends the job", async () => {
  const log = await logOf(5)
  const job = await jobOf(log, {
    save: () => {
      throw new Error("the disk is full")
    },
  })
  await job.start()
  expect(job.progress()).toMatchObject({ state: "failed", problem: "the disk is full" })
})

test("records are posted to a URL one after the other; cancelling ends a retry", async () => {
  const log = await logOf(4)
  const bodies: string[] = []
  const { promise: third, resolve } = Promise.withResolvers<void>()
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      bodies.push(await request.text())
      if (bodies.length === 3) resolve()
      return new Response("", { status: bodies.length < 3 ? (bodies.length === 2 ? 400 : 200) : 503 })
    },
  })
  const job = await jobOf(log, { target: new UrlTarget(server.url) })
  const ended = job.start()
  await third
  while (job.progress().problem === undefined) await new Promise(setImmediate)
  expect(job.progress()).toMatchObject({ state: "running", replayed: 1, failed: 1, problem: "503" })
  await job.cancel()
  await ended
  expect(job.progress()).toMatchObject({ state: "cancelled", passed: 2, problem: undefined })
  expect(bodies).toEqual(["0", "1", "2"].concat(bodies.slice(3)))
}, 10_000)

test("a rate is kept to", async () => {
  const log = await logOf(60)
  const job = await jobOf(log, { rate: 100 })
  const startedMs = performance.now()
  await job.start()
  // five may come at once
  expect(performance.now() - startedMs).toBeGreaterThan(500)
  expect(valuesOf(log)).toEqual(upTo(60))
})

test("records are selected by offset, time and partition, and counted", async () => {
  const log = await logOf(100)
  const { signal } = new AbortController()
  const range = async (wanted: Parameters<typeof selectRecords>[2]) =>
    (await selectRecords(log, "in", wanted)).ranges[0]
  expect(await range({ fromOffset: 10, untilOffset: 20 })).toEqual({ partition: 0, first: 10, end: 20 })
  expect(await range({ fromOffset: 90, untilOffset: 200 })).toEqual({ partition: 0, first: 90, end: 100 })
  expect(await range({ fromOffset: 200 })).toEqual({ partition: 0, first: 100, end: 100 })
  expect(await range({ sinceMs: 1_000_030, untilMs: 1_000_040 })).toEqual({
    partition: 0,
    first: 30,
    end: 40,
  })
  expect(range({ partition: 1 })).rejects.toThrow("topic in has no partition 1; it has 1")
  const all = await selectRecords(log, "in", {})
  const even = ({ offset }: StoredRecord): boolean => offset % 2 === 0
  expect(await countRecords(log, all, even, { signal, limitMs: 60_000 })).toEqual({
    records: 50,
    isExact: true,
  })
  expect(await countRecords(log, all, even, { signal, limitMs: 0 })).toEqual({ records: 50, isExact: false })
})
