import { computed } from "@preact/signals"
import { isInterrupted } from "./event-stream.ts"
import { formatTime } from "./format.ts"
import { heardAt, overview, streamState } from "./live.ts"

/** The service's state in a word, with its level. */
export interface ServiceState {
  readonly level: "good" | "warning" | "error" | "silent"
  readonly text: string
  /** Of the worst problem; undefined: there is none, or it is not known. */
  readonly cause?: string | undefined
}

const LEVELS = {
  ready: "good",
  "partly ready": "warning",
  "not ready": "error",
  draining: "warning",
} as const

/** The state of the service; unknown while nothing is heard from it, whatever the last one was. Undefined: not known yet. */
export const serviceState = computed<ServiceState | undefined>(() => {
  if (overview.value === undefined) return undefined
  const { state, problems } = overview.value
  const there = problems.filter((it) => it.until === null && !it.acknowledged && !it.muted)
  if (isInterrupted(streamState.value))
    return { level: "silent", text: `unknown since ${formatTime(heardAt.value).slice(0, -4)}` }
  const level = LEVELS[state]
  const cause = there[0]?.cause
  if (level !== "good") return { level, text: state, cause }
  if (there.length === 0) return { level, text: "all well" }
  return { level: there.some((it) => it.severity === "error") ? "error" : "warning", text: state, cause }
})
