import { describe, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import * as fc from "fast-check"
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

const { broker, counts, file, directory, open, texts } = eachWithSpool()

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
    const underWay = publish(spool, "a")
    const closed = spool.close()
    broker.expire()
    await closed
    expect(await underWay).toEqual(SPOOLED)
    await expect(publish(spool, "late")).rejects.toMatchObject({ code: "closing" })
    expect((await inspectSpool(file)).topics).toMatchObject([{ records: 1 }])
  })
})

test("whatever brokers do, what was acknowledged arrives, in order per key, also over restarts and changes", async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ publish: fc.integer({ min: 1, max: 30 }) }) },
    { weight: 2, arbitrary: fc.constantFrom("up" as const, "down" as const, "stalled" as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("restart" as const, "change" as const, "settle" as const, "expire" as const),
    },
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
        const closed = spool.close()
        acting.expire()
        await closed
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
            const answer = publish(spool, text, { key: text[0]! })
            answers.push(answer.then(() => acknowledged.push(text)))
          }
        } else if (action === "restart") await restart()
        else if (action === "change") change()
        else if (action === "expire") acting.expire()
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
