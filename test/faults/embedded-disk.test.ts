import { afterAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/steady-clock.ts"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { mountStallingDisk } from "../support/stalling-disk.ts"
import { eventsInLog, serving, startService } from "../support/webhook-service.ts"

const TOPIC = "webhooks"
const DELIVERY_TIMEOUT_MS = 2000
/** What is left of the disk when it is filled up from outside. */
const LEFT_BYTES = 256 * 1024
const BACK_WITHIN_MS = 2000

const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"))
const stalling = mountStallingDisk(join(folder.path, "stalling"))
afterAll(() => {
  disk?.[Symbol.dispose]()
  stalling?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

const startOn = (directory: string, deliveryTimeoutMs: number): ReturnType<typeof startService> =>
  startService({
    folder: folder.path,
    connection: `directory = ${directory}`,
    topic: TOPIC,
    deliveryTimeoutMs,
  })

describe.skipIf(disk === undefined)("the disk of the embedded log", () => {
  test("full, then with space again: nothing is lost or doubled, and it is written again within two seconds", async () => {
    const directory = join(disk!.path, "log")
    const running = await startOn(directory, DELIVERY_TIMEOUT_MS)
    const senders = new NumberedSenders(serving(running))
    await senders.many(300)
    disk!.fill(LEFT_BYTES)
    const full = await senders.first(({ answer }) => answer === 503)
    await senders.first((it) => it.startedMs > full.answeredMs && it.answer === 503)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(503)
    const line = await running.logged(
      ({ level, msg }) => level === "error" && msg.includes("can't be written"),
    )
    expect(line.msg).toEndWith(`the disk of ${directory} is full`)
    disk!.free()
    const freedMs = steadyMs()
    const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > freedMs)
    await senders.many(300)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInLog(directory, TOPIC))
    report("disk of the embedded log full", findings, back.answeredMs - freedMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.found).toBe(findings.acknowledged)
    expect(back.answeredMs - freedMs).toBeLessThan(BACK_WITHIN_MS)
  }, 60_000)
})

describe.skipIf(stalling === undefined)("the disk of the embedded log, when it stalls,", () => {
  test("holds up no answer beyond delivery_timeout and no probe, and nothing acknowledged is lost", async () => {
    const directory = join(stalling!.path, "log")
    const running = await startOn(directory, DELIVERY_TIMEOUT_MS)
    const senders = new NumberedSenders(serving(running))
    await senders.many(300)
    stalling!.stall()
    try {
      const stalled = await running.logged(({ msg }) => msg.includes("has not answered for"))
      expect(stalled).toMatchObject({ level: "warn" })
      const probe = await fetch(`${running.adminUrl}/readyz`)
      expect(probe.status).toBe(503)
      expect(await probe.text()).toContain("has not answered for")
      const late = await senders.first(({ answer }) => answer === 503)
      await senders.first((it) => it.startedMs > late.answeredMs && it.answer === 503)
    } finally {
      stalling!.goOn()
    }
    const goneOnMs = steadyMs()
    const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > goneOnMs)
    await senders.many(300)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInLog(directory, TOPIC))
    report("disk of the embedded log stalled", findings, back.answeredMs - goneOnMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.doubled).toBe(0)
    expect(back.answeredMs - goneOnMs).toBeLessThan(BACK_WITHIN_MS)
  }, 60_000)

  test("does not keep a Hookline from ending", async () => {
    const running = await startOn(join(stalling!.path, "left"), 500)
    const senders = new NumberedSenders(serving(running), { keys: 2 })
    await senders.many(10)
    stalling!.stall()
    try {
      await senders.first(({ answer }) => answer === 503)
      const ended = running.logged(({ msg }) => msg.includes("is left as it is: its disk does not answer"))
      running.signal("SIGTERM")
      await ended
    } finally {
      stalling!.goOn()
    }
    await senders.stop()
    expect(await running.exited).toBe(0)
  }, 60_000)
})
