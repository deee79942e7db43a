// Hot path where it is used: every event takes a token.
import { steadyMs } from "../../clock/clock.ts"

/** Takes a token. @returns 0, or, if there was none, the whole seconds until the next; a promise where it may have to be asked for */
export type RateLimit = () => number | Promise<number>

/** A token bucket of that many events a second, full at `burst`. @param rate `now`: a monotonic clock, in milliseconds */
export function tokenBucket(rate: { perSecond: number; burst: number; now?: () => number }): () => number {
  const { perSecond, burst, now = steadyMs } = rate
  let tokens = burst
  let filledMs = now()
  return () => {
    const nowMs = now()
    tokens = Math.min(burst, tokens + ((nowMs - filledMs) / 1000) * perSecond)
    filledMs = nowMs
    if (tokens < 1) return Math.ceil((1 - tokens) / perSecond)
    tokens--
    return 0
  }
}
