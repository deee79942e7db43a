// Hot path where it is used: every event takes a token.

import { steadyMs } from "../steady-clock.ts"

/**
 * Lets so many events a second in: a bucket of tokens that fills steadily, up to `burst`, and that each event takes one
 * from. It begins full.
 */
export class RateLimit {
  readonly #perSecond: number
  readonly #burst: number
  readonly #now: () => number
  #tokens: number
  #filledMs: number

  /** @param now a clock that is never set, in milliseconds */
  constructor({
    perSecond,
    burst,
    now = steadyMs,
  }: {
    perSecond: number
    burst: number
    now?: () => number
  }) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#now = now
    this.#tokens = burst
    this.#filledMs = now()
  }

  /** Takes a token. @returns 0, or, when there was none, the whole seconds until there is one */
  take(): number {
    const nowMs = this.#now()
    const gained = ((nowMs - this.#filledMs) / 1000) * this.#perSecond
    this.#filledMs = nowMs
    this.#tokens = Math.min(this.#burst, this.#tokens + gained)
    if (this.#tokens < 1) return Math.ceil((1 - this.#tokens) / this.#perSecond)
    this.#tokens--
    return 0
  }
}
