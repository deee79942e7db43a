import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { folderOfTests } from "../support/hookline.ts"
import { movableClock } from "../support/movable-clock.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInLog, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 1000
const HOUR_S = 3600
/** Back an hour, then ahead by nearly two. */
const OFFSETS_S = [-HOUR_S, 0.8 * HOUR_S]

const folder = folderOfTests()
const clock = movableClock(folder.path)

describe.skipIf(clock === undefined)("the clock set back an hour, then ahead", () => {
  test("over an embedded log: every event is taken, and retention deletes none that is younger", async () => {
    const directory = join(folder.path, "log")
    clock!.set(0)
    await using running = await startService({
      folder: folder.path,
      connection: `directory = ${directory}\nretention = ${2 * HOUR_S}s`,
      topic: "webhooks",
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      env: clock!.env,
    })
    await using senders = new NumberedSenders(serving(running))
    for (const offsetS of [0, ...OFFSETS_S, 0]) {
      clock!.set(offsetS)
      await senders.many(300)
    }
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInLog(directory, "webhooks"))
    report("clock set back and ahead, embedded log", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.acknowledged).toBe(findings.sent)
  }, 60_000)

  test("two hours ahead for a moment, over an embedded log that keeps events for one: none is lost, and it is logged", async () => {
    const directory = join(folder.path, "ahead")
    clock!.set(0)
    await using running = await startService({
      folder: folder.path,
      connection: `directory = ${directory}\nretention = ${HOUR_S}s`,
      topic: "webhooks",
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      env: clock!.env,
    })
    await using senders = new NumberedSenders(serving(running))
    await senders.many(300)
    clock!.set(2 * HOUR_S)
    const aheadMs = steadyMs()
    await senders.first((it) => isAcknowledged(it) && it.answeredMs > aheadMs + 1500)
    clock!.set(0)
    await senders.many(300)
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInLog(directory, "webhooks"))
    report("clock two hours ahead for 1.5 s, retention of one", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.acknowledged).toBe(findings.sent)
    expect(running.log).toContainEqual(
      expect.objectContaining({ level: "warn", msg: expect.stringContaining("clock jumped ahead") }),
    )
  }, 60_000)
})
