// Hot path where it is used: every event takes a token.
import { steadyMs } from "../../clock/clock.ts"

/** Takes a token. @returns 0, or, if there was none, the whole seconds until the next; a promise while Redis is asked */
export type RateLimit = () => number | Promise<number>

export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Counts what comes within a second. */
export class Arrivals {
  #sinceMs = Number.NEGATIVE_INFINITY
  #count = 0
  #before = 0

  add(): void {
    const nowMs = steadyMs()
    const elapsedMs = nowMs - this.#sinceMs
    if (elapsedMs >= 1000) {
      this.#before = elapsedMs < 2000 ? this.#count : 0
      this.#count = 0
      this.#sinceMs = nowMs
    }
    this.#count++
  }

  /** The number in the present second or the one before. */
  get perSecond(): number {
    return Math.max(this.#count, this.#before)
  }
}

/** The share of each of several processes; a burst below one event would admit none. */
export const shareOf = ({ perSecond, burst }: Rate, processes: number): Rate => ({
  perSecond: perSecond / processes,
  burst: Math.max(1, Math.floor(burst / processes)),
})

/** A token bucket of that many events a second, full at `burst`. @param rate `now`: a monotonic clock, in milliseconds */
export function tokenBucket(rate: Rate & { readonly now?: () => number }): () => number {
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
