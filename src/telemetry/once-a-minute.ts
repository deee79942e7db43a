import { steadyMs } from "../clock/clock.ts"

const LOG_EVERY_MS = 60_000

/** Logs at once, then at most once a minute with the number of further events. */
export function atMostEveryMinute(write: (events: number) => void): () => void {
  let count = 0
  let loggedMs = Number.NEGATIVE_INFINITY
  return () => {
    count++
    if (steadyMs() - loggedMs < LOG_EVERY_MS) return
    loggedMs = steadyMs()
    write(count)
    count = 0
  }
}
