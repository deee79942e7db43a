import { expect, test } from "bun:test"
import type { Broker } from "../brokers/broker.ts"
import { MemoryLog } from "../brokers/memory/log.ts"
import { PublishError } from "../errors.ts"
import type { Record } from "../pipeline/record.ts"
import { BrokerTarget } from "./broker-target.ts"
import { ReplayJob, type ReplayOptions } from "./job.ts"
import { KeyedTarget } from "./keyed-target.ts"
import type { Attempt, AttemptOptions, Patience } from "./attempt.ts"
import { attemptTarget } from "./attempt-target.ts"
import type { ReplayPosition } from "./progress.ts"
import { selectRecords } from "./range.ts"
import { SendWindow, toWindowRecord } from "./send-window.ts"
import type { ReplayTarget } from "./target.ts"

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
  readonly #polled: () => void

  constructor(log: MemoryLog, before: (record: Record) => Promise<void> | void, polled = () => {}) {
    this.#log = log
    this.#before = before
    this.#polled = polled
  }

  async publish(record: Record) {
    await this.#before(record)
    return this.#log.publish(record)
  }

  prepare(topics: readonly string[]): void {
    this.#log.prepare(topics)
  }

  ready(): true {
    this.#polled()
    return true
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

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

test("while a job is paused, what a broker could not take is not published again", async () => {
  const log = await logOf(3)
  const failed = Promise.withResolvers<void>()
  const polled = Promise.withResolvers<void>()
  const published: [value: string, isPaused: boolean][] = []
  let isDown = true
  let isPaused = false
  const gate = new Gate(
    log,
    ({ value }) => {
      published.push([`${value}`, isPaused])
      if (!isDown) return
      failed.resolve()
      throw new PublishError("unavailable", "the broker is away")
    },
    () => isPaused && polled.resolve(),
  )
  const job = await jobOf(log, { broker: gate })
  const ended = job.start()
  await failed.promise
  isPaused = job.pause()
  isDown = false
  await polled.promise
  isPaused = !job.resume()
  await ended
  expect(published.filter(([, wasPaused]) => wasPaused)).toEqual([])
  expect(valuesOf(log)).toEqual(upTo(3))
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

test("refused records of a position that could not be saved are among those of the next one", async () => {
  const log = await logOf(2)
  const tried = Promise.withResolvers<void>()
  const saved: (readonly [next: number | undefined, refused: readonly number[]])[] = []
  const job = await jobOf(log, {
    target: {
      window: { records: 2, bytes: 1000 },
      async send({ offset }) {
        if (offset > 0) await tried.promise
        return { reason: "no" }
      },
      problem: () => undefined,
      stop() {},
    },
    save({ next }, failures) {
      saved.push([next.get(0), failures.map(({ offset }) => offset)])
      if (saved.length > 1) return
      tried.resolve()
      throw new Error("the disk is full")
    },
  })
  await job.start()
  expect(saved).toEqual([
    [1, [0]],
    [2, [0, 1]],
  ])
})

/** A target in this process. */
const targetOf = (
  concurrency: number,
  attempt: (offset: number) => Promise<Attempt["outcome"]>,
  options: Partial<AttemptOptions> = {},
): ReplayTarget =>
  attemptTarget({
    patience: { refusals: 1, retries: 1 },
    ...options,
    concurrency,
    attempt: async ({ offset }) => ({ outcome: await attempt(offset), reason: "no", durationMs: 0 }),
  })

test.each([1, 2])(
  "while a job is paused, its target attempts none of the records that it has been sent, at concurrency %d",
  async (concurrency) => {
    const log = await logOf(4)
    const attempts: number[] = []
    const first = Promise.withResolvers<void>()
    const read = Promise.withResolvers<void>()
    const target = targetOf(concurrency, async (offset) => {
      attempts.push(offset)
      if (offset < concurrency) await first.promise
      return "delivered"
    })
    const matches = ({ offset }: { readonly offset: number }): boolean => {
      if (offset === 3) read.resolve()
      return true
    }
    const job = await jobOf(log, { target, matches })
    const ended = job.start()
    await read.promise
    expect(job.pause()).toBe(true)
    first.resolve()
    while (job.progress().replayed < concurrency) await new Promise(setImmediate)
    expect(attempts).toEqual(Array.from({ length: concurrency }, (_, offset) => offset))
    expect(job.resume()).toBe(true)
    await ended
    expect([job.progress().state, attempts]).toEqual(["done", [0, 1, 2, 3]])
  },
)

test("where records are delivered in order, a refused one is parked, and the position saved, before the next is attempted", async () => {
  const log = await logOf(3)
  const happened: string[] = []
  const target = targetOf(1, async (offset) => {
    happened.push(`attempt ${offset}`)
    return offset === 1 ? "refused" : "delivered"
  })
  const later = (what: string): Promise<void> =>
    new Promise(setImmediate).then(() => void happened.push(what))
  const job = await jobOf(log, {
    target,
    refused: ({ offset }) => later(`parked ${offset}`),
    save: ({ next }) => later(`saved ${next.get(0)}`),
  })
  await job.start()
  const upToNext = happened.slice(0, happened.indexOf("attempt 2"))
  expect(upToNext).toEqual(["attempt 0", "attempt 1", "parked 1", "saved 1", "saved 2"])
  expect(job.progress()).toMatchObject({ state: "done", replayed: 2, failed: 1 })
})

test.each<[concurrency: number, patience: Patience]>([
  [1, { refusals: 1 }],
  [1, { refusals: 1, retries: 1 }],
  [3, { refusals: 1, retries: 1 }],
])(
  "after a refusal that ends it, a job at concurrency %d, %j, attempts nothing, and saves what was delivered",
  async (concurrency, patience) => {
    const log = await logOf(9)
    const attempts: number[] = []
    const isRefused = Promise.withResolvers<void>()
    const areUnderWay = Promise.withResolvers<void>()
    const saved: (number | undefined)[] = []
    const target = targetOf(
      concurrency,
      async (offset) => {
        attempts.push(offset)
        if (concurrency === 1) return offset === 1 ? "refused" : "delivered"
        if (attempts.length === concurrency) areUnderWay.resolve()
        await (offset === 1 ? areUnderWay : isRefused).promise
        return offset === 1 ? "refused" : "delivered"
      },
      { stops: true, patience },
    )
    const job = await jobOf(log, {
      target,
      onRefusal: "stop",
      save: ({ next }) => void saved.push(next.get(0)),
    })
    const ended = job.start()
    while (job.progress().state === "running") await new Promise(setImmediate)
    isRefused.resolve()
    await ended
    // those under way at the refusal are answered
    expect(attempts).toEqual(concurrency === 1 ? [0, 1] : [0, 1, 2])
    expect(job.error).toMatchObject({ code: "refused" })
    expect([saved.at(-1), job.next.get(0)]).toEqual([1, 1])
  },
)

test("each of the records that a window is extended by while one fails is admitted, also where records are large", async () => {
  let failed = Promise.withResolvers<void>()
  const target = new KeyedTarget({
    concurrency: 64,
    patience: { refusals: 1, retries: 100 },
    async attempt() {
      failed.resolve()
      return { outcome: "unavailable", reason: "500", retryAfterMs: 0, durationMs: 0 }
    },
  })
  const stop = new AbortController()
  const window = new SendWindow(target, stop.signal, async () => {})
  const value = Buffer.alloc(1024 * 1024)
  const one = { topic: "t", partition: 0, offset: 0, timestampMs: 0, key: undefined, value, headers: [] }
  const isAdmitted = (): Promise<boolean> => {
    const admitted = window.admit(toWindowRecord(one, false)).then(() => true)
    return Promise.race([admitted, new Promise<boolean>((resolve) => setImmediate(resolve, false))])
  }
  void target.send(one)
  const admitted: number[] = []
  for (let count = 0; count < 16;) {
    await failed.promise
    failed = Promise.withResolvers()
    for (; await isAdmitted(); count++) window.add(toWindowRecord(one, false))
    admitted.push(count)
  }
  stop.abort()
  target.stop()
  expect(admitted).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16])
})
