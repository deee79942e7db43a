import { afterAll, describe, expect, test } from "bun:test"
import { statSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { stopReader } from "../support/stopped-reader.ts"
import { eventsInLog, serving, startService } from "../support/webhook-service.ts"

const TOPIC = "webhooks"
const DELIVERY_TIMEOUT_MS = 2000
/** What is left of the disk when it is filled up from outside. */
const LEFT_BYTES = 256 * 1024
const BACK_WITHIN_MS = 2000
const MEBIBYTE = 1024 * 1024

const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"))
/** Large enough for what has to go, and for a WAL that a reader keeps. */
const larger = disk && mountSmallDisk(join(folder.path, "larger"), 100)
const read = disk && mountSmallDisk(join(folder.path, "read"), 192)
afterAll(() => {
  read?.[Symbol.dispose]()
  larger?.[Symbol.dispose]()
  disk?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

const startOn = (
  directory: string,
  deliveryTimeoutMs: number,
  retention = "",
): ReturnType<typeof startService> =>
  startService({
    folder: folder.path,
    connection: `directory = ${directory}\n${retention}`,
    topic: TOPIC,
    deliveryTimeoutMs,
  })

describe.skipIf(disk === undefined)("the disk of the embedded log", () => {
  test("full, then with space again: nothing is lost or doubled, and it is written again within two seconds", async () => {
    const directory = join(disk!.path, "log")
    await using running = await startOn(directory, DELIVERY_TIMEOUT_MS)
    await using senders = new NumberedSenders(serving(running))
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

describe.skipIf(larger === undefined)("the nearly full disk of the embedded log", () => {
  test("is not filled by what retention deletes: every event is taken meanwhile, and the space comes back", async () => {
    const directory = join(larger!.path, "trimmed")
    await writeBulk(directory, 48 * MEBIBYTE)
    const sizeOf = (file: string): number => statSync(join(directory, file)).size
    const before = sizeOf("log.sqlite")
    larger!.fill(12 * MEBIBYTE)
    await using running = await startOn(directory, DELIVERY_TIMEOUT_MS, "retention_bytes = 8MiB")
    await using senders = new NumberedSenders(serving(running))
    let largestWal = 0
    while (sizeOf("log.sqlite") > before / 2) {
      await senders.many(20)
      largestWal = Math.max(largestWal, sizeOf("log.sqlite-wal"))
    }
    expect(await running.logged(({ msg }) => msg.includes("retention_bytes deleted"))).toMatchObject({
      reason: "size",
    })
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInLog(directory, TOPIC))
    report("disk of the embedded log nearly full, retention deleting", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.acknowledged).toBe(findings.sent)
    expect(largestWal).toBeLessThan(12 * MEBIBYTE)
  }, 60_000)

  test("is not filled by the WAL that a stopped reader keeps: 503 while there is room, back when the reader is gone", async () => {
    const directory = join(read!.path, "log")
    await using running = await startOn(directory, DELIVERY_TIMEOUT_MS)
    await using senders = new NumberedSenders(serving(running))
    await senders.many(100)
    const reader = await stopReader(join(directory, "log.sqlite"))
    const url = running.urls["webhooks"]!
    await postBulk(url, () => statSync(join(directory, "log.sqlite-wal")).size > 68 * MEBIBYTE)
    const held = await running.logged(({ msg }) => msg.includes("has kept one transaction open"))
    expect(held).toMatchObject({ level: "warn" })
    await postBulk(url, (status) => status === 503)
    const failed = await running.logged(({ msg }) => msg.includes("can't be written"))
    expect(failed).toMatchObject({ level: "error" })
    expect(failed.msg).toContain("keeps ")
    const refused = await senders.first(({ answer }) => answer === 503)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(503)
    await senders.first((it) => it.startedMs > refused.answeredMs && it.answer === 503)
    await reader[Symbol.asyncDispose]()
    const goneMs = steadyMs()
    const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > goneMs)
    await senders.many(100)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    await senders.stop()
    await running.stop()

    const findings = compare(senders.posted, await eventsInLog(directory, TOPIC))
    report("embedded log held by a stopped reader", findings, back.answeredMs - goneMs)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(back.answeredMs - goneMs).toBeLessThan(BACK_WITHIN_MS)
  }, 60_000)
})

/** Writes a log with so many bytes of records in another topic, older than what comes. */
async function writeBulk(directory: string, bytes: number): Promise<void> {
  const broker = openEmbedded({ directory }, { log: pino({ level: "silent" }), metrics: { batch() {} } })
  const value = Buffer.alloc(4096, "x")
  for (let written = 0; written < bytes; written += MEBIBYTE) {
    const record = { topic: "bulk", value }
    await Promise.all(Array.from({ length: 256 }, () => broker.publish(record, steadyMs() + 10_000)))
  }
  await broker.close()
}

/** Posts events of 500 KB, one after the other, until it is enough. */
async function postBulk(url: string, isEnough: (status: number) => boolean): Promise<void> {
  const body = JSON.stringify({ k: "bulk", pad: "x".repeat(500_000) })
  let status = 0
  do {
    const answer = await fetch(url, { method: "POST", body })
    await answer.arrayBuffer()
    status = answer.status
  } while (!isEnough(status))
}
