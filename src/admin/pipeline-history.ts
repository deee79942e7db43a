import type { Note } from "../telemetry/activity.ts"

/** Length of a step of every series, in milliseconds. */
export const STEP_MS = 5000
/** Complete steps that are kept: 15 minutes. */
export const STEPS = 180
/** And the current one. */
const SLOTS = STEPS + 1
/** Steps of a minute, over which rates are averaged, and whose latencies are kept by bucket. */
export const MINUTE = 12
/** Steps that show what someone should look at now. */
export const FIVE_MINUTES = 300_000 / STEP_MS
/** How long a pipeline is watched before the pauses between its events are taken for its habit. */
const HABIT_MS = 300_000
/** A pause that is no habit is at least this long, and this many times as long as the longest before. */
const LONG_PAUSE_MS = 120_000
const UNUSUAL = 4
/** What is left of the longest pause after each sample with an event, so that an old one is forgotten within hours. */
const REMEMBERED = 0.999

export const stepOf = (ms: number): number => Math.floor(ms / STEP_MS)

interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/** Values by step, in a ring. */
class Series {
  readonly #values = new Float32Array(SLOTS)

  /** Adds a count, in shares of the time. */
  add(count: number, { fromMs, untilMs }: Span): void {
    const last = stepOf(untilMs)
    for (let step = Math.max(stepOf(fromMs), last - STEPS); step <= last; step++) {
      const passedMs = Math.min(untilMs, (step + 1) * STEP_MS) - Math.max(fromMs, step * STEP_MS)
      this.#values[step % SLOTS]! += untilMs > fromMs ? (count * passedMs) / (untilMs - fromMs) : count
    }
  }

  set(step: number, value: number): void {
    this.#values[step % SLOTS] = value
  }

  get(step: number): number {
    return this.#values[step % SLOTS]!
  }

  /** The sum of the steps `from` to `until`. */
  sum(from: number, until: number): number {
    let sum = 0
    for (let step = from; step <= until; step++) sum += this.get(step)
    return sum
  }
}

/** Events by reason, or requests by what is noted of them. */
type Reasons = Map<string, Series>

/** Requests that were refused for their signature. */
interface UnverifiedRequests {
  /** The reason of the last one. */
  readonly reason: string
  readonly count: number
  /** Milliseconds since 1970. */
  readonly firstMs: number
  readonly lastMs: number
}

/** A pipeline's, which has one from its first event on. */
export class PipelineHistory {
  /** The last event that was not refused, in milliseconds since 1970; undefined: there was none. */
  lastMs: number | undefined
  /** The last event that was verified, in milliseconds since 1970; undefined: none was. */
  verifiedMs: number | undefined
  #unverified: UnverifiedRequests | undefined
  #firstMs: number | undefined
  /** The longest pause between two events, which fades. */
  #pauseMs = 0
  /** The service's start: what was before is not known. */
  readonly #startMs: number
  #bounds: readonly number[] = []
  #step: number
  #sampledMs: number
  readonly #accepted = new Series()
  readonly #dropped: Reasons = new Map()
  readonly #refused: Reasons = new Map()
  readonly #notes: Reasons = new Map()
  readonly #p50 = new Series()
  readonly #p99 = new Series()
  /** Acknowledgements by bucket, for each of the last steps, the current one last. */
  #latencies: Float64Array[] = []

  constructor(step: number, startMs: number) {
    this.#step = step
    this.#startMs = startMs
    this.#sampledMs = startMs
  }

  /** Answered handshakes are no events. */
  count(outcome: string, reason: string, count: number, span: Span): void {
    if (outcome === "accepted") return this.#accepted.add(count, span)
    const of = { dropped: this.#dropped, rejected: this.#refused }[outcome]
    of?.getOrInsertComputed(reason, () => new Series()).add(count, span)
  }

  note(what: Note, count: number, span: Span): void {
    this.#notes.getOrInsertComputed(what, () => new Series()).add(count, span)
  }

  /** An event came that was not refused. */
  came(atMs: number): void {
    this.#pauseMs = Math.max(this.#pauseMs * REMEMBERED, atMs - (this.lastMs ?? atMs))
    this.#firstMs ??= atMs
    this.lastMs = atMs
  }

  /** An event came that was accepted or dropped. */
  verified(atMs: number): void {
    this.verifiedMs = atMs
    this.#unverified = undefined
  }

  /** Requests came that carry the sender's form of signature, and were refused for it. */
  notVerified(reason: string, count: number, atMs: number): void {
    // of the same sample, and maybe before it
    if (this.verifiedMs === atMs) return
    const { firstMs = atMs, count: before = 0 } = this.#unverified ?? {}
    this.#unverified = { reason, count: before + count, firstMs, lastMs: atMs }
  }

  /** Refused requests with the sender's form of signature since the last event that was verified; undefined: there are none. */
  get unverified(): UnverifiedRequests | undefined {
    return this.#unverified
  }

  /** True for refusals of scanners: without the form of signature of a sender that is known to sign. */
  isOfScanners(reason: string): boolean {
    return (
      this.verifiedMs !== undefined && /^unverified_(missing_header|malformed|rate_limited)$/.test(reason)
    )
  }

  /** The longest pause that its events are known to make; undefined: it is silent for no longer than is usual, as far as is known. */
  brokenHabit(nowMs: number): number | undefined {
    const [first = nowMs, last = nowMs] = [this.#firstMs, this.lastMs]
    const isUnusual = nowMs - last > Math.max(LONG_PAUSE_MS, UNUSUAL * this.#pauseMs)
    return last - first >= HABIT_MS && isUnusual ? this.#pauseMs : undefined
  }

  /** @param bounds of the buckets */
  acknowledge(bucket: number, count: number, bounds: readonly number[]): void {
    this.#bounds = bounds
    if (this.#latencies.length === 0) this.#latencies.push(new Float64Array(bounds.length + 1))
    this.#latencies.at(-1)![bucket]! += count
  }

  advance(step: number): void {
    const byReason = [this.#dropped, this.#refused, this.#notes].flatMap((it) => [...it.values()])
    const all = [this.#accepted, this.#p50, this.#p99, ...byReason]
    for (let at = Math.max(this.#step + 1, step - STEPS); at <= step; at++) {
      for (const series of all) series.set(at, 0)
      if (this.#latencies.length > 0) this.#latencies.push(new Float64Array(this.#latencies[0]!.length))
    }
    this.#latencies = this.#latencies.slice(-MINUTE)
    this.#step = step
  }

  sampled(nowMs: number): void {
    const current = this.#latencies.at(-1)
    this.#p50.set(this.#step, this.#quantile(0.5, current) ?? 0)
    this.#p99.set(this.#step, this.#quantile(0.99, current) ?? 0)
    this.#sampledMs = nowMs
  }

  /** Events in the last steps and the current one. */
  counts(steps: number): { readonly accepted: number; readonly dropped: number; readonly refused: number } {
    const since = this.#step - steps
    const sum = (reasons: Reasons): number =>
      [...reasons.values()].reduce((all, series) => all + series.sum(since, this.#step), 0)
    return {
      accepted: this.#accepted.sum(since, this.#step),
      dropped: sum(this.#dropped),
      refused: sum(this.#refused),
    }
  }

  /** Events a second in the last minute, or since the start. */
  rates(): ReturnType<PipelineHistory["counts"]> {
    const { accepted, dropped, refused } = this.counts(MINUTE - 1)
    const sinceMs = Math.max((this.#step - (MINUTE - 1)) * STEP_MS, this.#startMs)
    const seconds = Math.max(1, (this.#sampledMs - sinceMs) / 1000)
    return { accepted: accepted / seconds, dropped: dropped / seconds, refused: refused / seconds }
  }

  /** Refusals of the last steps and the current one by reason, the most frequent first. */
  refusals(steps: number): (readonly [reason: string, count: number])[] {
    return [...this.#refused]
      .map(([reason, series]) => [reason, Math.round(series.sum(this.#step - steps, this.#step))] as const)
      .filter(([, count]) => count > 0)
      .toSorted(([, a], [, b]) => b - a)
  }

  /** Requests of the last steps and the current one of which that is noted. */
  noted(what: Note, steps: number): number {
    return Math.round(this.#notes.get(what)?.sum(this.#step - steps, this.#step) ?? 0)
  }

  /** A quantile of the time to the acknowledgement in the last minute, in milliseconds; undefined: no event came. */
  latency(q: number): number | undefined {
    const [first, ...others] = this.#latencies
    if (first === undefined) return undefined
    const sum = first.slice()
    for (const counts of others) for (const [at, count] of counts.entries()) sum[at]! += count
    return this.#quantile(q, sum)
  }

  /** The sparkline of what was refused or dropped for a reason; none: nothing was. */
  sparklineOf(outcome: "rejected" | "dropped", reason: string, points: number): (number | null)[] {
    const series = (outcome === "dropped" ? this.#dropped : this.#refused).get(reason)
    return series === undefined ? [] : this.sparkline(points, series)
  }

  /** Accepted events a second, of groups of complete steps, the oldest first; null: before the start. */
  sparkline(points: number, series = this.#accepted): (number | null)[] {
    const steps = STEPS / points
    return Array.from({ length: points }, (_, at) => {
      const first = this.#step - STEPS + at * steps
      const known = Math.max(first, stepOf(this.#startMs))
      const until = first + steps
      if (known >= until) return null
      return rounded((series.sum(known, until - 1) / ((until - known) * STEP_MS)) * 1000)
    })
  }

  /** The complete steps, the oldest first: events a second, and latencies in milliseconds; null: before the start. */
  series() {
    const start = stepOf(this.#startMs)
    const values = (of: Series): (number | null)[] =>
      Array.from({ length: STEPS }, (_, at) => {
        const step = this.#step - STEPS + at
        return step < start ? null : of.get(step)
      })
    const perSecond = (of: Series): (number | null)[] =>
      values(of).map((count) => (count === null ? null : rounded((count / STEP_MS) * 1000)))
    const byReason = (reasons: Reasons) =>
      [...reasons].map(([reason, of]) => ({ reason, values: perSecond(of) }))
    return {
      accepted: perSecond(this.#accepted),
      dropped: byReason(this.#dropped),
      refused: byReason(this.#refused),
      p50: values(this.#p50).map((ms) => rounded(ms ?? 0) || null),
      p99: values(this.#p99).map((ms) => rounded(ms ?? 0) || null),
    }
  }

  /** A quantile like that of Prometheus' histogram_quantile: linear within a bucket, and the last bound for what is above it. */
  #quantile(q: number, counts: Float64Array | undefined): number | undefined {
    const total = counts?.reduce((sum, count) => sum + count, 0) ?? 0
    if (counts === undefined || total === 0) return undefined
    let below = 0
    for (const [at, bound] of this.#bounds.entries()) {
      const count = counts[at]!
      if (below + count >= q * total) {
        const from = this.#bounds[at - 1] ?? 0
        return (from + ((bound - from) * (q * total - below)) / count) * 1000
      }
      below += count
    }
    return this.#bounds.at(-1)! * 1000
  }
}

/** Three significant digits, for less text. */
export const rounded = (value: number): number => Number(value.toPrecision(3))
