import { expect, test } from "bun:test"
import { cpuMicroseconds, forgetPeak, peakMiB } from "../../bench/process.ts"
import { isFull, report } from "./fault-table.ts"
import { compare, expectKept, type Logged } from "./findings.ts"
import { startHookline, type RunningHookline } from "./hookline.ts"
import { NumberedSenders } from "./numbered-senders.ts"
import { load, type Answered } from "./wrk.ts"

const SECONDS = isFull ? 10 : 2
export const ROUNDS = isFull ? 3 : 2
export const MOST_ROUNDS = 6
export const FEW = 64
const MANY = 2000
export const SMALL = 1000
const LARGE = 100_000
const IN_FLIGHT_MIB = 64
/** The most resident memory, beside the bodies in flight. */
const OTHERWISE_MIB = 256
const DELIVERY_TIMEOUT_MS = 60_000
/**
 * Collapsing is to take so many fewer events in a second than with few connections, and to need so much more CPU for each:
 * either alone may be the machine's load. How much it is, is printed, and measured by the benchmarks.
 */
export const COLLAPSE = 4
/** Retry-After, and as long the answer that says so is kept back. */
const REFUSED_AFTER_S = 1

export interface Seen extends Answered {
  readonly cpuUs: number
}

export const least = (seen: readonly Seen[]): number => Math.min(...seen.map(({ cpuUs }) => cpuUs))
const perSecond = ({ ok, seconds }: Seen): number => ok / seconds
const most = (seen: readonly Seen[]): number => Math.max(...seen.map(perSecond))

/** A Hookline that is overloaded: a pipeline for the flood, and one for numbered events beside it. */
export class Overloaded {
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
body_timeout = 5m`,
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

  /** Resolves when that many requests wait for their answers. */
  async inFlight(requests: number): Promise<void> {
    const metrics = async (): Promise<string> => (await fetch(`${this.running.adminUrl}/metrics`)).text()
    while (!(await metrics()).includes(`\nhookline_in_flight_requests ${requests}\n`));
  }
}

/** Tests of an overloaded Hookline on any broker; `numbered` reads the events of the pipeline beside the flood. */
export function withstandsOverload(overloaded: () => Overloaded, numbered: () => Promise<Logged[]>): void {
  test(`${MANY} connections of ${SMALL} B are all served, and it does not collapse: to take far fewer events a second, each for far more CPU`, async () => {
    const { few, many } = await overloaded().compare(SMALL)
    expect(many.filter(({ unavailable }) => unavailable > 0)).toEqual([])
    expect(Math.min(most(few) / most(many), least(many) / least(few))).toBeLessThan(COLLAPSE)
  })

  test(`${MANY} connections of ${LARGE} B get 200, or 503 once a second at most, memory is bounded, and of small events beside them none is lost`, async () => {
    const { urls, pid } = overloaded().running
    await using senders = new NumberedSenders({ url: urls["numbered"]!, pid }, { keyless: 8 })
    const { many } = await overloaded().compare(LARGE)
    await senders.many(100)
    await senders.stop()

    const findings = compare(senders.posted, await numbered())
    report(`overload: ${MANY} connections of ${LARGE / 1000} KB, ${overloaded().name}`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    for (const { unavailable, seconds } of many)
      expect(unavailable).toBeLessThanOrEqual(MANY * Math.ceil(seconds / REFUSED_AFTER_S))
    await overloaded().inFlight(0)
    expect((await overloaded().run("after it", FEW, SMALL)).unavailable).toBe(0)
  })
}
