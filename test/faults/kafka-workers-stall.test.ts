import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { compare } from "../support/findings.ts"
import { temporaryFolder, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { until } from "../support/kafka-options.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"
import { childrenOf, gone, metricOf, sum } from "../support/worker-processes.ts"

/** The default: with less a busy machine has workers killed that nobody stopped. */
const STALL_TIMEOUT_MS = 10_000
/** Where none is to be killed. */
const LONG_MS = 600_000

const isStall = ({ msg }: LogLine): boolean => msg.startsWith("worker stalled: ")
const isKill = ({ msg }: LogLine): boolean => msg.startsWith("worker stalled for too long")

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("two workers on Kafka", () => {
  let topic: string
  let folder: ReturnType<typeof temporaryFolder>
  let running: RunningHookline
  let port: number

  beforeEach(async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    folder = temporaryFolder()
    port = await freePort()
  })
  const start = async (stallTimeoutMs = STALL_TIMEOUT_MS): Promise<void> => {
    running = await startService({
      folder: folder.path,
      connection: onKafka(kafka!),
      topic,
      deliveryTimeoutMs: 2000,
      port,
      workers: 2,
      service: `stall_timeout = ${stallTimeoutMs}ms`,
    })
    await allReady()
  }
  afterEach(async () => {
    await running.stop()
    folder[Symbol.dispose]()
  })

  const readiness = async (): Promise<{ code: number; status: string; workers: { [n: string]: string } }> => {
    const answer = await fetch(`${running.adminUrl}/readyz`)
    return { code: answer.status, ...((await answer.json()) as { status: string; workers: object }) } as never
  }
  /** A worker listens before it has reached Kafka. */
  const allReady = (): Promise<void> => until("ready", async () => (await readiness()).status === "ready")
  const count = async (name: string): Promise<number> => sum((await metricOf(running, name)).values())
  const countOf = async (worker: 1 | 2, name: string): Promise<number | undefined> =>
    (await metricOf(running, name)).get(`worker="${worker}"`)

  test("one that stalls for a moment is not ready, is logged, and continues as it was", async () => {
    await start(LONG_MS)
    const workers = childrenOf(running.pid)
    process.kill(workers[1]!, "SIGSTOP")
    const stoppedMs = steadyMs()
    const isOfStopped = (it: LogLine): boolean => isStall(it) && it["pid"] === workers[1]
    const line = await running.logged(isOfStopped)
    expect(steadyMs() - stoppedMs).toBeGreaterThan(1900)
    expect(line).toMatchObject({ level: "warn" })
    const stalled = await readiness()
    expect(stalled).toMatchObject({ code: 503, status: "not ready" })
    expect(stalled.workers).toMatchObject({ 2: expect.stringContaining("has not answered for") })
    expect(await countOf(2, "hookline_worker_up")).toBe(0)
    process.kill(workers[1]!, "SIGCONT")
    await running.logged(({ msg, pid }) => msg === "stalled worker answers again" && pid === workers[1])
    await allReady()
    expect((await readiness()).workers).toMatchObject({ 1: "ready", 2: "ready" })
    expect(childrenOf(running.pid)).toEqual(workers)
    expect(running.log.filter(isOfStopped)).toHaveLength(1)
    expect([
      await countOf(2, "hookline_worker_stalls_total"),
      await count("hookline_worker_stall_kills_total"),
      await count("hookline_worker_ends_total"),
    ]).toEqual([1, 0, 0])
  })

  test("one that stalls for longer than stall_timeout is killed and replaced: connections that it got end with it, and nothing acknowledged is lost", async () => {
    await start()
    const senders = new NumberedSenders(serving(running), { keyless: 8 })
    try {
      await senders.many(200)
      const workers = childrenOf(running.pid)
      process.kill(workers[0]!, "SIGSTOP")
      const connections = Array.from({ length: 30 }, () =>
        fetch(serving(running).url, { headers: { Connection: "close" } }).then(
          ({ status }) => status,
          () => "closed",
        ),
      )
      const line = await running.logged(isKill)
      expect(line).toMatchObject({ level: "error", pid: workers[0] })
      expect(line["stalled_ms"]).toBeGreaterThanOrEqual(STALL_TIMEOUT_MS)
      await running.logged(({ msg, pid }) => msg.startsWith("worker ended") && pid === workers[0])
      // by the kernel's choice of a worker
      expect(new Set(await Promise.all(connections))).toEqual(new Set([405, "closed"]))
      await running.logged(({ msg }) => msg === "worker restarted")
      await allReady()
      await senders.many(200)
      const now = childrenOf(running.pid)
      expect([now.length, now.includes(workers[0]!), now.includes(workers[1]!)]).toEqual([2, false, true])
    } finally {
      await senders.stop()
    }
    expect([
      await countOf(1, "hookline_worker_stalls_total"),
      await count("hookline_worker_stall_kills_total"),
      await count("hookline_worker_ends_total"),
      await count("hookline_worker_up"),
    ]).toEqual([1, 1, 1, 2])
    const findings = compare(senders.posted, await eventsInKafka(kafka!, topic))
    expect(findings).toMatchObject({ lost: 0, doubled: 0, disordered: 0, refusedAndFound: 0 })
  })

  test("one that stalls while it starts is given time, and accepts webhooks when it continues", async () => {
    await start()
    const [first, second] = childrenOf(running.pid)
    process.kill(first!, "SIGKILL")
    const starting = await newChild([first!, second!])
    process.kill(starting, "SIGSTOP")
    await Bun.sleep(STALL_TIMEOUT_MS + 500)
    expect(running.log.filter((it) => isKill(it) || (isStall(it) && it["pid"] === starting))).toEqual([])
    process.kill(starting, "SIGCONT")
    await running.logged(({ msg, pid }) => msg === "worker restarted" && pid === starting)
    await allReady()
  })

  test("when the supervisor itself stalled, it kills nobody for it", async () => {
    await start()
    const workers = childrenOf(running.pid)
    running.signal("SIGSTOP")
    await Bun.sleep(STALL_TIMEOUT_MS + 1000)
    running.signal("SIGCONT")
    await allReady()
    // time for it to look after them
    await Bun.sleep(1000)
    expect(childrenOf(running.pid)).toEqual(workers)
    expect(running.log.filter(isKill)).toEqual([])
  })

  test("one that stalls when the supervisor is killed ends as soon as it continues, and leaves its port", async () => {
    await start()
    const [first, second] = childrenOf(running.pid)
    process.kill(second!, "SIGSTOP")
    running.signal("SIGKILL")
    expect(await running.exited).toBe("SIGKILL")
    await gone(first!)
    process.kill(second!, "SIGCONT")
    await gone(second!)
    // without SO_REUSEPORT it is had only when nobody has it
    Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response() }).stop(true)
  })

  async function newChild(known: readonly number[]): Promise<number> {
    for (;;) {
      const made = childrenOf(running.pid).find((pid) => !known.includes(pid))
      if (made !== undefined) return made
      await Bun.sleep(1)
    }
  }
})
