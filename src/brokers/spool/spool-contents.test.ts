import { beforeEach, describe, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { until } from "../../../test/support/kafka-options.ts"
import { ScriptedBroker } from "../../../test/support/scripted-broker.ts"
import { direct, eachWithSpool, isEmpty, publish, SPOOLED } from "../../../test/support/spool-fixture.ts"
import { PublishError } from "../../errors.ts"
import { steadyMs } from "../../clock/clock.ts"
import { inspectSpool, readQuarantine } from "./reader.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const { broker, counts, lines, opened, file, open, texts } = eachWithSpool()

const TOO_LARGE = new PublishError("record_too_large", "it is too large")

describe("what the broker refuses for good when it is forwarded", () => {
  beforeEach(async () => {
    broker.state = "down"
    const spool = open()
    for (const text of ["a", "large", "b"]) await publish(spool, text)
    broker.refuses = ({ value }) => (value.length === 5 ? TOO_LARGE : undefined)
    broker.state = "up"
    await until("the others are forwarded", isEmpty(spool))
  })

  test("is quarantined, counted and logged, and holds up nothing", async () => {
    expect(texts()).toEqual(["a", "b"])
    expect(counts).toEqual({ spooled: 3, forwarded: 2, quarantined: 1 })
    expect(opened[0]!.spool()).toMatchObject({ records: 0, quarantined: 1, bytes: 6 })
    expect(lines.some(({ level, msg }) => level === 50 && msg.startsWith("QUARANTINED"))).toBe(true)
    expect((await inspectSpool(file)).quarantined).toMatchObject([
      { topic: "t", reason: "it is too large", records: 1, bytes: 6 },
    ])
    expect(
      [...readQuarantine(file)].map(({ value, reason }) => [Buffer.from(value).toString(), reason]),
    ).toEqual([["large", "it is too large"]])
  })

  test("is kept over a restart, and tried again when that is asked for", async () => {
    await opened[0]!.close()
    const still = new ScriptedBroker()
    await open({}, still).close()
    expect(still.log).toEqual([])
    const again = new ScriptedBroker()
    const spool = open({ requeues: true }, again)
    await until("it is forwarded", isEmpty(spool))
    expect(texts(again.log)).toEqual(["large"])
    expect(spool.spool().quarantined).toBe(0)
  })

  test("is tried again also where a reader keeps the file from being opened at once", async () => {
    const reader = new Database(file, { readonly: true })
    reader.run("BEGIN")
    reader.query("SELECT count(*) FROM set_aside").get()
    await opened[0]!.close()
    const again = new ScriptedBroker()
    const spool = open({ requeues: true }, again)
    expect(spool.spool().problem).toContain("is being read")
    reader.close()
    await until("it is forwarded", () => texts(again.log).includes("large"))
    expect(spool.spool().quarantined).toBe(0)
  })
})

describe("a full spool", () => {
  test("takes events again when those that filled it were not written in time", async () => {
    broker.state = "down"
    const spool = open({ maxBytes: 10 })
    await publish(spool, "a")
    const other = new Database(file)
    other.run("BEGIN IMMEDIATE")
    const late = publish(spool, "b".repeat(7), { ms: 50 })
    await expect(publish(spool, "c")).rejects.toThrow("the spool is full")
    await expect(late).rejects.toThrow("in time")
    other.run("ROLLBACK")
    other.close()
    // the thread may still write it until it answers
    await until("an event is spooled", async () =>
      Bun.deepEquals(await publish(spool, "d").catch(() => undefined), SPOOLED),
    )
  })
})

test("an event that is larger than the spool is refused, and fills it for no other", async () => {
  broker.state = "down"
  const spool = open({ maxBytes: 100 })
  await expect(publish(spool, "x".repeat(200))).rejects.toMatchObject({ code: "unavailable" })
  expect(spool.ready()).toBe(true)
  expect(await publish(spool, "a")).toEqual(SPOOLED)
})

describe("the file", () => {
  test("becomes small again when much was forwarded", async () => {
    broker.state = "down"
    const spool = open()
    const value = Buffer.alloc(100_000, "x")
    await Promise.all(
      Array.from({ length: 300 }, () => spool.publish({ topic: "t", value }, steadyMs() + HANG_MS)),
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
