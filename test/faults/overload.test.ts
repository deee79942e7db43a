import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpuMicroseconds, forgetPeak, peakMiB } from "../../bench/process.ts"
import { isFull } from "../support/fault-table.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { openSocket, post, type RawSocket } from "../support/http-socket.ts"
import { hasWrk, load, type Answered } from "../support/wrk.ts"

const SECONDS = isFull ? 10 : 2
const ROUNDS = 3
const IN_FLIGHT_MIB = 64
/** The most resident memory, beside the bodies in flight. */
const OTHERWISE_MIB = 256
/** Collapsing is to need so much more CPU for an event than with few connections. Time tells of the machine's load. */
const COLLAPSE = 1.25

interface Seen extends Answered {
  readonly cpuUs: number
  readonly peakMiB: number
}

describe.skipIf(!hasWrk())("overload", () => {
  const folder = temporaryFolder()
  let running: RunningHookline
  let url: string

  beforeAll(async () => {
    running = await startHookline(
      `[connection:log]
directory = log
retention_bytes = 64MiB
delivery_timeout = 1m
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:BrokerSink]
topic = webhooks
[service]
max_in_flight_bytes = ${IN_FLIGHT_MIB}MiB
body_timeout = 5m
[admin]
listen = 127.0.0.1:0`,
      { folder: folder.path },
    )
    url = running.urls["webhooks"]!
    await run("warm-up", 64, 1000)
  }, 60_000)
  afterAll(async () => {
    await running.stop()
    folder[Symbol.dispose]()
  }, 60_000)

  const run = async (name: string, connections: number, bytes: number): Promise<Seen> => {
    const body = JSON.stringify({ pad: "x".repeat(bytes - 10) })
    forgetPeak(running.pid)
    const before = cpuMicroseconds(running.pid)
    const answered = await load(url, { folder: folder.path, body, connections, seconds: SECONDS })
    const seen = {
      ...answered,
      cpuUs: (cpuMicroseconds(running.pid) - before) / answered.ok,
      peakMiB: peakMiB(running.pid),
    }
    process.stdout.write(
      `overload: ${name}: ${connections} connections of ${bytes} B: ${seen.ok} answered 200 (${(seen.ok / seen.seconds).toFixed(0)}/s), ` +
        `${seen.unavailable} 503, ${seen.other} other, ${seen.failed} failed; ${seen.cpuUs.toFixed(0)} us of CPU for each 200, ` +
        `99th percentile ${seen.p99Ms.toFixed(0)} ms, peak ${seen.peakMiB.toFixed(0)} MiB\n`,
    )
    expect([seen.other, seen.failed, seen.withoutRetryAfter]).toEqual([0, 0, 0])
    expect(seen.peakMiB).toBeLessThan(OTHERWISE_MIB + IN_FLIGHT_MIB)
    return seen
  }
  const metrics = async (): Promise<string> => (await fetch(`${running.adminUrl}/metrics`)).text()
  const inFlight = async (requests: number): Promise<void> => {
    while (!(await metrics()).includes(`\nhookline_in_flight_requests ${requests}\n`));
  }
  const few: Seen[] = []
  const least = (seen: readonly Seen[]): number => Math.min(...seen.map(({ cpuUs }) => cpuUs))

  test("2,000 connections cost no more CPU for an event than 64, and all are served", async () => {
    const many: Seen[] = []
    for (let round = 0; round < ROUNDS; round++) {
      few.push(await run("few", 64, 1000))
      many.push(await run("many", 2000, 1000))
    }
    expect(many.filter(({ unavailable }) => unavailable > 0)).toEqual([])
    expect(least(many)).toBeLessThan(least(few) * COLLAPSE)
  }, 180_000)

  test("beyond the in-flight budget senders get 503 with Retry-After, and memory stays within it", async () => {
    // a machine that is busy with others may not get so far in one run
    while ((await run("large", 2000, 100_000)).unavailable === 0);
    await inFlight(0)
    expect((await run("after it", 64, 1000)).unavailable).toBe(0)
  }, 180_000)

  test("1,000 senders of a byte a second leave the others untouched", async () => {
    await inFlight(0)
    const slow: RawSocket[] = []
    for (let n = 0; n < 1000; n++) {
      const socket = await openSocket(Number(new URL(url).port))
      socket.send(`${post(`Content-Length: ${n % 2 === 0 ? 1000 : 1_000_000}`)}{`)
      slow.push(socket)
    }
    await inFlight(1000)
    const dripping = setInterval(() => slow.forEach((socket) => socket.send(" ")), 1000)
    try {
      const beside: Seen[] = []
      for (let round = 0; round < ROUNDS; round++) beside.push(await run("beside slow senders", 64, 1000))
      expect(beside.filter(({ unavailable }) => unavailable > 0)).toEqual([])
      expect(least(beside)).toBeLessThan(least(few) * COLLAPSE)
      const large = await run("large, beside slow senders", 16, 500_000)
      expect(large.unavailable).toBe(0)
    } finally {
      clearInterval(dripping)
      for (const socket of slow) socket[Symbol.dispose]()
    }
  }, 180_000)
})
