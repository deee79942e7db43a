import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpuMicroseconds, forgetPeak, peakMiB } from "../../bench/process.ts"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { openSocket, post, type RawSocket } from "../support/http-socket.ts"
import { canStartKafka, createTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, eventsInLog, onKafka } from "../support/webhook-service.ts"
import { hasWrk, load, type Answered } from "../support/wrk.ts"

const SECONDS = isFull ? 10 : 2
const ROUNDS = isFull ? 3 : 2
const MOST_ROUNDS = 6
const FEW = 64
const MANY = 2000
const SMALL = 1000
const LARGE = 100_000
const IN_FLIGHT_MIB = 64
/** The most resident memory, beside the bodies in flight. */
const OTHERWISE_MIB = 256
const DELIVERY_TIMEOUT_MS = 10_000
/**
 * Collapsing is to take so many fewer events in a second than with few connections, and to need so much more CPU for each:
 * the first alone may be the machine's load. For large bodies the refusals are counted in, of which there are as many a
 * second however few events a busy machine gets through.
 */
const COLLAPSE = 1.25
const COLLAPSE_LARGE = 2
/** Retry-After, and as long the answer that says so is kept back. */
const REFUSED_AFTER_S = 1

interface Seen extends Answered {
  readonly cpuUs: number
}

const least = (seen: readonly Seen[]): number => Math.min(...seen.map(({ cpuUs }) => cpuUs))
const perSecond = ({ ok, seconds }: Seen): number => ok / seconds
const most = (seen: readonly Seen[]): number => Math.max(...seen.map(perSecond))

/** A Hookline that is overloaded: a pipeline for the flood, and one for numbered events beside it. */
class Overloaded {
  readonly name: string
  readonly running: RunningHookline
  readonly #folder: string

  private constructor(name: string, running: RunningHookline, folder: string) {
    this.name = name
    this.running = running
    this.#folder = folder
  }

  static async start(name: string, connection: string, folder: string): Promise<Overloaded> {
    const pipeline = (id: string, rest: string): string => `[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:${id}:BrokerSink]
topic = ${id}
${rest}
`
    const running = await startHookline(
      `[connection:broker]
${connection}
delivery_timeout = ${DELIVERY_TIMEOUT_MS}ms
${pipeline("flood", "")}${pipeline("numbered", "key = json:/k")}
[service]
max_in_flight_bytes = ${IN_FLIGHT_MIB}MiB
body_timeout = 5m
[admin]
listen = 127.0.0.1:0`,
      { folder },
    )
    const made = new Overloaded(name, running, folder)
    await made.run("warm-up", FEW, SMALL)
    return made
  }

  get port(): number {
    return Number(new URL(this.running.urls["flood"]!).port)
  }

  async run(name: string, connections: number, bytes: number): Promise<Seen> {
    const { pid, urls } = this.running
    const body = JSON.stringify({ pad: "x".repeat(bytes - 10) })
    forgetPeak(pid)
    const before = cpuMicroseconds(pid)
    const answered = await load(urls["flood"]!, { folder: this.#folder, body, connections, seconds: SECONDS })
    const seen = { ...answered, cpuUs: (cpuMicroseconds(pid) - before) / answered.ok }
    const mib = peakMiB(pid)
    process.stdout.write(
      `overload of ${this.name}: ${name}: ${connections} connections of ${bytes} B: ${seen.ok} answered 200 (${perSecond(seen).toFixed(0)}/s), ` +
        `${seen.unavailable} 503, ${seen.other} other, ${seen.failed} failed; ${seen.cpuUs.toFixed(0)} us of CPU for each 200, ` +
        `99th percentile ${seen.p99Ms.toFixed(0)} ms, peak ${mib.toFixed(0)} MiB\n`,
    )
    expect([seen.other, seen.failed, seen.withoutRetryAfter]).toEqual([0, 0, 0])
    expect(mib).toBeLessThan(OTHERWISE_MIB + IN_FLIGHT_MIB)
    return seen
  }

  /** Few connections and many in turn, so that whatever else the machine does meets both. */
  async compare(bytes: number): Promise<{ few: Seen[]; many: Seen[] }> {
    const [few, many]: [Seen[], Seen[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      few.push(await this.run("few", FEW, bytes))
      many.push(await this.run("many", MANY, bytes))
    }
    process.stdout.write(
      `overload of ${this.name}: ${bytes} B: the most of many ${(most(many) / most(few)).toFixed(2)} times the most of few, ` +
        `CPU ${(least(many) / least(few)).toFixed(2)} times\n`,
    )
    return { few, many }
  }

  /** Resolves when so many requests wait for their answers. */
  async inFlight(requests: number): Promise<void> {
    const metrics = async (): Promise<string> => (await fetch(`${this.running.adminUrl}/metrics`)).text()
    while (!(await metrics()).includes(`\nhookline_in_flight_requests ${requests}\n`));
  }
}

const onKafkaToo = (await canStartKafka()) && hasKcat()

describe.skipIf(!hasWrk()).each(["the embedded log", ...(onKafkaToo ? ["Kafka"] : [])])(
  "overload of %s",
  (broker) => {
    const folder = temporaryFolder()
    let kafka: OwnKafka | undefined
    let overloaded: Overloaded

    beforeAll(async () => {
      if (broker === "Kafka") {
        kafka = await startKafka({ properties: { "log.retention.check.interval.ms": "500" } })
        const bounded = {
          "retention.bytes": "16777216",
          "segment.bytes": "8388608",
          "file.delete.delay.ms": "100",
        }
        await createTopic(kafka, "flood", { partitions: 4, configs: bounded })
        await createTopic(kafka, "numbered", { partitions: 4 })
      }
      const connection = kafka === undefined ? "directory = log" : onKafka(kafka)
      overloaded = await Overloaded.start(broker, connection, folder.path)
    }, 60_000)
    afterAll(async () => {
      await overloaded.running.stop()
      await kafka?.stop()
      folder[Symbol.dispose]()
    }, 60_000)

    test(`${MANY} connections of ${SMALL} B are served as fast as ${FEW}, or for no more CPU an event, and all of them are`, async () => {
      const { few, many } = await overloaded.compare(SMALL)
      expect(many.filter(({ unavailable }) => unavailable > 0)).toEqual([])
      expect(Math.min(most(few) / most(many), least(many) / least(few))).toBeLessThan(COLLAPSE)
    }, 180_000)

    test(`${MANY} connections of ${LARGE} B get 200, or 503 once a second at most, memory is bounded, and of small events beside them none is lost`, async () => {
      const { urls, pid } = overloaded.running
      const senders = new NumberedSenders({ url: urls["numbered"]!, pid }, { keyless: 8 })
      const { few, many } = await overloaded.compare(LARGE)
      await senders.many(100)
      await senders.stop()

      const logged =
        kafka === undefined
          ? await eventsInLog(`${folder.path}/log`, "numbered")
          : await eventsInKafka(kafka, "numbered")
      const findings = compare(senders.posted, logged)
      report(`overload: ${MANY} connections of ${LARGE / 1000} KB, ${broker}`, findings)
      expectKept(findings, DELIVERY_TIMEOUT_MS)
      for (const { unavailable, seconds } of many)
        expect(unavailable).toBeLessThanOrEqual(MANY * Math.ceil(seconds / REFUSED_AFTER_S))
      if (isFull) expect(least(many)).toBeLessThan(least(few) * COLLAPSE_LARGE)
      await overloaded.inFlight(0)
      expect((await overloaded.run("after it", FEW, SMALL)).unavailable).toBe(0)
    }, 240_000)

    // nothing of it reaches a broker, so once is enough
    if (broker === "Kafka") return
    test("1,000 senders of a byte a second leave the others untouched", async () => {
      await overloaded.inFlight(0)
      const alone = [await overloaded.run("alone", FEW, SMALL), await overloaded.run("alone", FEW, SMALL)]
      const slow: RawSocket[] = []
      for (let n = 0; n < 1000; n++) {
        const socket = await openSocket(overloaded.port)
        socket.send(`${post(`Content-Length: ${n % 2 === 0 ? 1000 : 1_000_000}`)}{`)
        slow.push(socket)
      }
      await overloaded.inFlight(1000)
      const dripping = setInterval(() => slow.forEach((socket) => socket.send(" ")), 1000)
      try {
        const beside: Seen[] = []
        const most = least(alone) * COLLAPSE
        // on a busy machine single rounds cost a third more, slow senders or not
        for (let round = 0; round < ROUNDS || (round < MOST_ROUNDS && least(beside) >= most); round++)
          beside.push(await overloaded.run("beside slow senders", FEW, SMALL))
        expect(beside.filter(({ unavailable }) => unavailable > 0)).toEqual([])
        expect(least(beside)).toBeLessThan(most)
        const large = await overloaded.run("large, beside slow senders", 16, 500_000)
        expect(large.unavailable).toBe(0)
      } finally {
        clearInterval(dripping)
        for (const socket of slow) socket[Symbol.dispose]()
      }
    }, 180_000)
  },
)
