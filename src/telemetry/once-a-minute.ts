import { steadyMs } from "../clock.ts"

const LOG_EVERY_MS = 60_000

/** Logs at once, then at most once a minute with the number of further events, and what is said of the last one. */
export function atMostEveryMinute<Said extends unknown[]>(
  write: (events: number, ...said: Said) => void,
): (...said: Said) => void {
  let count = 0
  let loggedMs = Number.NEGATIVE_INFINITY
  return (...said) => {
    count++
    if (steadyMs() - loggedMs < LOG_EVERY_MS) return
    loggedMs = steadyMs()
    write(count, ...said)
    count = 0
  }
}
