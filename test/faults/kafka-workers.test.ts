import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { PATIENT_MS } from "../support/hang.ts"
import { compare } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"
import { childrenOf, gone, metricOf, sum } from "../support/worker-processes.ts"

const KEPT = { lost: 0, doubled: 0, disordered: 0, refusedAndFound: 0 }

const answered = (running: RunningHookline): Promise<Map<string, number>> =>
  metricOf(running, "hookline_worker_http_requests_total")

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("two workers on Kafka", () => {
  let topic: string
  let folder: ReturnType<typeof temporaryFolder>
  let running: RunningHookline
  let senders: NumberedSenders
  const published = () => eventsInKafka(kafka!, topic)

  beforeEach(async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    folder = temporaryFolder()
    running = await startService({
      folder: folder.path,
      connection: onKafka(kafka!),
      topic,
      deliveryTimeoutMs: PATIENT_MS,
      port: await freePort(),
      workers: 2,
    })
    senders = new NumberedSenders(serving(running), { keyless: 8 })
    await senders.many(200)
  })
  afterEach(async () => {
    await senders.stop()
    await running.stop()
    folder[Symbol.dispose]()
  })

  test("events over many connections reach both, and each is published once; the metrics are sums", async () => {
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
    const findings = compare(senders.posted, await published())
    expect(findings).toMatchObject({ ...KEPT, acknowledged: findings.sent, found: findings.sent })
  })

  test("a worker that is killed takes nobody along, is restarted, and what it counted stays", async () => {
    const total = async (): Promise<number> =>
      sum((await metricOf(running, "hookline_http_requests_total")).values())
    const before = await total()
    const [first] = childrenOf(running.pid)
    process.kill(first!, "SIGKILL")
    await running.logged(({ msg, pid }) => msg.startsWith("worker ended") && pid === first)
    expect(await total()).toBeGreaterThanOrEqual(before)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
    await running.logged(({ msg }) => msg === "worker restarted")
    await senders.many(200)
    await senders.stop()

    const findings = compare(senders.posted, await published())
    expect(findings).toMatchObject(KEPT)
    // each sender has one connection at a time, and those of the other worker went on
    expect(findings.unanswered).toBeLessThan(40)
    expect(findings.sent - findings.unanswered).toBe(findings.acknowledged)
    expect(sum((await metricOf(running, "hookline_worker_ends_total")).values())).toBe(1)
    expect(sum((await metricOf(running, "hookline_worker_up")).values())).toBe(2)
  })

  test("when the supervisor is killed its workers end, and nothing that was acknowledged is lost", async () => {
    const workers = childrenOf(running.pid)
    expect(workers).toHaveLength(2)
    running.signal("SIGKILL")
    await Promise.all(workers.map(gone))
    await senders.stop()
    const findings = compare(senders.posted, await published())
    expect(findings).toMatchObject(KEPT)
    expect(running.output()).toContain("supervisor ended; stopping")
  })

  test("SIGTERM, to all of its processes at once too, drains all and ends with status 0", async () => {
    const workers = childrenOf(running.pid)
    for (const pid of [...workers, running.pid]) process.kill(pid, "SIGTERM")
    expect(await running.exited).toBe(0)
    await Promise.all(workers.map(gone))
    await senders.stop()
    const findings = compare(senders.posted, await published())
    expect(findings).toMatchObject({ ...KEPT, unansweredAndFound: 0 })
    expect(findings.found).toBe(findings.acknowledged)
    expect(running.log.filter(({ level }) => level === "error")).toEqual([])
    expect(running.log.at(-1)).toMatchObject({ msg: "stopped" })
  })

  test("a second signal ends all at once", async () => {
    const workers = childrenOf(running.pid)
    running.signal("SIGSTOP")
    for (const signal of ["SIGTERM", "SIGINT"] as const) running.signal(signal)
    running.signal("SIGCONT")
    expect(await running.exited).not.toBe(0)
    await Promise.all(workers.map(gone))
  })

  test("while the supervisor stalls, its workers continue", async () => {
    running.signal("SIGSTOP")
    await senders.many(200)
    running.signal("SIGCONT")
    await senders.stop()
    const findings = compare(senders.posted, await published())
    expect(findings).toMatchObject({ ...KEPT, unanswered: 0, acknowledged: findings.sent })
  })
})
