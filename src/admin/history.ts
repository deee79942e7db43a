import type { Steps } from "../clock/slices.ts"
import type { Activity } from "../telemetry/activity.ts"

/** Length of a step of every series, in milliseconds. */
export const STEP_MS = 5000
/** Complete steps that are kept: 15 minutes. */
export const STEPS = 180
/** And the current one. */
const SLOTS = STEPS + 1
/** Steps of a minute, whose latencies are kept by bucket. */
const MINUTE = 12
/** Window over which rates are averaged, in milliseconds; it begins at the last sample before it. */
const RATE_MS = 5000

/** The counters of one process, as of now; counters of a process never go back. */
export interface ActivitySample extends Activity {
  readonly process: string
}

/**
 * Rates and latencies of the last 15 minutes, from samples of the counters. What was counted between two samples is spread
 * evenly over the time between them.
 */
export class History {
  readonly #pipelines = new Map<string, PipelineHistory>()
  /** Counts of the last sample, by process and series. */
  #counts = new Map<string, Map<string, number>>()
  #sampledMs: number
  #step: number
  #bounds: readonly number[] = []

  /** @param nowMs by any clock that never goes back, as in `take` */
  constructor(nowMs: number) {
    this.#sampledMs = nowMs
    this.#step = stepOf(nowMs)
  }

  /** Adds what was counted since the last sample. A process's first sample is what later ones are compared with. */
  *take(samples: readonly ActivitySample[], nowMs: number, atMs: number): Steps<void> {
    const span = { fromMs: this.#sampledMs, untilMs: nowMs }
    this.#advance(nowMs)
    const counts = new Map<string, Map<string, number>>()
    for (const { process, events, bounds, latencies } of samples) {
      const before = this.#counts.get(process)
      const counted = new Map<string, number>()
      counts.set(process, counted)
      this.#bounds = bounds
      const grown = (series: string, count: number): number => {
        counted.set(series, count)
        return before === undefined ? 0 : count - (before.get(series) ?? 0)
      }
      for (const { pipeline, outcome, reason, count } of events) {
        const added = grown(`${pipeline}\n${outcome}\n${reason}`, count)
        if (added <= 0) continue
        const history = this.#historyOf(pipeline)
        if (outcome !== "rejected") history.lastMs = atMs
        if (outcome === "accepted") history.accept(added, span)
        else if (outcome === "rejected") history.refuse(reason, added, span)
        yield
      }
      for (const { pipeline, counts } of latencies) {
        for (const [bucket, count] of counts.entries()) {
          const added = grown(`${pipeline}\n${bucket}`, count)
          if (added > 0) this.#historyOf(pipeline).acknowledge(bucket, added, counts.length)
        }
        yield
      }
    }
    this.#counts = counts
    this.#sampledMs = nowMs
    for (const history of this.#pipelines.values()) history.sampled(nowMs)
  }

  /** undefined: nothing has come since the start. */
  of(pipeline: string): PipelineHistory | undefined {
    return this.#pipelines.get(pipeline)
  }

  /** Milliseconds, by the same clock, since the last complete step. */
  sinceStepMs(nowMs: number): number {
    return nowMs - this.#step * STEP_MS
  }

  #historyOf(pipeline: string): PipelineHistory {
    const found = this.#pipelines.get(pipeline)
    if (found !== undefined) return found
    const made = new PipelineHistory(this.#step, this.#bounds, this.#sampledMs)
    this.#pipelines.set(pipeline, made)
    return made
  }

  #advance(nowMs: number): void {
    const step = stepOf(nowMs)
    if (step === this.#step) return
    this.#step = step
    for (const history of this.#pipelines.values()) history.advance(step)
  }
}

const stepOf = (ms: number): number => Math.floor(ms / STEP_MS)

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

/** A pipeline's, which has one from its first event on. */
export class PipelineHistory {
  /** The last event that was not refused, in milliseconds since 1970; undefined: there was none. */
  lastMs: number | undefined
  readonly #bounds: readonly number[]
  #step: number
  readonly #accepted = new Series()
  readonly #refused = new Map<string, Series>()
  readonly #p50 = new Series()
  readonly #p99 = new Series()
  /** Acknowledgements by bucket, for each of the last steps, the current one last. */
  #latencies: Float64Array[] = []
  #totals = { accepted: 0, refused: 0 }
  /** Totals at the last samples; the first one begins the window of the rates. */
  #recent: { readonly ms: number; readonly accepted: number; readonly refused: number }[] = []

  /** @param emptyMs until when there was nothing */
  constructor(step: number, bounds: readonly number[], emptyMs: number) {
    this.#step = step
    this.#bounds = bounds
    this.#recent.push({ ms: emptyMs, accepted: 0, refused: 0 })
  }

  accept(count: number, span: Span): void {
    this.#accepted.add(count, span)
    this.#totals.accepted += count
  }

  refuse(reason: string, count: number, span: Span): void {
    const series = this.#refused.get(reason) ?? new Series()
    this.#refused.set(reason, series)
    series.add(count, span)
    this.#totals.refused += count
  }

  acknowledge(bucket: number, count: number, buckets: number): void {
    if (this.#latencies.length === 0) this.#latencies.push(new Float64Array(buckets))
    this.#latencies.at(-1)![bucket]! += count
  }

  advance(step: number): void {
    const all = [this.#accepted, this.#p50, this.#p99, ...this.#refused.values()]
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
    this.#recent.push({ ms: nowMs, ...this.#totals })
    const since = this.#recent.findLastIndex(({ ms }) => ms <= nowMs - RATE_MS)
    if (since > 0) this.#recent = this.#recent.slice(since)
  }

  /** Events a second. */
  rates(): { readonly accepted: number; readonly refused: number } {
    const [first, last] = [this.#recent[0]!, this.#recent.at(-1)!]
    const seconds = (last.ms - first.ms) / 1000
    const rate = (added: number): number => (seconds === 0 ? 0 : added / seconds)
    return { accepted: rate(last.accepted - first.accepted), refused: rate(last.refused - first.refused) }
  }

  /** Refusals of the last steps and the current one by reason, the most frequent first. */
  refusals(steps: number): (readonly [reason: string, count: number])[] {
    return [...this.#refused]
      .map(([reason, series]) => [reason, Math.round(series.sum(this.#step - steps, this.#step))] as const)
      .filter(([, count]) => count > 0)
      .toSorted(([, a], [, b]) => b - a)
  }

  /** A quantile of the time to the acknowledgement in the last minute, in milliseconds; undefined: no event came. */
  latency(q: number): number | undefined {
    const [first, ...others] = this.#latencies
    if (first === undefined) return undefined
    const sum = first.slice()
    for (const counts of others) for (const [at, count] of counts.entries()) sum[at]! += count
    return this.#quantile(q, sum)
  }

  /** Accepted events a second, of groups of complete steps, the oldest first. */
  sparkline(points: number): number[] {
    const steps = STEPS / points
    return Array.from({ length: points }, (_, at) => {
      const first = this.#step - STEPS + at * steps
      return rounded((this.#accepted.sum(first, first + steps - 1) / (steps * STEP_MS)) * 1000)
    })
  }

  /** The complete steps, the oldest first: events a second, and latencies in milliseconds. */
  series() {
    const values = (of: Series): number[] =>
      Array.from({ length: STEPS }, (_, at) => of.get(this.#step - STEPS + at))
    const perSecond = (of: Series): number[] => values(of).map((count) => rounded((count / STEP_MS) * 1000))
    return {
      accepted: perSecond(this.#accepted),
      refused: [...this.#refused].map(([reason, of]) => ({ reason, values: perSecond(of) })),
      p50: values(this.#p50).map((ms) => rounded(ms) || null),
      p99: values(this.#p99).map((ms) => rounded(ms) || null),
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
