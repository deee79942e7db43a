import type { Random } from "../../support/random.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import type { World } from "../world.ts"
import { placeOf, type Appended, type ForwardedLog } from "./forwarded-log.ts"

/** `refusing`: as in the middle of a deploy, it answers all with 404. `overloaded`: with 503 and a Retry-After. */
export type TargetState = "up" | "down" | "silent" | "refusing" | "overloaded"

/** What a run of the forward has seen of a record. */
interface Seen {
  isInFlight: boolean
  isAcknowledged: boolean
  failures: number
  refusals: number
  firstRefusedMs: number
  /** How many others the run had seen accepted when this one failed first. */
  acceptedBefore: number
}

/** A run of the forward: from a start, or from a failure in the process, to its end. */
interface Run {
  readonly seen: Map<Appended, Seen>
  accepted: number
  inFlight: number
  /** Records that were settled in an earlier run, and were posted again. */
  readonly repeated: Set<Appended>
  /** The last record that it knows to be accepted, by partition. */
  readonly last: Map<number, Appended>
}

export interface TargetLimits {
  readonly concurrency: number
  /** The most records that a run may repeat. */
  readonly window: number
  /** How often a record has to be refused: undefined: twice, if others are accepted in between. */
  readonly refusals: number | undefined
  readonly retries: number
  readonly parkAfterMs: number
  /** How many requests in a hundred fail, at most one of a record in each run. */
  readonly failing: number
}

/** An app that records are posted to. It is down, hangs, answers late, refuses, and checks what is posted to it. */
export class Target {
  state: TargetState = "up"
  isWell = false
  readonly #world: World
  readonly #random: Random
  readonly #log: ForwardedLog
  readonly #limits: TargetLimits
  readonly #runs: Run[] = []
  readonly #accepted = new Set<Appended>()
  /** Those that a forward knows of to be accepted. */
  readonly acknowledged = new Set<Appended>()
  /** Those that a run may have refused for good. */
  readonly refused = new Set<Appended>()

  constructor(world: World, log: ForwardedLog, limits: TargetLimits) {
    this.#world = world
    this.#random = world.randomOf("target")
    this.#log = log
    this.#limits = limits
  }

  /** The URL of a run of the forward that begins. */
  newRun(): URL {
    this.#runs.push({ seen: new Map(), accepted: 0, inFlight: 0, repeated: new Set(), last: new Map() })
    return new URL(`http://127.0.0.1/${this.#runs.length - 1}`)
  }

  /** `fetch` in the process that runs. */
  fetch = (url: string | URL, { headers, signal }: RequestInit): Promise<Response> => {
    const world = this.#world
    const process = world.current!
    const run = this.#runs[Number(new URL(url).pathname.slice(1))]!
    const sent = headers as Headers
    const place = {
      partition: Number(sent.get("hookline-partition")),
      offset: Number(sent.get("hookline-offset")),
    }
    const one = this.#log.partitions[place.partition]![place.offset]!
    const seen = this.#posted(one, run, process)
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    let isOver = false
    const settle = (outcome: number | Error): void => {
      if (isOver) return
      isOver = true
      this.#settled(one, run, seen, outcome, signal!.aborted && signal!.reason?.name !== "TimeoutError")
      if (outcome instanceof Error) reject(outcome)
      else resolve(answer(outcome))
    }
    signal!.addEventListener("abort", () => settle(signal!.reason as Error))
    this.#arrive(one, run, (outcome, ms) => process.run(() => settle(outcome), ms))
    return promise
  }

  /** Has a request arrive, and be answered or not. */
  #arrive(one: Appended, run: Run, reply: (outcome: number | Error, ms: number) => void): void {
    const random = this.#random
    const world = this.#world
    const { failures } = run.seen.get(one)!
    const fails = !this.isWell && failures === 0 && random.below(100) < this.#limits.failing
    const fault = fails ? random.pick(["500", "reset", "lost", "late", "slow"] as const) : undefined
    world.after(random.pick([1, 1, 3, 20]), () => {
      const { state } = this
      if (state === "down") return reply(new Error("connection refused"), 1)
      if (state === "silent") return
      if (state === "refusing") return reply(404, 1)
      if (state === "overloaded") return reply(503, 1)
      if (fault === "500") return reply(500, 1)
      if (fault === "reset") return reply(new Error("connection reset"), 1)
      if (one.poison !== undefined) return reply(one.poison, 2)
      this.#accept(one, run)
      if (fault === "lost") return
      reply(200, fault === "late" ? 2 * TIMEOUT_MS : fault === "slow" ? TIMEOUT_MS - 50 : random.pick([1, 5]))
    })
  }

  /** The first acceptances of a key's records are in order; one record at a time, those of a partition. */
  #accept(one: Appended, run: Run): void {
    if (this.#accepted.has(one)) return
    this.#accepted.add(one)
    const { key, partition, offset } = one.record
    this.#world.tell("target", `accepts ${placeOf(one.record)}`)
    if (!one.isForwarded) this.#world.violate(`${placeOf(one.record)} is posted, and does not match`)
    const isOrdered = this.#limits.concurrency === 1
    if (key === undefined && !isOrdered) return
    for (const before of this.#log.partitions[partition]!.slice(0, offset)) {
      if (!before.isForwarded || this.#accepted.has(before) || this.refused.has(before)) continue
      const places = `${placeOf(one.record)} is accepted before ${placeOf(before.record)}`
      if (!isOrdered && isOfKey(before, key!)) this.#world.violate(`${places}, of the same key`)
      if (isOrdered && !this.#isSpent(run.seen.get(before))) this.#world.violate(places)
    }
  }

  #posted(one: Appended, run: Run, process: SimulatedProcess): Seen {
    const place = placeOf(one.record)
    const { concurrency, window } = this.#limits
    if (!process.isAlive) this.#world.violate("a process that has ended posts")
    const seen = run.seen.getOrInsertComputed(one, () => ({
      isInFlight: false,
      isAcknowledged: false,
      failures: 0,
      refusals: 0,
      firstRefusedMs: 0,
      acceptedBefore: 0,
    }))
    if (seen.isInFlight) this.#world.violate(`${place} is posted twice at once`)
    if (seen.isAcknowledged) this.#world.violate(`${place} is posted again although it was accepted`)
    if (concurrency === 1) this.#checkOrder(one, run)
    for (const [other, { isInFlight }] of run.seen)
      if (isInFlight && one.record.key !== undefined && isOfKey(other, one.record.key))
        this.#world.violate(
          `${place} is posted while ${placeOf(other.record)}, of the same key, is under way`,
        )
    if (this.acknowledged.has(one)) run.repeated.add(one)
    if (run.repeated.size > window) this.#world.violate(`more than ${window} records are repeated`)
    seen.isInFlight = true
    if (++run.inFlight > concurrency) this.#world.violate(`${run.inFlight} records are under way at once`)
    return seen
  }

  /** One record at a time: none is posted before the outcome of an earlier one, unless that has failed often, nor after a later one. */
  #checkOrder(one: Appended, run: Run): void {
    const place = placeOf(one.record)
    // in the order in which they were posted first
    for (const [other, seen] of run.seen) {
      if (other === one) break
      if (!seen.isAcknowledged && !this.refused.has(other) && !this.#isSpent(seen))
        this.#world.violate(`${place} is posted before the outcome of ${placeOf(other.record)}`)
    }
    const last = run.last.get(one.record.partition)
    if (last !== undefined && last.record.offset > one.record.offset)
      this.#world.violate(`${place} is posted after ${placeOf(last.record)}, which was accepted`)
  }

  #settled(one: Appended, run: Run, seen: Seen, outcome: number | Error, isStopped: boolean): void {
    seen.isInFlight = false
    run.inFlight--
    this.#world.tell(
      "forward",
      `${placeOf(one.record)} ${outcome instanceof Error ? outcome.message : outcome}`,
    )
    if (isStopped) return
    if (outcome === 200) {
      seen.isAcknowledged = true
      run.accepted++
      run.last.set(one.record.partition, one)
      this.acknowledged.add(one)
      // one record at a time: those before it are passed
      if (this.#limits.concurrency === 1)
        for (const [other, its] of run.seen)
          if (this.#isSpent(its) && !its.isAcknowledged) this.refused.add(other)
      return
    }
    if (seen.failures++ === 0) seen.acceptedBefore = run.accepted
    if (outcome === 404 || outcome === 422) {
      if (seen.refusals++ === 0) seen.firstRefusedMs = this.#world.nowMs
    }
    if (this.#mayBeRefused(run, seen)) this.refused.add(one)
  }

  /** Whether it has failed so often that it is refused once a later record is accepted. */
  #isSpent(seen: Seen | undefined): boolean {
    const { failures = 0, refusals = 0 } = seen ?? {}
    const { retries, refusals: most = 2 } = this.#limits
    return failures > retries || refusals >= most
  }

  /** Whether it has failed often enough, while others were accepted. */
  #mayBeRefused(run: Run, { failures, refusals, firstRefusedMs, acceptedBefore }: Seen): boolean {
    const { retries, parkAfterMs, refusals: most } = this.#limits
    const isAlone = run.accepted > acceptedBefore
    if (isAlone && failures > retries) return true
    if (most !== undefined) return refusals >= most
    return (isAlone && refusals > 1) || (refusals > 0 && this.#world.nowMs - firstRefusedMs >= parkAfterMs)
  }
}

const isOfKey = ({ record, isForwarded }: Appended, key: Uint8Array): boolean =>
  isForwarded && record.key !== undefined && Buffer.compare(record.key, key) === 0

/** `timeout` of the forward. */
export const TIMEOUT_MS = 300

/** What of a Response is read, without a stream of the real event loop. */
const answer = (status: number): Response =>
  ({ status, headers: new Headers(status === 503 ? { "Retry-After": "1" } : {}), body: null }) as Response
