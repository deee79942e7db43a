import type { Steps } from "../clock/slices.ts"
import type { Distribution, Tallies } from "./metric-registry.ts"

/** What pipelines did since the start of a process: plain values, which pass between processes. */
export interface Activity {
  readonly events: readonly EventCount[]
  /** Upper bounds of the buckets of `latencies`, ascending, in seconds, without +Inf. */
  readonly bounds: readonly number[]
  readonly latencies: readonly LatencyCounts[]
  readonly notes: readonly NoteCount[]
}

/** What is noted of requests, whatever became of them: one that was not answered, one by a proxy that is not trusted. */
export const NOTES = ["unanswered", "untrusted_proxy"] as const

export type Note = (typeof NOTES)[number]

export interface NoteCount {
  readonly pipeline: string
  readonly note: Note
  readonly count: number
}

/** The counters of pipelines: events by pipeline, outcome and reason, acknowledgements and notes by pipeline. */
export interface PipelineCounts {
  readonly events: Tallies
  readonly acknowledgements: Distribution
  readonly notes: Readonly<Record<Note, Tallies>>
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

/** Copies the counters in steps: the hot path counts into the originals. */
export function* readActivity({ events, acknowledgements, notes }: PipelineCounts): Steps<Activity> {
  const counted: EventCount[] = []
  let read = 0
  for (const [[pipeline, outcome, reason], { count }] of events.entries()) {
    if (count > 0)
      counted.push({ pipeline: `${pipeline}`, outcome: `${outcome}`, reason: `${reason}`, count })
    if (++read % STEP_SERIES === 0) yield
  }
  const latencies: LatencyCounts[] = []
  for (const [[pipeline], { counts }] of acknowledgements.entries()) {
    if (counts === undefined) continue
    latencies.push({ pipeline: `${pipeline}`, counts: [...counts] })
    if (latencies.length % STEP_SERIES === 0) yield
  }
  const noted: NoteCount[] = []
  for (const note of NOTES)
    for (const [[pipeline], { count }] of notes[note].entries()) {
      if (count > 0) noted.push({ pipeline: `${pipeline}`, note, count })
      if (++read % STEP_SERIES === 0) yield
    }
  return { events: counted, bounds: acknowledgements.bounds, latencies, notes: noted }
}
