import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { packBatch } from "../../src/brokers/embedded/batch.ts"
import { LogDatabase } from "../../src/brokers/embedded/log-database.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { EmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { logIn } from "../../src/storage/database-file.ts"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { canModelDisks, compileDiskModel, orderedDisk } from "../support/disk-model.ts"
import { fault, onLog, type Destination } from "../support/fault.ts"
import { eventsIn } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"

setDefaultTimeout(300_000)

/** KAFKA_STORAGE_ERROR, upon which clients try again. */
const STORAGE_ERROR = 56
const TOPIC = "webhooks"
/** Hookline tries it again every half second. */
const LASTS_MS = 4000

const folder = temporaryFolder()
const library = compileDiskModel(folder.path)
afterAll(() => folder[Symbol.dispose]())

/** What has files in the folder whose disk can't be read. */
const SUBJECTS: { title: string; to: (broken: string, port: number) => Destination }[] = [
  { title: "embedded log", to: (broken) => onLog("", broken) },
  {
    title: "spool",
    to(broken, port) {
      const file = join(broken, "spool.sqlite")
      return {
        connection: `bootstrap_servers = 127.0.0.1:${port}\nspool = ${file}`,
        topic: TOPIC,
        async events() {
          const reader = new EmbeddedReader(spoolAt(file))
          const { signal } = new AbortController()
          const records = await Array.fromAsync(
            readTopic(reader, TOPIC, { from: "beginning", follow: false, signal }),
          )
          await reader.close()
          return eventsIn(records.map(({ value }) => Buffer.from(value).toString()))
        },
      }
    },
  },
  {
    title: "Deduplicator's store",
    to: (broken) => ({
      ...onLog("", `${broken}-log`),
      source: `[pipeline:webhooks:Deduplicator]\nkey = json:/n\nstore = ${join(broken, "keys.sqlite")}`,
    }),
  },
]

describe.skipIf(!canModelDisks()).each(SUBJECTS)(
  "the disk of the $title, when it answers no read,",
  ({ title, to }) => {
    test("has events answered 503 and named as such, and they are accepted again without a restart once it does", async () => {
      const broken = folder.make(title.replaceAll(/\W/g, "-"))
      const disk = orderedDisk(library!, `${broken}.orders`, broken)
      const { running, findings } = await fault(
        `read errors of the ${title}, ${LASTS_MS / 1000} s`,
        to(broken, await freePort()),
        {
          env: disk.env,
          events: [300, 0],
          async during({ senders, running, probe }) {
            disk.failReads(true)
            const line = await running.logged(
              ({ level, msg }) => level === "error" && msg.includes("can't be written"),
            )
            expect(line.msg).toContain("its disk answers with a read error")
            await until("not ready", async () => {
              const readiness = await fetch(`${running.adminUrl}/readyz`)
              return readiness.status === 503 && (await readiness.text()).includes("with a read error")
            })
            await senders.unavailable()
            await Bun.sleep(LASTS_MS)
            expect(await probe("/readyz")).toBe(503)
            disk.failReads(false)
            const backAfterMs = await senders.backAfterMs()
            await senders.many(300)
            expect(await probe("/readyz")).toBe(200)
            return backAfterMs
          },
        },
      )
      expect(findings.found).toBe(findings.acknowledged)
      expect(running.log.filter(({ msg }) => msg.includes("damaged"))).toEqual([])
    })
  },
)

describe.skipIf(!canModelDisks())("a log whose disk answers no read", () => {
  test.each([
    ["in its database", true],
    ["in its WAL", false],
  ])("is not damaged to who reads it, %s, and is read again once it does", async (_, isClosed) => {
    const directory = folder.make(isClosed ? "closed" : "open")
    const log = new LogDatabase(logIn(directory))
    const records = Array.from({ length: 40 }, () => ({ topic: "t", value: Buffer.alloc(10_000, 1) }))
    log.commit(packBatch(records.map((record) => ({ record }))), Date.now())
    if (isClosed) log.close()
    const disk = orderedDisk(library!, `${directory}.orders`, directory)
    const { status, stdout, stderr } = await runToEnd(
      endingWithThisProcess(
        process.execPath,
        join(import.meta.dir, "../support/reading-program.ts"),
        directory,
        library!,
        `${directory}.orders`,
      ),
      { env: { ...process.env, ...disk.env } },
    )
    if (!isClosed) log.close()
    expect([status, stderr]).toEqual([0, ""])
    const { during, after } = JSON.parse(stdout) as { during: unknown; after: unknown }
    expect(during).toEqual({
      tailed: expect.stringMatching(/^log_io .*its disk answers with a read error/),
      fetched: STORAGE_ERROR,
      reasons: [expect.stringContaining("its disk answers with a read error")],
    })
    expect(after).toEqual({ tailed: 40, fetched: 40, reasons: [] })
  })
})
