import type { Steps } from "../clock/slices.ts"
import type { Activity } from "../telemetry/activity.ts"
import { PipelineHistory, STEP_MS, stepOf } from "./pipeline-history.ts"

/** The counters of one process, as of now; counters of a process never go back. */
export interface ActivitySample extends Activity {
  readonly process: string
}

/** Reasons of requests with the sender's form of signature; scanners are refused for lack of it. */
const CARRIES_SIGNATURE: ReadonlySet<string> = new Set(
  ["no_match", "stale", "future", "wrong_claim"].map((it) => `unverified_${it}`),
)

const EMPTY = { fromMs: 0, untilMs: 0 }

/**
 * Rates and latencies of the last 15 minutes, from samples of the counters. What was counted between two samples is spread
 * evenly over the time between them.
 */
export class History {
  /** All pipelines together, without reasons. */
  readonly total: PipelineHistory
  /** One to which nothing has come. */
  readonly #empty: PipelineHistory
  readonly #startMs: number
  readonly #pipelines = new Map<string, PipelineHistory>()
  /** Counts of the last sample, by process and series. */
  #counts = new Map<string, Map<string, number>>()
  #sampledMs: number
  #step: number

  /** @param nowMs by any clock that never goes back, as in `take` */
  constructor(nowMs: number) {
    this.#startMs = nowMs
    this.#sampledMs = nowMs
    this.#step = stepOf(nowMs)
    this.total = new PipelineHistory(this.#step, nowMs)
    for (const outcome of ["dropped", "rejected"]) this.total.count(outcome, "", 0, EMPTY)
    this.#empty = new PipelineHistory(this.#step, nowMs)
  }

  /** Adds what was counted since the last sample. A process's first sample is what later ones are compared with. */
  *take(samples: readonly ActivitySample[], nowMs: number, atMs: number): Steps<void> {
    const span = { fromMs: this.#sampledMs, untilMs: nowMs }
    this.#advance(nowMs)
    const counts = new Map<string, Map<string, number>>()
    for (const { process, events, bounds, latencies, notes } of samples) {
      const before = this.#counts.get(process)
      const counted = new Map<string, number>()
      counts.set(process, counted)
      const grown = (series: string, count: number): number => {
        counted.set(series, count)
        return before === undefined ? 0 : count - (before.get(series) ?? 0)
      }
      for (const { pipeline, outcome, reason, count } of events) {
        const added = grown(`${pipeline}\n${outcome}\n${reason}`, count)
        if (added <= 0) continue
        const history = this.#historyOf(pipeline)
        if (outcome === "accepted" || outcome === "dropped") history.verified(atMs)
        if (outcome !== "rejected") history.came(atMs)
        else if (CARRIES_SIGNATURE.has(reason)) history.notVerified(reason, added, atMs)
        history.count(outcome, reason, added, span)
        this.total.count(outcome, "", added, span)
        yield
      }
      for (const { pipeline, counts } of latencies) {
        for (const [bucket, count] of counts.entries()) {
          const added = grown(`${pipeline}\n${bucket}`, count)
          if (added <= 0) continue
          this.#historyOf(pipeline).acknowledge(bucket, added, bounds)
          this.total.acknowledge(bucket, added, bounds)
        }
        yield
      }
      for (const { pipeline, note, count } of notes) {
        const added = grown(`${pipeline}\n${note}`, count)
        if (added > 0) this.#historyOf(pipeline).note(note, added, span)
      }
    }
    this.#counts = counts
    this.#sampledMs = nowMs
    for (const history of this.#all()) history.sampled(nowMs)
  }

  of(pipeline: string): PipelineHistory {
    return this.#pipelines.get(pipeline) ?? this.#empty
  }

  /** Every pipeline to which something has come. */
  pipelines(): Iterable<readonly [id: string, history: PipelineHistory]> {
    return this.#pipelines
  }

  /** Milliseconds, by the same clock, since the last complete step. */
  sinceStepMs(nowMs: number): number {
    return nowMs - this.#step * STEP_MS
  }

  #historyOf(pipeline: string): PipelineHistory {
    return this.#pipelines.getOrInsertComputed(pipeline, () => new PipelineHistory(this.#step, this.#startMs))
  }

  #advance(nowMs: number): void {
    const step = stepOf(nowMs)
    if (step === this.#step) return
    this.#step = step
    for (const history of this.#all()) history.advance(step)
  }

  #all(): Iterable<PipelineHistory> {
    return [this.total, this.#empty, ...this.#pipelines.values()]
  }
}
