import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { inspectSpool } from "../../src/brokers/spool/reader.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, firstsOf, type Findings } from "../support/findings.ts"
import { temporaryFolder, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, createTopic, freshTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders, type Target } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
/** What an answer may be late by. */
const LATE_MS = 100
/** What is left of the disk when it is filled up from outside. */
const LEFT_BYTES = 256 * 1024
const PAUSE_MS = isFull ? 8000 : 4000

const isSpooling = ({ msg }: { msg: string }): boolean => msg.includes("spooling them")
const isDirect = ({ msg }: { msg: string }): boolean => msg.includes("publishing to the broker again")

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a spool before Kafka", () => {
  const folder = temporaryFolder()
  const disk = mountSmallDisk(join(folder.path, "disk"), 40)
  const file = join(folder.path, "spool", "kafka.sqlite")
  let kafka: OwnKafka
  let topic: string
  let port: number

  beforeAll(async () => {
    kafka = await startKafka()
  }, 60_000)
  beforeEach(async () => {
    topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 3 })
    ;[port] = (await freePorts(1)) as [number]
    rmSync(join(folder.path, "spool"), { recursive: true, force: true })
  }, 60_000)
  afterAll(async () => {
    await kafka.stop()
    disk?.[Symbol.dispose]()
    folder[Symbol.dispose]()
  })

  const started: RunningHookline[] = []
  const start = async (more = "", spool = file): Promise<RunningHookline> => {
    const running = await startService({
      folder: folder.path,
      connection: `${onKafka(kafka)}\nspool = ${spool}\n${more}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      port,
    })
    started.push(running)
    return running
  }
  afterEach(async () => {
    await Promise.all(started.splice(0).map((running) => running[Symbol.asyncDispose]()))
    await kafka.nodes[0]!.restore()
  }, 60_000)
  const send = (to: Target, pauseMs = 5): NumberedSenders => new NumberedSenders(to, { keys: 16, pauseMs })
  const readiness = async (running: RunningHookline): Promise<{ status: number; spool: unknown }> => {
    const answer = await fetch(`${running.adminUrl}/readyz`)
    const { spools } = (await answer.json()) as { spools: { broker: unknown } }
    return { status: answer.status, spool: spools.broker }
  }
  const metric = async (running: RunningHookline, name: string): Promise<number> => {
    const text = await (await fetch(`${running.adminUrl}/metrics`)).text()
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(name))!
        .split(" ")
        .at(-1),
    )
  }
  /**
   * Resolves with the next such line that comes after the call: a start under load spools until Kafka is connected, so
   * that there may be earlier ones.
   */
  const next = (running: RunningHookline, test: (line: LogLine) => boolean): Promise<LogLine> => {
    const seen = running.log.length
    return running.logged((line) => test(line) && running.log.indexOf(line) >= seen)
  }

  /** Ends the load, reads the topic, prints and judges. A doubled record counts where it came first. */
  async function judge(scenario: string, senders: NumberedSenders): Promise<Findings> {
    const logged = await eventsInKafka(kafka, topic)
    const firsts = firstsOf(logged)
    const findings = { ...compare(senders.posted, firsts), doubled: logged.length - firsts.length }
    report(`spool: ${scenario}`, findings)
    expect(findings).toMatchObject({ lost: 0, disordered: 0, refusedAndFound: 0 })
    expect(findings.acknowledged).toBeGreaterThan(100)
    expect(findings.longestOwnWaitMs).toBeLessThan(DELIVERY_TIMEOUT_MS + LATE_MS)
    return findings
  }

  test("the broker is down at the start: events are acknowledged, and all are in Kafka when it is up", async () => {
    await kafka.nodes[0]!.kill()
    const running = await start()
    await using senders = send(serving(running))
    await senders.many(500)
    const down = await readiness(running)
    expect(down).toMatchObject({ status: 200, spool: { spool: "ready", quarantined: 0 } })
    expect(down.spool).toMatchObject({ broker: expect.stringContaining("Kafka unavailable") })
    expect(await metric(running, "hookline_spool_records{")).toBeGreaterThan(499)
    expect(await metric(running, "hookline_spool_oldest_age_seconds")).toBeGreaterThan(0)
    const direct = next(running, isDirect)
    await kafka.nodes[0]!.start()
    await direct
    await senders.many(300)
    await senders.stop()
    expect(await readiness(running)).toMatchObject({
      status: 200,
      spool: { broker: "ready", records: 0, bytes: 0 },
    })
    await running.stop()
    const findings = await judge("broker down at the start", senders)
    expect(findings).toMatchObject({ doubled: 0, found: findings.sent, acknowledged: findings.sent })
  }, 60_000)

  test("the broker is killed under load and comes back: every event is acknowledged and there", async () => {
    const running = await start()
    await using senders = send(serving(running))
    await senders.many(500)
    const spooling = next(running, isSpooling)
    await kafka.nodes[0]!.kill()
    await spooling
    await senders.many(500)
    const direct = next(running, isDirect)
    await kafka.nodes[0]!.start()
    await direct
    await senders.many(300)
    await senders.stop()
    await running.stop()
    const findings = await judge("broker killed under load", senders)
    expect(findings.acknowledged).toBe(findings.sent)
  }, 60_000)

  test("the broker stands still under load: every event is acknowledged and there", async () => {
    const running = await start()
    await using senders = send(serving(running))
    await senders.many(500)
    kafka.nodes[0]!.pause()
    await Bun.sleep(PAUSE_MS)
    const direct = next(running, isDirect)
    kafka.nodes[0]!.resume()
    await direct
    await senders.many(300)
    await senders.stop()
    await running.stop()
    const findings = await judge(`broker paused ${PAUSE_MS / 1000} s`, senders)
    expect(findings.acknowledged).toBe(findings.sent)
  }, 60_000)

  test("Hookline is killed while it spools, and while it forwards: what was acknowledged is there", async () => {
    kafka.nodes[0]!.pause()
    let running = await start()
    await using senders = send(serving(running), 0)
    for (let kill = 0; kill < 3; kill++) {
      await senders.many(2000)
      running.signal("SIGKILL")
      await running.exited
      running = await start()
      senders.pid = running.pid
    }
    await senders.many(20)
    expect((await inspectSpool(file)).topics[0]!.records).toBeGreaterThan(5999)
    kafka.nodes[0]!.resume()
    for (let kill = 0; kill < 3; kill++) {
      const before = await metric(running, "hookline_spool_records{")
      while ((await metric(running, "hookline_spool_records{")) > before - 500) await Bun.sleep(1)
      running.signal("SIGKILL")
      await running.exited
      running = await start()
      senders.pid = running.pid
    }
    await running.logged(isDirect)
    await senders.many(100)
    await senders.stop()
    await running.stop()
    await judge("Hookline killed 3 times spooling, 3 times forwarding", senders)
  }, 90_000)

  test("SIGTERM: with Kafka up the spool is forwarded, with Kafka down it is kept for the next start", async () => {
    kafka.nodes[0]!.pause()
    let running = await start()
    await using senders = send(serving(running))
    await senders.many(500)
    expect(await running.stop()).toBe(0)
    expect((await inspectSpool(file)).topics[0]!.records).toBeGreaterThan(499)
    running = await start()
    senders.pid = running.pid
    expect(running.log.find(({ msg }) => msg === "spool has events to forward")).toMatchObject({
      records: expect.any(Number),
      topics: [topic],
    })
    await senders.many(200)
    await senders.stop()
    kafka.nodes[0]!.resume()
    await running.logged(({ msg }) => msg === "connected to Kafka")
    expect(await running.stop()).toBe(0)
    expect(await inspectSpool(file)).toEqual({ topics: [], quarantined: [] })
    const findings = await judge("SIGTERM while spooling", senders)
    expect(findings.doubled).toBe(0)
  }, 60_000)

  test("a full spool answers 503 with Retry-After, and takes events again when there is room", async () => {
    kafka.nodes[0]!.pause()
    const running = await start("spool_max_bytes = 20KiB")
    await using senders = send(serving(running))
    const full = await senders.first(({ answer }) => answer === 503)
    const refused = await fetch(running.urls["webhooks"]!, { method: "POST", body: '{"n":"refused"}' })
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    expect((await readiness(running)).status).toBe(503)
    expect(await metric(running, "hookline_spool_bytes")).toBeLessThanOrEqual(20 * 1024)
    const direct = next(running, isDirect)
    kafka.nodes[0]!.resume()
    await senders.first(({ answer, startedMs }) => answer === 200 && startedMs > full.answeredMs)
    await direct
    await senders.many(200)
    await senders.stop()
    expect((await readiness(running)).status).toBe(200)
    await running.stop()
    const findings = await judge("spool full", senders)
    expect(findings).toMatchObject({ doubled: 0, found: findings.acknowledged })
  }, 60_000)

  test.skipIf(disk === undefined)(
    "its disk is full: 503, and forwarding frees the room of the spool all the same; then it heals",
    async () => {
      const spool = join(disk!.path, "spool.sqlite")
      kafka.nodes[0]!.pause()
      const running = await start("", spool)
      await using senders = send(serving(running))
      await senders.many(200)
      const large = `{"pad":"${"x".repeat(100_000)}"}`
      for (let n = 0; n < 150; n++)
        expect((await fetch(running.urls["webhooks"]!, { method: "POST", body: large })).status).toBe(200)
      disk!.fill(LEFT_BYTES)
      const full = await senders.first(({ answer }) => answer === 503)
      await senders.first((it) => it.startedMs > full.answeredMs && it.answer === 503)
      expect((await readiness(running)).status).toBe(503)

      const direct = next(running, isDirect)
      kafka.nodes[0]!.resume()
      await direct
      await senders.acknowledged()
      expect(await inspectSpool(spool)).toEqual({ topics: [], quarantined: [] })
      disk!.free()
      await running.logged(({ msg }) => msg === "disk of the spool has space again")
      const spooling = next(running, isSpooling)
      kafka.nodes[0]!.pause()
      await spooling
      await senders.acknowledged()
      const again = next(running, isDirect)
      kafka.nodes[0]!.resume()
      await again
      await senders.stop()
      await running.stop()
      const db = new Database(spool)
      expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" })
      db.close()
      await judge("disk full", senders)
    },
    60_000,
  )
})
