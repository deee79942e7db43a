import { afterAll, describe, expect, test } from "bun:test"
import { statSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onLog } from "../support/fault.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { stopReader } from "../support/stopped-reader.ts"

/** What is left of the disk when it is filled up from outside. */
const LEFT_BYTES = 256 * 1024
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

describe.skipIf(disk === undefined)("the disk of the embedded log", () => {
  test("full, then with space again: nothing is lost or doubled, and it is written again", async () => {
    const directory = join(disk!.path, "log")
    const { findings } = await fault("disk of the embedded log full", onLog("", directory), {
      events: [300, 0],
      async during({ senders, running, probe }) {
        disk!.fill(LEFT_BYTES)
        await senders.unavailable()
        expect(await probe("/readyz")).toBe(503)
        const line = await running.logged(
          ({ level, msg }) => level === "error" && msg.includes("can't be written"),
        )
        expect(line.msg).toEndWith(`the disk of ${directory} is full`)
        disk!.free()
        const backAfterMs = await senders.backAfterMs()
        await senders.many(300)
        expect(await probe("/readyz")).toBe(200)
        return backAfterMs
      },
    })
    expect(findings.found).toBe(findings.acknowledged)
  })
})

describe.skipIf(larger === undefined)("the nearly full disk of the embedded log", () => {
  test("is not filled by what retention deletes: every event is accepted meanwhile, and the space comes back", async () => {
    const directory = join(larger!.path, "trimmed")
    await writeBulk(directory, 48 * MEBIBYTE)
    const sizeOf = (file: string): number => statSync(join(directory, file)).size
    const before = sizeOf("log.sqlite")
    larger!.fill(12 * MEBIBYTE)
    const to = onLog("retention_bytes = 8MiB", directory)
    await fault("disk of the embedded log nearly full, retention deleting", to, {
      events: [0, 0],
      allAcked: true,
      async during({ senders, running }) {
        let largestWal = 0
        while (sizeOf("log.sqlite") > before / 2) {
          await senders.many(20)
          largestWal = Math.max(largestWal, sizeOf("log.sqlite-wal"))
        }
        expect(await running.logged(({ msg }) => msg.includes("retention_bytes deleted"))).toMatchObject({
          reason: "size",
        })
        expect(largestWal).toBeLessThan(12 * MEBIBYTE)
      },
    })
  })

  test("is not filled by the WAL that a stopped reader keeps: 503 while there is space, back when the reader is gone", async () => {
    const directory = join(read!.path, "log")
    await fault("embedded log held by a stopped reader", onLog("", directory), {
      events: [100, 0],
      async during({ senders, running, probe }) {
        const reader = await stopReader(join(directory, "log.sqlite"))
        const url = running.urls["webhooks"]!
        await postBulk(url, () => statSync(join(directory, "log.sqlite-wal")).size > 68 * MEBIBYTE)
        const held = await running.logged(({ msg }) => msg.includes("has kept one transaction open"))
        expect(held).toMatchObject({ level: "warn" })
        await postBulk(url, (status) => status === 503)
        const failed = await running.logged(({ msg }) => msg.includes("can't be written"))
        expect(failed).toMatchObject({ level: "error" })
        expect(failed.msg).toContain("keeps ")
        const unavailable = senders.unavailable()
        expect(await probe("/readyz")).toBe(503)
        await unavailable
        await reader[Symbol.asyncDispose]()
        const backAfterMs = await senders.backAfterMs()
        await senders.many(100)
        expect(await probe("/readyz")).toBe(200)
        return backAfterMs
      },
    })
  })
})

/** Writes a log with that many bytes of records in another topic, older than what comes. */
async function writeBulk(directory: string, bytes: number): Promise<void> {
  const broker = openEmbedded({ directory }, { log: pino({ level: "silent" }), metrics: { batch() {} } })
  const value = Buffer.alloc(4096, "x")
  for (let written = 0; written < bytes; written += MEBIBYTE) {
    const record = { topic: "bulk", value }
    await Promise.all(Array.from({ length: 256 }, () => broker.publish(record, steadyMs() + PATIENT_MS)))
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
