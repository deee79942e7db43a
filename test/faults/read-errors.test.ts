import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { EmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { canModelDisks, compileDiskModel, orderedDisk } from "../support/disk-model.ts"
import { fault, onLog, type Destination } from "../support/fault.ts"
import { eventsIn } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"

setDefaultTimeout(300_000)

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
