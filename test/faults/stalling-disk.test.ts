import { afterAll, afterEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { EmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { fault, onLog, type Destination } from "../support/fault.ts"
import { eventsIn } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { nextLine } from "../support/started.ts"
import { mountStallingDisk } from "../support/stalling-disk.ts"
import { serving, startService } from "../support/webhook-service.ts"

const TOPIC = "webhooks"

const folder = temporaryFolder()
const stalling = mountStallingDisk(join(folder.path, "stalling"))
afterEach(() => stalling?.goOn())
afterAll(() => {
  stalling?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

const onDisk = (name: string): string => join(stalling!.path, name)

/** What writes to the disk. */
const subjects: { title: string; to: (name: string) => Promise<Destination> | Destination }[] = [
  { title: "embedded log", to: (name) => onLog("", onDisk(name)) },
  {
    title: "spool",
    async to(name) {
      const file = onDisk(`${name}.sqlite`)
      const nobody = `127.0.0.1:${await freePort()}`
      return {
        connection: `bootstrap_servers = ${nobody}\nspool = ${file}`,
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
    to: (name) => ({
      ...onLog("", join(folder.path, name)),
      source: `[pipeline:webhooks:Deduplicator]\nkey = json:/n\nstore = ${onDisk(name)}`,
    }),
  },
]

describe.skipIf(stalling === undefined).each(subjects)(
  "the disk of the $title, when it stalls,",
  ({ title, to }) => {
    const named = (suffix: string): string => `${title.replaceAll(/\W/g, "-")}-${suffix}`

    test("holds up no answer beyond delivery_timeout and no probe, and nothing acknowledged is lost", async () => {
      await fault(`disk of the ${title} stalled`, await to(named("log")), {
        events: [300, 0],
        async during({ senders, running, probe }) {
          // a busy machine's disk may have been slow before
          const stalled = nextLine(running, ({ msg }) => msg.includes("has not answered for"))
          stalling!.stall()
          try {
            expect(await stalled).toMatchObject({ level: "warn" })
            // the disk answers nobody until goOn
            await until("not ready", async () => {
              const readiness = await fetch(`${running.adminUrl}/readyz`)
              return readiness.status === 503 && (await readiness.text()).includes("has not answered for")
            })
            await senders.unavailable()
            expect(await probe("/healthz")).toBe(200)
          } finally {
            // else nothing ends
            stalling!.goOn()
          }
          const backAfterMs = await senders.backAfterMs()
          await senders.many(300)
          expect(await probe("/readyz")).toBe(200)
          return backAfterMs
        },
      })
    })

    test("does not keep a Hookline from ending", async () => {
      const settings = { ...(await to(named("left"))), folder: folder.path, deliveryTimeoutMs: 500 }
      const running = await startService(settings)
      const senders = new NumberedSenders(serving(running), { keys: 2 })
      await senders.many(10)
      stalling!.stall()
      await senders.first(({ answer }) => answer === 503)
      const ended = running.logged(({ msg }) => msg.includes("was not closed: its disk does not answer"))
      running.signal("SIGTERM")
      await ended
      stalling!.goOn()
      await senders.stop()
      expect(await running.exited).toBe(0)
    })
  },
)
