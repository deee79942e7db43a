import { afterAll, describe, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { join } from "node:path"
import { inspectSpool } from "../../src/brokers/spool/reader.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onNewTopic, type Scenario } from "../support/fault.ts"
import type { Findings } from "../support/findings.ts"
import { temporaryFolder, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, freshTopic } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { isAcknowledged } from "../support/numbered-senders.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { nextLine } from "../support/started.ts"
import { onKafka } from "../support/webhook-service.ts"
import { metricOf, sum } from "../support/metric-of.ts"

/** What is left of the disk when it is filled up from outside. */
const LEFT_BYTES = 256 * 1024
/** Of which the broker has all but the last second, that is for the file. */
const DELIVERY_TIMEOUT_MS = 8000
const PAUSE_MS = DELIVERY_TIMEOUT_MS

const isSpooling = ({ msg }: LogLine): boolean => msg.includes("spooling them")
const isDirect = ({ msg }: LogLine): boolean => msg.includes("publishing to the broker again")

const readiness = async (running: RunningHookline): Promise<{ status: number; spool: unknown }> => {
  const answer = await fetch(`${running.adminUrl}/readyz`)
  const { spools } = (await answer.json()) as { spools: { broker: unknown } }
  return { status: answer.status, spool: spools.broker }
}
const metric = async (running: RunningHookline, name: string): Promise<number> =>
  sum((await metricOf(running, name)).values())
const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"), 40)
afterAll(() => {
  disk?.[Symbol.dispose]()
  folder[Symbol.dispose]()
})

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a spool before Kafka", () => {
  const kafka = kafkaOfTests()

  interface Spooled extends Scenario {
    /** More lines of the connection. */
    readonly connection?: string
    readonly file?: string
  }

  /** A scenario with a spool. A doubled record counts where it came first. */
  async function spooled(
    row: string,
    { connection = "", file = join(folder.path, freshTopic("spool")), ...scenario }: Spooled,
  ): Promise<Findings> {
    const lines = `${onKafka(kafka)}\nspool = ${file}\n${connection}`
    const to = await onNewTopic(kafka, { partitions: 3 }, lines)
    const sending = { keys: 16, pauseMs: 5 }
    const { findings } = await fault(`spool: ${row}`, to, {
      sending,
      mayDouble: true,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      ...scenario,
    })
    return findings
  }

  test("the broker is down at the start: events are acknowledged, and all are in Kafka when it is up", async () => {
    const findings = await spooled("broker down at the start", {
      prepare: () => kafka.nodes[0]!.kill(),
      allAcked: true,
      events: [500, 0],
      async during({ senders, running }) {
        const down = await readiness(running)
        expect(down).toMatchObject({ status: 200, spool: { spool: "ready", quarantined: 0 } })
        expect(down.spool).toMatchObject({ broker: expect.stringContaining("Kafka unavailable") })
        expect(await metric(running, "hookline_spool_records")).toBeGreaterThan(499)
        expect(await metric(running, "hookline_spool_oldest_age_seconds")).toBeGreaterThan(0)
        const direct = nextLine(running, isDirect)
        await kafka.nodes[0]!.start()
        await direct
        await senders.many(300)
        await senders.stop()
        expect(await readiness(running)).toMatchObject({
          status: 200,
          spool: { broker: "ready", records: 0, bytes: 0 },
        })
      },
    })
    expect(findings).toMatchObject({ doubled: 0, found: findings.sent })
  })

  test("the broker is killed under load and comes back: every event is acknowledged and there", async () => {
    await spooled("broker killed under load", {
      allAcked: true,
      events: [500, 300],
      async during({ senders, running }) {
        const spooling = nextLine(running, isSpooling)
        await kafka.nodes[0]!.kill()
        await spooling
        await senders.many(500)
        const direct = nextLine(running, isDirect)
        await kafka.nodes[0]!.start()
        await direct
      },
    })
  })

  test("the broker stands still under load: once they are spooled, every event is acknowledged, and all are there", async () => {
    await spooled(`broker paused ${PAUSE_MS / 1000} s`, {
      events: [500, 300],
      async during({ senders, running }) {
        const spooling = nextLine(running, isSpooling)
        kafka.nodes[0]!.pause()
        const pausedMs = steadyMs()
        await spooling
        const spoolingMs = steadyMs()
        await senders.many(300)
        await Bun.sleep(PAUSE_MS - (steadyMs() - pausedMs))
        const direct = nextLine(running, isDirect)
        kafka.nodes[0]!.resume()
        await direct
        const refused = senders.posted.filter((it) => it.startedMs > spoolingMs && !isAcknowledged(it))
        expect(refused).toEqual([])
      },
    })
  })

  test("Hookline is killed while it spools, and while it forwards: what was acknowledged arrives", async () => {
    const file = join(folder.path, "killed.sqlite")
    await spooled("Hookline killed 3 times spooling, 3 times forwarding", {
      prepare: () => kafka.nodes[0]!.pause(),
      file,
      sending: { keys: 16, pauseMs: 0 },
      events: [0, 100],
      async during(load) {
        for (let kill = 0; kill < 3; kill++) {
          await load.senders.many(2000)
          await load.restart()
        }
        await load.senders.many(20)
        expect((await inspectSpool(file)).topics[0]!.records).toBeGreaterThan(5999)
        kafka.nodes[0]!.resume()
        const records = (): Promise<number> => metric(load.running, "hookline_spool_records")
        for (let kill = 0; kill < 3; kill++) {
          const before = await records()
          while ((await records()) > Math.max(0, before - 500)) await Bun.sleep(1)
          await load.restart()
        }
        await load.running.logged(isDirect)
      },
    })
  })

  test("SIGTERM: with Kafka up the spool is forwarded, with Kafka down it is kept for the next start", async () => {
    const file = join(folder.path, "stopped.sqlite")
    const findings = await spooled("SIGTERM while spooling", {
      prepare: () => kafka.nodes[0]!.pause(),
      file,
      events: [500, 0],
      async during(load) {
        const { senders } = load
        await load.restart(async (running) => {
          expect(await running.stop()).toBe(0)
          expect((await inspectSpool(file)).topics[0]!.records).toBeGreaterThan(499)
        })
        const toForward = load.running.log.find(({ msg }) => msg === "spool has events to forward")
        expect(toForward).toMatchObject({ records: expect.any(Number), topics: [load.topic] })
        await senders.many(200)
        await senders.stop()
        kafka.nodes[0]!.resume()
        await load.running.logged(({ msg }) => msg === "connected to Kafka")
        expect(await load.running.stop()).toBe(0)
        expect(await inspectSpool(file)).toEqual({ topics: [], quarantined: [] })
      },
    })
    expect(findings.doubled).toBe(0)
  })

  test("a full spool answers 503 with Retry-After, and accepts events again when it has space", async () => {
    const findings = await spooled("spool full", {
      prepare: () => kafka.nodes[0]!.pause(),
      connection: "spool_max_bytes = 20KiB",
      events: [0, 0],
      async during({ senders, running, probe }) {
        const full = await senders.first(({ answer }) => answer === 503)
        const refused = await fetch(running.urls["webhooks"]!, { method: "POST", body: '{"n":"refused"}' })
        expect(refused.status).toBe(503)
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
        expect(await probe("/readyz")).toBe(503)
        expect(await metric(running, "hookline_spool_bytes")).toBeLessThanOrEqual(20 * 1024)
        const direct = nextLine(running, isDirect)
        kafka.nodes[0]!.resume()
        await senders.first(({ answer, startedMs }) => answer === 200 && startedMs > full.answeredMs)
        await direct
        await senders.many(200)
        await senders.stop()
        expect(await probe("/readyz")).toBe(200)
      },
    })
    expect(findings).toMatchObject({ doubled: 0, found: findings.acknowledged })
  })

  test.skipIf(disk === undefined)(
    "its disk is full: 503, and forwarding frees the space of the spool all the same; then it heals",
    async () => {
      const file = join(disk!.path, "spool.sqlite")
      await spooled("disk full", {
        prepare: () => kafka.nodes[0]!.pause(),
        file,
        events: [200, 0],
        async during({ senders, running, probe }) {
          const large = `{"pad":"${"x".repeat(100_000)}"}`
          for (let n = 0; n < 150; n++)
            expect((await fetch(running.urls["webhooks"]!, { method: "POST", body: large })).status).toBe(200)
          disk!.fill(LEFT_BYTES)
          await senders.unavailable()
          expect(await probe("/readyz")).toBe(503)

          const direct = nextLine(running, isDirect)
          kafka.nodes[0]!.resume()
          await direct
          await senders.acknowledged()
          expect(await inspectSpool(file)).toEqual({ topics: [], quarantined: [] })
          disk!.free()
          await running.logged(({ msg }) => msg === "disk of the spool has space again")
          const spooling = nextLine(running, isSpooling)
          kafka.nodes[0]!.pause()
          await spooling
          await senders.acknowledged()
          const again = nextLine(running, isDirect)
          kafka.nodes[0]!.resume()
          await again
        },
      })
      using db = new Database(file)
      expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" })
    },
  )
})
