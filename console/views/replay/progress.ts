import type { ReplayOverview } from "../../api.ts"
import { formatCount, formatCounted, formatDuration, formatRate } from "../../format.ts"

/** Loaded jobs as they became since, the newest first. */
export function newestOf(
  loaded: readonly ReplayOverview[],
  changed: ReadonlyMap<string, ReplayOverview>,
): readonly ReplayOverview[] {
  const jobs = new Map([...loaded.map((it) => [it.id, it] as const), ...changed])
  return [...jobs.values()].toSorted((a, b) => b.started_at - a.started_at)
}

export type Word = ReplayOverview["state"] | "waiting" | "done, with failures"

/** The replay's state in a word: one that runs may wait for its source or its target, and says why. */
export function wordOf({ state, failed, error }: ReplayOverview): Word {
  if (state === "running" && error !== null) return "waiting"
  return state === "done" && failed > 0 ? "done, with failures" : state
}

/** `4,800 records`, `2 failed`, `40 %`, `1,210/s`, `6 s left`; where a filter leaves some out, the share is that of the range. */
export function progressOf({
  state,
  share,
  replayed,
  failed,
  per_second,
  remaining_ms,
}: ReplayOverview): string[] {
  return [
    formatCounted(replayed, "record"),
    ...(failed > 0 ? [`${formatCount(failed)} failed`] : []),
    ...(state === "done" ? [] : [`${Math.floor(share * 100)} %`]),
    ...(state === "running" ? [`${formatRate(per_second)}/s`] : []),
    ...(state === "running" && remaining_ms !== null ? [`${formatDuration(remaining_ms)} left`] : []),
  ]
}
