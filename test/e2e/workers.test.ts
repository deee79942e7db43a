import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { compare, firstsOf } from "../support/findings.ts"
import { reload, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { freePort } from "../support/http-server.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import {
  configurationOf,
  eventsInKafka,
  eventsInLog,
  onKafka,
  serving,
  startService,
} from "../support/webhook-service.ts"
import { childrenOf, gone, metricOf, sum } from "../support/worker-processes.ts"

const root = temporaryFolder()
afterAll(() => root[Symbol.dispose]())

const KEPT = { lost: 0, doubled: 0, disordered: 0, refusedAndFound: 0 }
const TIMEOUT_MS = 2000

const answered = (running: RunningHookline): Promise<Map<string, number>> =>
  metricOf(running, "hookline_worker_http_requests_total")

describe("two workers on an embedded log", () => {
  const topic = "webhooks"
  let folder: string
  let running: RunningHookline
  let senders: NumberedSenders
  let count = 0
  const logged = () => eventsInLog(join(folder, "log"), topic)

  beforeEach(async () => {
    folder = join(root.path, String(count++))
    mkdirSync(folder)
    running = await startService({
      folder,
      connection: "directory = log",
      topic,
      deliveryTimeoutMs: TIMEOUT_MS,
      port: await freePort(),
      workers: 2,
    })
    senders = new NumberedSenders(serving(running), { keyless: 8 })
    await senders.many(200)
  }, 30_000)
  afterEach(async () => {
    await senders.stop()
    await running.stop()
  })

  test("events over many connections reach both, and each is in the log once, without a gap; the metrics are sums", async () => {
    await senders.stop()
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    const byWorker = await answered(running)
    expect([...byWorker.keys()]).toEqual(['worker="1"', 'worker="2"'])
    expect(Math.min(...byWorker.values())).toBeGreaterThan(0)
    expect(sum(byWorker.values())).toBe(senders.posted.length)
    for (const [name, labels] of [
      ["hookline_http_requests_total", 'pipeline="webhooks",status="200"'],
      ["hookline_events_total", 'pipeline="webhooks",outcome="accepted",reason=""'],
      ["hookline_acknowledgement_seconds_count", 'pipeline="webhooks"'],
      ["hookline_batch_records_sum", 'connection="broker"'],
    ] as const)
      expect([name, (await metricOf(running, name)).get(labels)]).toEqual([name, senders.posted.length])
    const findings = compare(senders.posted, await logged())
    expect(findings).toMatchObject({ ...KEPT, acknowledged: findings.sent, found: findings.sent })
  }, 30_000)

  test("a worker that is killed takes nobody along, is started again, and what it counted stays", async () => {
    const total = async (): Promise<number> =>
      sum((await metricOf(running, "hookline_http_requests_total")).values())
    const before = await total()
    const [first] = childrenOf(running.pid)
    process.kill(first!, "SIGKILL")
    await running.logged(({ msg, pid }) => msg.startsWith("a worker has ended") && pid === first)
    expect(await total()).toBeGreaterThanOrEqual(before)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    await running.logged(({ msg }) => msg === "the worker takes webhooks again")
    await senders.many(200)
    await senders.stop()

    const findings = compare(senders.posted, await logged())
    expect(findings).toMatchObject(KEPT)
    // each sender has one connection at a time, and those of the other worker went on
    expect(findings.unanswered).toBeLessThan(40)
    expect(findings.sent - findings.unanswered).toBe(findings.acknowledged)
    expect(sum((await metricOf(running, "hookline_worker_ends_total")).values())).toBe(1)
    expect(sum((await metricOf(running, "hookline_worker_up")).values())).toBe(2)
  }, 30_000)

  test("a worker that ends again and again is started again later each time", async () => {
    const back = (): number =>
      running.log.filter(({ msg }) => msg === "the worker takes webhooks again").length
    let [pid] = childrenOf(running.pid)
    for (const [times, waitMs] of [0, 500].entries()) {
      process.kill(pid!, "SIGKILL")
      const line = await running.logged((it) => it["pid"] === pid && it.msg.startsWith("a worker has ended"))
      expect(line["restart_in_ms"]).toBe(waitMs)
      await running.logged(() => back() > times)
      pid = running.log.findLast(({ msg }) => msg === "the worker takes webhooks again")!["pid"] as number
    }
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    await senders.many(100)
    await senders.stop()
    expect(compare(senders.posted, await logged())).toMatchObject(KEPT)
  }, 30_000)

  test("when the supervisor is killed its workers end, and nothing that was acknowledged is lost", async () => {
    const workers = childrenOf(running.pid)
    expect(workers).toHaveLength(2)
    running.signal("SIGKILL")
    await Promise.all(workers.map(gone))
    await senders.stop()
    const findings = compare(senders.posted, await logged())
    expect(findings).toMatchObject(KEPT)
    expect(running.output()).toContain("the supervisor has ended: stopping")
  }, 30_000)

  test("SIGTERM, to all of its processes at once too, drains all and ends with status 0", async () => {
    const workers = childrenOf(running.pid)
    for (const pid of [...workers, running.pid]) process.kill(pid, "SIGTERM")
    expect(await running.exited).toBe(0)
    await Promise.all(workers.map(gone))
    await senders.stop()
    const findings = compare(senders.posted, await logged())
    expect(findings).toMatchObject({ ...KEPT, unansweredAndFound: 0 })
    expect(findings.found).toBe(findings.acknowledged)
    expect(running.log.filter(({ level }) => level === "error")).toEqual([])
    expect(running.log.at(-1)).toMatchObject({ msg: "stopped" })
  }, 30_000)

  test("a second signal ends all at once", async () => {
    const workers = childrenOf(running.pid)
    running.signal("SIGSTOP")
    for (const signal of ["SIGTERM", "SIGINT"] as const) running.signal(signal)
    running.signal("SIGCONT")
    expect(await running.exited).not.toBe(0)
    await Promise.all(workers.map(gone))
  }, 30_000)

  test("while the supervisor stands still, events are refused in time, and are taken afterwards", async () => {
    running.signal("SIGSTOP")
    await senders.first(({ answer }) => answer === 503)
    running.signal("SIGCONT")
    await senders.acknowledged()
    await senders.stop()
    const findings = compare(senders.posted, await logged())
    expect(findings).toMatchObject({ ...KEPT, unanswered: 0 })
    expect(findings.longestOwnWaitMs).toBeLessThan(TIMEOUT_MS + 200)
  }, 30_000)
})

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("two workers on Kafka", () => {
  for (const spool of ["off", "spool.sqlite"]) {
    test(`${spool === "off" ? "each publish for themselves" : "publish through one spool"}, also when one is killed`, async () => {
      const topic = freshTopic()
      await createTopic(kafka!, topic, { partitions: 3 })
      using folder = temporaryFolder()
      const running = await startService({
        folder: folder.path,
        connection: `${onKafka(kafka!)}\nspool = ${spool}`,
        topic,
        deliveryTimeoutMs: TIMEOUT_MS,
        port: await freePort(),
        workers: 2,
      })
      const senders = new NumberedSenders(serving(running), { keyless: 8 })
      try {
        await senders.many(500)
        expect(Math.min(...(await answered(running)).values())).toBeGreaterThan(0)
        process.kill(childrenOf(running.pid)[0]!, "SIGKILL")
        await running.logged(({ msg }) => msg === "the worker takes webhooks again")
        await senders.many(300)
      } finally {
        await senders.stop()
        expect(await running.stop()).toBe(0)
      }
      const findings = compare(senders.posted, await eventsInKafka(kafka!, topic))
      expect(findings).toMatchObject(KEPT)
      expect(findings.unanswered).toBeLessThan(40)
    }, 60_000)
  }

  test("a reload that leads the one spool to another Kafka, under load: all is there, in order", async () => {
    const topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    using folder = temporaryFolder()
    const settings = {
      folder: folder.path,
      topic,
      deliveryTimeoutMs: TIMEOUT_MS,
      port: await freePort(),
      workers: 2,
    }
    const spool = "spool = spool.sqlite"
    const nobody = `bootstrap_servers = 127.0.0.1:${await freePort()}\n${spool}`
    const running = await startService({ ...settings, connection: nobody })
    const senders = new NumberedSenders(serving(running), { keyless: 8 })
    try {
      await senders.many(500)
      const there = configurationOf({ ...settings, connection: `${onKafka(kafka!)}\n${spool}` })
      expect(await reload(running, folder.path, there)).toBe("reloaded")
      expect(running.log.at(-1)).toMatchObject({ connections_changed: ["broker"] })
      await running.logged(({ msg }) => msg.includes("events go to the broker again"))
      await senders.many(300)
    } finally {
      await senders.stop()
      expect(await running.stop()).toBe(0)
    }
    const findings = compare(senders.posted, firstsOf(await eventsInKafka(kafka!, topic)))
    expect(findings).toMatchObject({ lost: 0, disordered: 0, unanswered: 0, found: findings.sent })
  }, 60_000)

  test("what Kafka does not take is in the one spool, and told once", async () => {
    using folder = temporaryFolder()
    const running = await startService({
      folder: folder.path,
      connection: "bootstrap_servers = 127.0.0.1:9\nspool = spool.sqlite",
      topic: "webhooks",
      deliveryTimeoutMs: 500,
      port: await freePort(),
      workers: 2,
    })
    const senders = new NumberedSenders(serving(running))
    await senders.many(200)
    await senders.stop()
    const acknowledged = senders.posted.length
    expect(senders.posted.filter(({ answer }) => answer !== 200)).toEqual([])
    const told = await metricOf(running, "hookline_spool_records_total")
    expect(told.get('connection="broker",outcome="spooled"')).toBe(acknowledged)
    expect((await metricOf(running, "hookline_spool_records")).get('connection="broker"')).toBe(acknowledged)
    const ready = (await (await fetch(`${running.adminUrl}/readyz`)).json()) as {
      status: string
      spools: object
    }
    expect(ready).toMatchObject({ status: "ready", spools: { broker: { records: acknowledged } } })
    expect(await running.stop()).toBe(0)
  }, 30_000)
})
