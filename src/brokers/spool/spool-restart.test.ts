import { describe, expect, test } from "bun:test"
import { until } from "../../../test/support/kafka-options.ts"
import { ScriptedBroker } from "../../../test/support/scripted-broker.ts"
import {
  eachWithSpool,
  expectOrderPerKey,
  isEmpty,
  publish,
  SPOOLED,
} from "../../../test/support/spool-fixture.ts"
import { steadyMs } from "../../clock/clock.ts"
import { inspectSpool } from "./reader.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const { broker, counts, file, open, texts } = eachWithSpool()

describe("a restart", () => {
  test("forwards first what was left, and new events queue after it", async () => {
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
    await until("they are deleted", isEmpty(second))
    expect(counts.forwarded).toBeWithin(2500, 2502)
  })

  test("close does not wait for a broker that takes nothing", async () => {
    broker.state = "down"
    const spool = open()
    await publish(spool, "a")
    await spool.close(steadyMs() + HANG_MS)
    expect(texts()).toEqual([])
  })

  test("what is under way at close is answered, and is in the file", async () => {
    const spool = open()
    broker.state = "stalled"
    const underWay = publish(spool, "a")
    const closed = spool.close()
    broker.expire()
    await closed
    expect(await underWay).toEqual(SPOOLED)
    await expect(publish(spool, "late")).rejects.toMatchObject({ code: "closing" })
    expect((await inspectSpool(file)).topics).toMatchObject([{ records: 1 }])
  })
})
