// Hot path: each record that is delivered passes here.
import type { StoredRecord } from "../brokers/broker.ts"
import { doubled } from "../clock/backoff.ts"
import { pause, steadyMs } from "../clock/clock.ts"
import { jittered, ATTEMPT_RETRY_MS, type Attempt, type AttemptOptions, type Patience } from "./attempt.ts"
import type { AttemptTarget, Sent } from "./target.ts"

/*
 * Attempts one record at a time, in the order in which they are sent: the next one once the one before it is delivered, or
 * refused and parked.
 *
 * A record that fails is attempted again after a pause. That alone does not tell a record that the target refuses from a
 * target that is down. So once it has failed often enough (`#isSpent`), the next record is attempted right after it, as a
 * probe; once that one has, another one after both. Such a round begins with the first record, so that a target which is back
 * gets that one. When a probe is accepted, those before it are refused: delivered later, they would be out of order.
 */

interface Entry {
  readonly record: StoredRecord
  readonly resolve: (sent: Sent) => void
  /** How many records of its partition were sent before it. */
  readonly sent: number
  attempts: number
  refusals: number
  /** When it was first refused. */
  refusedMs: number | undefined
  /** How its last attempt failed. */
  failure: Attempt | undefined
}

/** The window where no record is a probe. */
const ONE = { records: 1, bytes: Number.POSITIVE_INFINITY }
const SEVERAL = { records: 16, bytes: 16 * 1024 * 1024 }
/** While it has one record at most: a probe has a place, however large the two are. */
const OPEN = { ...SEVERAL, bytes: Number.POSITIVE_INFINITY }
/**
 * After probes that failed there are none for as many times as long as they took: a target that comes back while one of them
 * waits for its answer gets it before the first record, which is refused then.
 */
const PROBE_REST = 8

export class OrderedTarget implements AttemptTarget {
  readonly largest: AttemptTarget["window"]
  readonly #options: AttemptOptions
  readonly #patience: Patience
  /** Aborts the attempt under way. */
  readonly #stop = new AbortController()
  /** No further attempt begins. */
  readonly #end = new AbortController()
  /** Records without an outcome. */
  readonly #queue: Entry[] = []
  /** How many records were sent, by partition. */
  readonly #sent = new Map<number, number>()
  #current: Entry | undefined
  #isRunning = false
  #isHeld = false
  /** Records that are refused and not parked yet. */
  #unparked = 0
  #problem: string | undefined
  #probesFromMs = 0

  constructor(options: AttemptOptions) {
    const { patience = { refusals: 1 } } = options
    this.#options = options
    this.#patience = patience
    const { retries, parkAfterMs } = patience
    this.largest = retries === undefined && parkAfterMs === undefined ? ONE : SEVERAL
  }

  send(record: StoredRecord): Promise<Sent> {
    if (this.#end.signal.aborted) return Promise.resolve("stopped")
    return new Promise((resolve) => {
      const sent = this.#sent.get(record.partition) ?? 0
      this.#sent.set(record.partition, sent + 1)
      const fresh = { attempts: 0, refusals: 0, refusedMs: undefined, failure: undefined }
      this.#queue.push({ record, resolve, sent, ...fresh })
      void this.#run()
    })
  }

  get window(): AttemptTarget["window"] {
    return this.largest === SEVERAL && this.#queue.length < 2 ? OPEN : this.largest
  }

  parked(): void {
    this.#unparked--
    void this.#run()
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    void this.#run()
  }

  problem(): string | undefined {
    return this.#problem
  }

  end(): void {
    this.#end.abort()
    for (const entry of this.#queue) if (entry !== this.#current) entry.resolve("stopped")
  }

  stop(): void {
    this.end()
    this.#stop.abort()
  }

  get active(): number {
    return this.#current === undefined ? 0 : 1
  }

  get #mayAttempt(): boolean {
    return !this.#isHeld && this.#unparked === 0 && !this.#end.signal.aborted
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    while (this.#queue.length > 0 && this.#mayAttempt) await this.#round()
    this.#isRunning = false
  }

  /** Attempts the first record, and probes after it. Resolves when there is an outcome, or after a pause. */
  async #round(): Promise<void> {
    let [pauseMs, askedMs] = [0, 0]
    let probingMs: number | undefined
    for (let index = 0; index < this.#queue.length && this.#mayAttempt; index++) {
      const entry = this.#queue[index]!
      if (index > 0) probingMs ??= steadyMs()
      const attempt = await this.#attempt(entry)
      if (this.#end.signal.aborted) {
        if (attempt.outcome !== "delivered") return entry.resolve("stopped")
        this.#options.attempted?.(entry.record, attempt, undefined)
        return entry.resolve("delivered")
      }
      if (attempt.outcome === "delivered") return this.#accept(index, attempt)
      const isFinal = index === 0 && this.#isFinal(entry, attempt)
      const { retryAfterMs } = attempt
      if (retryAfterMs !== undefined) askedMs = Math.max(askedMs, retryAfterMs, ATTEMPT_RETRY_MS.first)
      // the last of them is the one that has to fail often enough
      pauseMs = askedMs || jittered(doubled(ATTEMPT_RETRY_MS, entry.attempts - 1 + index))
      this.#options.attempted?.(entry.record, attempt, isFinal ? undefined : pauseMs)
      if (isFinal) return this.#refuse(this.#queue.shift()!)
      if (!this.#isSpent(entry, attempt) || steadyMs() < this.#probesFromMs) break
    }
    const nowMs = steadyMs()
    if (probingMs !== undefined) this.#probesFromMs = nowMs + PROBE_REST * (nowMs - probingMs)
    await pause(pauseMs, this.#end.signal)
  }

  async #attempt(entry: Entry): Promise<Attempt> {
    this.#current = entry
    entry.attempts++
    const attempt = await this.#options.attempt(entry.record, this.#stop.signal, entry)
    this.#current = undefined
    if (attempt.outcome === "delivered") return attempt
    if (attempt.outcome === "refused") {
      entry.refusals++
      entry.refusedMs ??= steadyMs()
    }
    entry.failure = attempt
    this.#problem = attempt.reason
    return attempt
  }

  /** Whether it is refused, whatever becomes of others. */
  #isFinal({ refusals, refusedMs }: Entry, { outcome }: Attempt): boolean {
    const { refusals: most, parkAfterMs } = this.#patience
    if (outcome !== "refused") return false
    return parkAfterMs === undefined ? refusals >= most : steadyMs() - refusedMs! >= parkAfterMs
  }

  /** Whether it has failed often enough to be refused once a later record is accepted. */
  #isSpent({ attempts, refusals }: Entry, { outcome }: Attempt): boolean {
    if (this.#options.stops === true) return false
    const { refusals: most, parkAfterMs, retries = Number.POSITIVE_INFINITY } = this.#patience
    if (outcome === "unavailable") return attempts > retries
    return parkAfterMs === undefined ? refusals >= most : refusals > 1
  }

  /** @param index of the record that is delivered; those before it have failed */
  #accept(index: number, attempt: Attempt): void {
    const settled = this.#queue.splice(0, index + 1)
    const { record, resolve } = settled.pop()!
    this.#problem = undefined
    this.#options.attempted?.(record, attempt, undefined)
    for (const passed of settled) this.#refuse(passed)
    resolve("delivered")
  }

  #refuse({ resolve, failure }: Entry): void {
    const { reason, status } = failure!
    this.#problem = undefined
    this.#unparked++
    resolve({ reason, status })
  }
}
