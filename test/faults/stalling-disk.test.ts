import { afterAll, afterEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { EmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare, eventsIn, expectKept, type Logged } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import { mountStallingDisk } from "../support/stalling-disk.ts"
import { eventsInLog, serving, startService, type ServiceSettings } from "../support/webhook-service.ts"

const TOPIC = "webhooks"
const DELIVERY_TIMEOUT_MS = 2000
const BACK_WITHIN_MS = 2000
/** What a probe may take on a busy machine. */
const PROBE_MS = 1000

const folder = temporaryFolder()
const stalling = mountStallingDisk(join(folder.path, "stalling"))
afterEach(() => stalling?.goOn())
afterAll(() => {
  stalling?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

type Setting = Pick<ServiceSettings, "connection" | "source">

/** What writes to the disk, and where its events are found. */
interface Subject {
  readonly title: string
  setting(name: string): Promise<Setting>
  events(name: string): Promise<Logged[]>
}

const onDisk = (name: string): string => join(stalling!.path, name)

const subjects: Subject[] = [
  {
    title: "embedded log",
    setting: async (name) => ({ connection: `directory = ${onDisk(name)}` }),
    events: (name) => eventsInLog(onDisk(name), TOPIC),
  },
  {
    title: "spool",
    async setting(name) {
      const [nobody] = await freePorts(1)
      return { connection: `bootstrap_servers = 127.0.0.1:${nobody}\nspool = ${onDisk(`${name}.sqlite`)}` }
    },
    async events(name) {
      const reader = new EmbeddedReader(spoolAt(onDisk(`${name}.sqlite`)))
      const { signal } = new AbortController()
      const records = await Array.fromAsync(
        readTopic(reader, TOPIC, { from: "beginning", follow: false, signal }),
      )
      await reader.close()
      return eventsIn(records.map(({ value }) => Buffer.from(value).toString()))
    },
  },
  {
    title: "Deduplicator's store",
    setting: async (name) => ({
      connection: `directory = ${join(folder.path, name)}`,
      source: `[pipeline:webhooks:Deduplicator]\nkey = json:/n\nstore = ${onDisk(name)}`,
    }),
    events: (name) => eventsInLog(join(folder.path, name), TOPIC),
  },
]

describe.skipIf(stalling === undefined).each(subjects)(
  "the disk of the $title, when it stalls,",
  ({ title, setting, events }) => {
    const start = async (name: string, deliveryTimeoutMs: number): ReturnType<typeof startService> =>
      startService({ folder: folder.path, topic: TOPIC, deliveryTimeoutMs, ...(await setting(name)) })

    test("holds up no answer beyond delivery_timeout and no probe, and nothing acknowledged is lost", async () => {
      const name = `${title.replaceAll(/\W/g, "-")}-log`
      const running = await start(name, DELIVERY_TIMEOUT_MS)
      const probe = async (path: string): Promise<{ status: number; text: string; ms: number }> => {
        const startedMs = steadyMs()
        const answer = await fetch(`${running.adminUrl}${path}`)
        return { status: answer.status, text: await answer.text(), ms: steadyMs() - startedMs }
      }
      const senders = new NumberedSenders(serving(running))
      await senders.many(300)
      stalling!.stall()
      const stalled = await running.logged(({ msg }) => msg.includes("has not answered for"))
      expect(stalled).toMatchObject({ level: "warn" })
      const readiness = await probe("/readyz")
      expect(readiness).toMatchObject({
        status: 503,
        text: expect.stringContaining("has not answered for"),
      })
      const late = await senders.first(({ answer }) => answer === 503)
      await senders.first((it) => it.startedMs > late.answeredMs && it.answer === 503)
      const health = await probe("/healthz")
      expect(health.status).toBe(200)
      expect(Math.max(readiness.ms, health.ms)).toBeLessThan(PROBE_MS)
      stalling!.goOn()
      const goneOnMs = steadyMs()
      const back = await senders.first((it) => isAcknowledged(it) && it.answeredMs > goneOnMs)
      await senders.many(300)
      expect((await probe("/readyz")).status).toBe(200)
      await senders.stop()
      await running.stop()

      const findings = compare(senders.posted, await events(name))
      report(`disk of the ${title} stalled`, findings, back.answeredMs - goneOnMs)
      expectKept(findings, DELIVERY_TIMEOUT_MS)
      expect(findings.doubled).toBe(0)
      expect(back.answeredMs - goneOnMs).toBeLessThan(BACK_WITHIN_MS)
    }, 60_000)

    test("does not keep a Hookline from ending", async () => {
      const running = await start(`${title.replaceAll(/\W/g, "-")}-left`, 500)
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
    }, 60_000)
  },
)
