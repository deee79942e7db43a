import { beforeEach, describe, expect, test } from "bun:test"
import { until } from "../../../test/support/kafka-options.ts"
import { ScriptedBroker } from "../../../test/support/scripted-broker.ts"
import { direct, eachWithSpool, publish, SPOOLED } from "../../../test/support/spool-fixture.ts"
import type { PublishError } from "../../errors.ts"
import { inspectSpool } from "./reader.ts"

const { broker, counts, file, open, texts } = eachWithSpool()

describe("another broker in the place of the one before", () => {
  let other: ScriptedBroker
  beforeEach(() => {
    other = new ScriptedBroker()
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

  test("keeps no event waiting beyond its deadline for the one before", async () => {
    const spool = open()
    broker.state = "stalled"
    const first = publish(spool, "first")
    spool.use(other)
    expect(await publish(spool, "second", { ms: 2000 })).toEqual(SPOOLED)
    expect(await first).toEqual(SPOOLED)
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

  test("prepares the topics that the one before it prepared", async () => {
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
    const underWay = publish(spool, "b")
    spool.retire()
    broker.expire()
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
