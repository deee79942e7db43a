import { beforeEach, describe, expect, spyOn, test } from "bun:test"
import { until } from "../../../test/support/kafka-options.ts"
import {
  direct,
  eachWithSpool,
  expectOrderPerKey,
  isEmpty,
  publish,
  SPOOLED,
} from "../../../test/support/spool-fixture.ts"
import { PublishError } from "../../errors.ts"
import type { Receipt } from "../../pipeline/record.ts"
import { steadyMs } from "../../clock/clock.ts"
import { inspectSpool } from "./reader.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const { broker, counts, lines, file, open, texts } = eachWithSpool()

const TOO_LARGE = new PublishError("record_too_large", "it is too large")
const MISSING = new PublishError("unavailable", "there is no such topic")

describe("while the broker takes events", () => {
  test("they go there, and nothing into the file", async () => {
    const spool = open()
    expect(await publish(spool, "a")).toEqual({ partition: 0, offset: 0 })
    expect(texts()).toEqual(["a"])
    expect(counts).toEqual({ spooled: 0, forwarded: 0, quarantined: 0 })
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
    await spool.publish(record, steadyMs() + HANG_MS)
    await spool.publish({ topic: "t", value: Buffer.from("bare") }, steadyMs() + HANG_MS)
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

  test("the change-over is logged once each way", async () => {
    const spool = open()
    for (const text of ["a", "b", "c"]) await publish(spool, text)
    broker.state = "up"
    await direct(spool)
    const logged = lines.filter(({ topic }) => topic === "t").map(({ msg }) => msg)
    expect(logged).toEqual([
      "broker does not accept the topic's events; spooling them",
      "spooled events are forwarded; publishing to the broker again",
    ])
    expect(texts().slice(0, 3)).toEqual(["a", "b", "c"])
  })
})

/** Sets the clock back, so that the file has all the time that it needs, however busy the machine is. */
const stoppedClock = () => spyOn(performance, "now").mockReturnValue(performance.now() - HANG_MS)

describe("order", () => {
  test("what is at a broker that stalls is taken back and keeps its place before what comes later", async () => {
    const spool = open()
    broker.state = "stalled"
    const first = publish(spool, "first")
    const second = publish(spool, "second")
    broker.expire()
    expect(await first).toEqual(SPOOLED)
    // it waits for the last of the file, for half of its time
    const third = publish(spool, "third", { ms: 1000 })
    {
      using _clock = stoppedClock()
      expect(await Promise.all([second, third])).toEqual([SPOOLED, SPOOLED])
    }
    broker.state = "up"
    await direct(spool)
    expect(texts().slice(0, 3)).toEqual(["first", "second", "third"])
  })

  test("a record of unknown fate may be doubled, one that waited after it is not", async () => {
    const spool = open()
    broker.state = "stalled"
    const first = publish(spool, "first")
    broker.takeSilently()
    const second = publish(spool, "second")
    broker.expire()
    await Promise.all([first, second])
    broker.state = "up"
    await direct(spool)
    expect(texts().slice(0, 3)).toEqual(["first", "first", "second"])
  })

  test("of a record's time the last second belongs to the file", async () => {
    const spool = open()
    broker.state = "stalled"
    using asked = spyOn(broker, "publish")
    const deadlineMs = steadyMs() + HANG_MS
    const answer = spool.publish({ topic: "t", value: Buffer.from("a") }, deadlineMs)
    expect(asked.mock.calls[0]![1]).toBeCloseTo(deadlineMs - 1000, 3)
    broker.expire()
    expect(await answer).toEqual(SPOOLED)
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
    const second = publish(spool, "second", { ms: 1000 })
    {
      using _clock = stoppedClock()
      expect(await second).toEqual(SPOOLED)
    }
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

describe("an error of this program", () => {
  test("while a window is forwarded is logged, and forwarding continues", async () => {
    broker.state = "down"
    const spool = open()
    await publish(spool, "a")
    broker.refuses = () => MISSING
    broker.cancel = () => {
      Reflect.deleteProperty(broker, "cancel")
      broker.refuses = () => undefined
      throw new TypeError("cancelled wrongly")
    }
    broker.state = "up"
    await direct(spool)
    expect(texts()[0]).toBe("a")
    expect(lines.filter((line) => "err" in line)).toMatchObject([
      { level: 50, topic: "t", err: { stack: expect.stringContaining("cancelled wrongly") } },
    ])
  })

  test("while a record is forwarded is logged, and the record quarantined", async () => {
    broker.state = "down"
    const spool = open()
    for (const text of ["a", "b"]) await publish(spool, text)
    broker.refuses = ({ value }) => {
      if (Buffer.from(value).toString() === "a") throw new TypeError("encoded wrongly")
      return undefined
    }
    broker.state = "up"
    await until("all are forwarded", isEmpty(spool))
    expect(texts()).toEqual(["b"])
    expect(spool.spool().quarantined).toBe(1)
    expect(lines.filter((line) => "err" in line)).toMatchObject([
      { level: 50, topic: "t", err: { stack: expect.stringContaining("encoded wrongly") } },
    ])
  })
})
