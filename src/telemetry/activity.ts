import type { Steps } from "../clock/slices.ts"
import type { Distribution, Tallies } from "./metric-registry.ts"

/** What pipelines did since the start of a process: plain values, which pass between processes. */
export interface Activity {
  readonly events: readonly EventCount[]
  /** Upper bounds of the buckets of `latencies`, ascending, in seconds, without +Inf. */
  readonly bounds: readonly number[]
  readonly latencies: readonly LatencyCounts[]
}

export interface EventCount {
  readonly pipeline: string
  readonly outcome: string
  /** Empty for accepted events. */
  readonly reason: string
  readonly count: number
}

/** Acknowledgements by their latency. */
export interface LatencyCounts {
  readonly pipeline: string
  /** For each bucket, the last above every bound; not cumulative. */
  readonly counts: readonly number[]
}

const STEP_SERIES = 256

/** Copies the counters of events, by pipeline, outcome and reason, and of acknowledgements, by pipeline, in steps: the hot path counts into the originals. */
export function* readActivity(events: Tallies, latency: Distribution): Steps<Activity> {
  const counted: EventCount[] = []
  let read = 0
  for (const [[pipeline, outcome, reason], { count }] of events.entries()) {
    if (count > 0)
      counted.push({ pipeline: `${pipeline}`, outcome: `${outcome}`, reason: `${reason}`, count })
    if (++read % STEP_SERIES === 0) yield
  }
  const latencies: LatencyCounts[] = []
  for (const [[pipeline], { counts }] of latency.entries()) {
    if (counts === undefined) continue
    latencies.push({ pipeline: `${pipeline}`, counts: [...counts] })
    if (latencies.length % STEP_SERIES === 0) yield
  }
  return { events: counted, bounds: latency.bounds, latencies }
}
