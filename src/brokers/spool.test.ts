import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import { pino } from "pino"
import { until } from "../../test/support/kafka-options.ts"
import { ScriptedBroker } from "../../test/support/scripted-broker.ts"
import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import { openEmbedded } from "./embedded.ts"
import { inspectSpool, readSetAside } from "./spool-reader.ts"
import { openSpool, type SpooledBroker, type SpoolOptions } from "./spool.ts"

const SPOOLED = { partition: -1, offset: -1 }
const TOO_LARGE = new PublishError("record_too_large", "it is too large")
const MISSING = new PublishError("unavailable", "there is no such topic")

let directory: string
let file: string
let broker: ScriptedBroker
let opened: SpooledBroker[]
let counts: { spooled: number; forwarded: number; setAside: number }
let lines: { level: number; msg: string; topic?: string }[]
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "hookline-spool-"))
  file = join(directory, "made", "spool.sqlite")
  broker = new ScriptedBroker()
  opened = []
  counts = { spooled: 0, forwarded: 0, setAside: 0 }
  lines = []
})
afterEach(async () => {
  await Promise.all(opened.map((spool) => spool.close()))
  rmSync(directory, { recursive: true })
})

function open(options: Partial<SpoolOptions> = {}, before = broker): SpooledBroker {
  const count = (what: keyof typeof counts) => (records: number) => void (counts[what] += records)
  const metrics = { spooled: count("spooled"), forwarded: count("forwarded"), setAside: count("setAside") }
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) })
  const spool = openSpool({ file, maxBytes: Number.POSITIVE_INFINITY, ...options }, { log, metrics })
  spool.use(before)
  opened.push(spool)
  return spool
}

const publish = (
  spool: SpooledBroker,
  text: string,
  { topic = "t", key = "k", ms = 10_000 }: { topic?: string; key?: string; ms?: number } = {},
): Promise<Receipt> =>
  spool.publish({ topic, key: Buffer.from(key), value: Buffer.from(text) }, steadyMs() + ms)

const texts = (records: readonly Record[] = broker.log): string[] =>
  records.map(({ value }) => Buffer.from(value).toString())
const isEmpty = (spool: SpooledBroker) => (): boolean => spool.spool().records === 0
/** Until the topics are direct again: a receipt of the broker's own shows it. */
const direct = (spool: SpooledBroker): Promise<void> =>
  until("events go to the broker", async () => (await publish(spool, "direct")).partition === 0)

describe("while the broker takes events", () => {
  test("they go there, and nothing into the file", async () => {
    const spool = open()
    expect(await publish(spool, "a")).toEqual({ partition: 0, offset: 0 })
    expect(texts()).toEqual(["a"])
    expect(counts).toEqual({ spooled: 0, forwarded: 0, setAside: 0 })
    expect(spool.spool()).toMatchObject({ records: 0, bytes: 0, outage: undefined, problem: undefined })
  })

  test("what it refuses for good is refused, and is not spooled", async () => {
    const spool = open()
    broker.refuses = () => TOO_LARGE
    await expect(publish(spool, "a")).rejects.toBe(TOO_LARGE)
    expect(spool.spool().records).toBe(0)
  })
})

describe("while the broker is down", () => {
  beforeEach(() => {
    broker.state = "down"
  })

  test("events are durable in the file when they are acknowledged, and the connection is ready", async () => {
    const spool = open()
    const before = Date.now()
    expect(await publish(spool, "a")).toEqual(SPOOLED)
    expect(spool.ready()).toBe(true)
    const state = spool.spool()
    expect(state).toMatchObject({ records: 1, bytes: 2, outage: "it is down", problem: undefined })
    expect(state.oldestMs).toBeWithin(before, Date.now() + 1)
    const { topics } = await inspectSpool(file)
    expect(topics).toMatchObject([{ topic: "t", records: 1, bytes: 2 }])
    expect(counts.spooled).toBe(1)
  })

  test("key, value, headers and the time of receipt are forwarded as they were", async () => {
    const spool = open()
    const before = Date.now()
    const record = {
      topic: "t",
      key: new Uint8Array([0, 255]),
      value: crypto.getRandomValues(new Uint8Array(1000)),
      headers: [
        ["name", Buffer.from("1")],
        ["name", Buffer.from("2")],
      ] as const,
    }
    await spool.publish(record, steadyMs() + 10_000)
    await spool.publish({ topic: "t", value: Buffer.from("bare") }, steadyMs() + 10_000)
    const after = Date.now()
    await Bun.sleep(5)
    broker.state = "up"
    await until("both are forwarded", () => broker.log.length === 2)
    const [first, second] = broker.log
    expect(first).toMatchObject({ topic: "t", key: record.key, value: record.value })
    expect(first!.headers!.map(([name, value]) => [name, Buffer.from(value).toString()])).toEqual([
      ["name", "1"],
      ["name", "2"],
    ])
    expect(first!.timestampMs).toBeWithin(before, after + 1)
    expect(second!.key).toBeUndefined()
  })

  test("the change-over is told once each way", async () => {
    const spool = open()
    for (const text of ["a", "b", "c"]) await publish(spool, text)
    broker.state = "up"
    await direct(spool)
    const told = lines.filter(({ topic }) => topic === "t").map(({ msg }) => msg)
    expect(told).toEqual([
      "the broker does not take this topic's events: they are spooled",
      "what was spooled is forwarded: events go to the broker again",
    ])
    expect(texts().slice(0, 3)).toEqual(["a", "b", "c"])
  })
})

test("events that stay though the broker seems to be up are told once, make the topic impaired, and are not when they go", async () => {
  broker.state = "down"
  const spool = open()
  await publish(spool, "a")
  await publish(spool, "b", { topic: "other" })
  broker.refuses = ({ topic }) => (topic === "t" ? MISSING : undefined)
  broker.state = "up"
  await until("one topic is stuck", () => spool.spool().stuckTopics === 1)
  expect(spool.impaired()).toMatchObject([
    { topic: "t", isWhole: true, problem: expect.stringContaining("there is no such topic") },
  ])
  broker.refuses = () => undefined
  await until("it goes", () => spool.spool().stuckTopics === 0)
  expect(texts().toSorted()).toEqual(["a", "b"])
  const told = lines.filter(({ msg }) => /stuck|again/.test(msg) && !msg.startsWith("what was"))
  expect(told.map(({ topic }) => topic)).toEqual(["t", "t"])
}, 15_000)

describe("order", () => {
  test("what is at a broker that stalls is taken back and keeps its place before what comes later", async () => {
    const spool = open()
    broker.state = "stalled"
    const first = publish(spool, "first", { ms: 400 })
    const second = publish(spool, "second")
    expect(await first).toEqual(SPOOLED)
    const third = publish(spool, "third", { ms: 400 })
    expect(await Promise.all([second, third])).toEqual([SPOOLED, SPOOLED])
    broker.state = "up"
    await direct(spool)
    expect(texts().slice(0, 3)).toEqual(["first", "second", "third"])
  })

  test("a record of unknown fate may be doubled, one that waited behind it is not", async () => {
    const spool = open()
    broker.state = "stalled"
    const first = publish(spool, "first", { ms: 200 })
    broker.takeSilently()
    const second = publish(spool, "second", { ms: 200 })
    await Promise.all([first, second])
    broker.state = "up"
    await direct(spool)
    expect(texts().slice(0, 3)).toEqual(["first", "first", "second"])
  })

  test("a spooled record is answered in time for its deadline", async () => {
    const spool = open()
    broker.state = "stalled"
    const began = steadyMs()
    expect(await publish(spool, "a", { ms: 600 })).toEqual(SPOOLED)
    expect(steadyMs() - began).toBeGreaterThan(290)
  })

  test("under constant load the last of the file goes first, and events go to the broker again", async () => {
    broker.state = "down"
    const spool = open()
    const receipts: Receipt[] = []
    const stop = new AbortController()
    let next = 0
    const load = Array.from({ length: 20 }, async (_, key) => {
      while (!stop.signal.aborted) {
        receipts.push(await publish(spool, `${key}:${next++}`, { key: `${key}` }))
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    await until("a few thousand are spooled", () => receipts.length > 3000)
    broker.state = "up"
    await until("the broker takes them itself", () => receipts.at(-1)!.partition === 0)
    stop.abort()
    await Promise.all(load)
    expect(texts()).toHaveLength(next)
    expectOrderPerKey(texts())
  })

  test("an event that waits for the last of the file goes into the file when that takes too long", async () => {
    broker.state = "down"
    const spool = open()
    await publish(spool, "first")
    broker.state = "stalled"
    await until("the last is being forwarded", () => broker.pending === 1)
    expect(await publish(spool, "second", { ms: 300 })).toEqual(SPOOLED)
    broker.state = "up"
    await direct(spool)
    expect(texts().slice(0, 2)).toEqual(["first", "second"])
  })

  test("a topic that can't be published to holds up no other", async () => {
    broker.refuses = ({ topic }) => (topic === "missing" ? MISSING : undefined)
    const spool = open()
    expect(await publish(spool, "held", { topic: "missing" })).toEqual(SPOOLED)
    expect((await publish(spool, "other")).partition).toBe(0)
    broker.refuses = () => undefined
    await until("it is forwarded", isEmpty(spool))
    expect(texts()).toEqual(["other", "held"])
  })
})

function expectOrderPerKey(logged: readonly string[]): void {
  const latest = new Map<string, number>()
  for (const text of logged) {
    const [key, number] = text.split(":") as [string, string]
    expect(Number(number)).toBeGreaterThan(latest.get(key) ?? -1)
    latest.set(key, Number(number))
  }
}

describe("a restart", () => {
  test("forwards first what was left, and new events queue behind it", async () => {
    broker.state = "down"
    const first = open()
    await Promise.all(Array.from({ length: 2500 }, (_, n) => publish(first, `k:${n}`)))
    await first.close()
    const again = new ScriptedBroker("down")
    const second = open({}, again)
    expect(second.spool().records).toBe(2500)
    const later = publish(second, "k:2500")
    again.state = "up"
    await later
    await until("all are forwarded", () => again.log.length === 2501)
    expectOrderPerKey(texts(again.log))
    expect(counts.forwarded).toBeWithin(2500, 2502)
  })

  test("keeps what is left when forwarding is ended in the middle", async () => {
    broker.state = "down"
    const first = open()
    await Promise.all(Array.from({ length: 10 }, (_, n) => publish(first, `k:${n}`)))
    broker.state = "stalled"
    await until("they are at the broker", () => broker.pending === 10)
    await first.close()
    expect((await inspectSpool(file)).topics).toMatchObject([{ topic: "t", records: 10 }])
  })

  test("close forwards until its time, when the broker takes events", async () => {
    broker.state = "down"
    const spool = open()
    await Promise.all(Array.from({ length: 3000 }, (_, n) => publish(spool, `k:${n}`)))
    broker.state = "up"
    await spool.close(steadyMs() + 60_000)
    expect(broker.log).toHaveLength(3000)
    expect((await inspectSpool(file)).topics).toEqual([])
  })

  test("close does not wait for a broker that takes nothing", async () => {
    broker.state = "down"
    const spool = open()
    await publish(spool, "a")
    await spool.close(steadyMs() + 60_000)
    expect(texts()).toEqual([])
  })

  test("what is under way at close is answered, and is in the file", async () => {
    const spool = open()
    broker.state = "stalled"
    const open_ = publish(spool, "a", { ms: 300 })
    await spool.close()
    expect(await open_).toEqual(SPOOLED)
    await expect(publish(spool, "late")).rejects.toMatchObject({ code: "closing" })
    expect((await inspectSpool(file)).topics).toMatchObject([{ records: 1 }])
  })
})

describe("another broker in the place of the one before", () => {
  let other: ScriptedBroker
  beforeEach(() => {
    other = new ScriptedBroker()
  })

  test("gets what is spooled, and what comes behind it", async () => {
    broker.state = "down"
    const spool = open()
    for (const text of ["a", "b"]) await publish(spool, text)
    spool.use(other)
    await direct(spool)
    expect(texts()).toEqual([])
    expect(texts(other.log).slice(0, 2)).toEqual(["a", "b"])
    expect(spool.ready()).toBe(true)
  })

  test("gets nothing before the one before has settled what it has, and nothing twice", async () => {
    const spool = open()
    broker.state = "stalled"
    const first = publish(spool, "first")
    spool.use(other)
    const second = publish(spool, "second")
    await new Promise(setImmediate)
    expect(other.pending + other.log.length).toBe(0)
    broker.state = "up"
    expect(await Promise.all([first, second])).toMatchObject([{ partition: 0 }, { partition: 0 }])
    expect([texts(), texts(other.log)]).toEqual([["first"], ["second"]])
    expect(counts.spooled).toBe(0)
  })

  test("gets what the one before does not settle in time, in order", async () => {
    const spool = open()
    broker.state = "stalled"
    const answers = [publish(spool, "first")]
    spool.use(other)
    answers.push(publish(spool, "second"))
    expect(await Promise.all(answers)).toEqual([SPOOLED, SPOOLED])
    await direct(spool)
    expect(texts()).toEqual([])
    expect(texts(other.log).slice(0, 2)).toEqual(["first", "second"])
  })

  test("gets the window that the one before does not get done with", async () => {
    broker.state = "down"
    const spool = open()
    for (const text of ["a", "b"]) await publish(spool, text)
    broker.state = "stalled"
    await until("the window is being forwarded", () => broker.pending === 2)
    spool.use(other)
    await direct(spool)
    expect(broker.pending).toBe(0)
    expect(texts(other.log).slice(0, 2)).toEqual(["a", "b"])
  })

  test("that takes nothing yet has its events spooled", async () => {
    const spool = open()
    other.state = "down"
    spool.use(other)
    expect(await publish(spool, "a")).toEqual(SPOOLED)
    expect(spool.spool().outage).toBe("it is down")
    other.state = "up"
    await until("it is forwarded", isEmpty(spool))
    expect([texts(), texts(other.log)]).toEqual([[], ["a"]])
  })

  test("leaves the one before free to be closed, and is free itself when the spool is closed", async () => {
    const spool = open()
    spool.use(other)
    await spool.left(broker)
    const left: string[] = []
    void spool.left(other).then(() => left.push("other"))
    await publish(spool, "a")
    expect(left).toEqual([])
    await spool.close()
    expect(left).toEqual(["other"])
  })

  test("is told the topics that the one before was told", async () => {
    const spool = open()
    spool.prepare(["t", "u"])
    spool.use(other)
    expect(other.prepared).toEqual(new Set(["t", "u"]))
  })
})

describe("a spool that is not wanted any more", () => {
  test("refuses what the broker does not take, and stays empty", async () => {
    const spool = open()
    expect(await publish(spool, "a")).toMatchObject({ partition: 0 })
    expect(spool.isIdle()).toBe(true)
    broker.state = "stalled"
    const underWay = publish(spool, "b", { ms: 200 })
    spool.retire()
    await expect(underWay).rejects.toMatchObject({ code: "deadline" })
    broker.state = "down"
    await until("it is seen to be down", () =>
      publish(spool, "c", { ms: 50 }).then(
        () => false,
        (error: PublishError) => error.message === "it is down",
      ),
    )
    expect((await inspectSpool(file)).topics).toEqual([])
  })

  test("spools again when it is wanted back", async () => {
    const spool = open()
    spool.retire()
    broker.state = "down"
    spool.use(broker)
    expect(await publish(spool, "a")).toEqual(SPOOLED)
    expect(spool.isIdle()).toBe(false)
  })
})

describe("what the broker refuses for good when it is forwarded", () => {
  beforeEach(async () => {
    broker.state = "down"
    const spool = open()
    for (const text of ["a", "large", "b"]) await publish(spool, text)
    broker.refuses = ({ value }) => (value.length === 5 ? TOO_LARGE : undefined)
    broker.state = "up"
    await until("the others are forwarded", isEmpty(spool))
  })

  test("is set aside, counted and told, and holds up nothing", async () => {
    expect(texts()).toEqual(["a", "b"])
    expect(counts).toEqual({ spooled: 3, forwarded: 2, setAside: 1 })
    expect(opened[0]!.spool()).toMatchObject({ records: 0, setAside: 1, bytes: 6 })
    expect(lines.some(({ level, msg }) => level === 50 && msg.startsWith("SET ASIDE"))).toBe(true)
    expect((await inspectSpool(file)).setAside).toMatchObject([
      { topic: "t", reason: "it is too large", records: 1, bytes: 6 },
    ])
    expect(
      [...readSetAside(file)].map(({ value, reason }) => [Buffer.from(value).toString(), reason]),
    ).toEqual([["large", "it is too large"]])
  })

  test("is kept over a restart, and tried again when that is asked for", async () => {
    await opened[0]!.close()
    const still = new ScriptedBroker()
    await open({}, still).close()
    expect(still.log).toEqual([])
    const again = new ScriptedBroker()
    const spool = open({ retrySetAside: true }, again)
    await until("it is forwarded", isEmpty(spool))
    expect(texts(again.log)).toEqual(["large"])
    expect(spool.spool().setAside).toBe(0)
  })
})

describe("a full spool", () => {
  test("refuses events, which may be sent again, and takes them when there is room", async () => {
    broker.state = "down"
    const spool = open({ maxBytes: 100 })
    const accepted = []
    for (let n = 0; n < 12; n++)
      accepted.push(
        await publish(spool, "123456789").then(
          () => true,
          (error: unknown) => error,
        ),
      )
    expect(accepted.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => true))
    expect(accepted[10]).toMatchObject({
      code: "unavailable",
      message: "the spool is full: it holds 100 bytes",
    })
    expect(spool.ready()).toBe("the spool is full: it holds 100 bytes; it is down")
    broker.state = "up"
    await until("they are forwarded", isEmpty(spool))
    expect(spool.ready()).toBe(true)
    broker.state = "down"
    await until("it is spooled again", async () => (await publish(spool, "1", { ms: 100 })).partition === -1)
  })
})

test("a full spool takes events again when its limit is raised, and none when it is lowered", async () => {
  broker.state = "down"
  const spool = open({ maxBytes: 100 })
  for (let n = 0; n < 10; n++) await publish(spool, "123456789")
  await expect(publish(spool, "1")).rejects.toMatchObject({ code: "unavailable" })
  spool.limit(200)
  expect(spool.ready()).toBe(true)
  expect(await publish(spool, "1")).toEqual(SPOOLED)
  spool.limit(50)
  await expect(publish(spool, "1")).rejects.toMatchObject({ code: "unavailable" })
})

test("an event that is larger than the spool is refused, and fills it for no other", async () => {
  broker.state = "down"
  const spool = open({ maxBytes: 100 })
  await expect(publish(spool, "x".repeat(200))).rejects.toMatchObject({ code: "unavailable" })
  expect(spool.ready()).toBe(true)
  expect(await publish(spool, "a")).toEqual(SPOOLED)
})

describe("the file", () => {
  test("is one process's at a time", () => {
    open()
    expect(() => open({}, new ScriptedBroker())).toThrow(
      expect.objectContaining({
        code: "log_locked",
        message: `The spool ${file} is being written to by process ${process.pid}; stop that one, or name another file`,
      }),
    )
  })

  test("is not taken for one when it is an embedded log", async () => {
    const log = { log: pino({ level: "silent" }), metrics: { batch() {} } }
    await openEmbedded({ directory }, log).close()
    file = join(directory, "log.sqlite")
    expect(() => open()).toThrow(
      expect.objectContaining({
        code: "log_io",
        message: `${file} is not a Hookline spool; name another file`,
      }),
    )
  })

  test("becomes small again when much was forwarded", async () => {
    broker.state = "down"
    const spool = open()
    const value = Buffer.alloc(100_000, "x")
    await Promise.all(
      Array.from({ length: 300 }, () => spool.publish({ topic: "t", value }, steadyMs() + 10_000)),
    )
    broker.state = "up"
    await direct(spool)
    await spool.close()
    expect(Bun.file(file).size).toBeLessThan(1_000_000)
  })

  test("that another process holds for a moment loses nothing", async () => {
    broker.state = "down"
    const spool = open()
    await publish(spool, "first")
    const other = new Database(file)
    other.run("BEGIN IMMEDIATE")
    const second = publish(spool, "second")
    broker.state = "up"
    await until("the first is at the broker", () => broker.log.length > 0)
    other.run("ROLLBACK")
    other.close()
    await second
    await until("both are forwarded", isEmpty(spool))
    expect(texts()).toEqual(["first", "second"])
  })
})

test("whatever brokers do, what was acknowledged is there, in order per key, also over restarts and changes", async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ publish: fc.integer({ min: 1, max: 30 }) }) },
    { weight: 2, arbitrary: fc.constantFrom("up" as const, "down" as const, "stalled" as const) },
    { weight: 1, arbitrary: fc.constantFrom("restart" as const, "change" as const, "settle" as const) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      rmSync(join(directory, "made"), { recursive: true, force: true })
      let acting = new ScriptedBroker()
      const brokers = [acting]
      let spool = open({}, acting)
      let next = 0
      const acknowledged: string[] = []
      const answers: Promise<unknown>[] = []
      const restart = async (): Promise<void> => {
        await spool.close()
        brokers.push((acting = new ScriptedBroker()))
        spool = open({}, acting)
      }
      const change = (): void => {
        brokers.push((acting = new ScriptedBroker()))
        spool.use(acting)
      }
      for (const action of steps) {
        if (typeof action === "object") {
          for (let n = 0; n < action.publish; n++) {
            const text = `${next % 3}:${next++}`
            const answer = publish(spool, text, { key: text[0]!, ms: 120 })
            answers.push(answer.then(() => acknowledged.push(text)))
          }
        } else if (action === "restart") await restart()
        else if (action === "change") change()
        else if (action === "settle") await Bun.sleep(10)
        else acting.state = action
      }
      acting.state = "up"
      await Promise.all(answers)
      await until("all is forwarded", isEmpty(spool))
      await spool.close()
      const found = texts(brokers.flatMap((it) => it.log))
      expect(acknowledged).toHaveLength(next)
      expect(acknowledged.filter((text) => !found.includes(text))).toEqual([])
      expectOrderPerKey(found)
    }),
    { numRuns: 30 },
  )
}, 60_000)
