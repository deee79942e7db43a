import { steadyMs } from "../../clock/clock.ts"

interface Limits {
  /** Milliseconds. */
  readonly first: number
  readonly longest: number
}

/** A timeout that follows what brokers take: it is doubled when it expires, and set by what the last success took. */
export class AdaptiveTimeout {
  /** Milliseconds. */
  ms: number
  readonly #limits: Limits

  constructor(limits: Limits) {
    this.ms = limits.first
    this.#limits = limits
  }

  /** Runs what ends by this timeout, and learns from how long it takes. @throws what it fails with */
  async measure<T>(run: (timeoutMs: number) => Promise<T>): Promise<T> {
    const { first, longest } = this.#limits
    const startMs = steadyMs()
    const timeoutMs = this.ms
    try {
      const result = await run(timeoutMs)
      this.ms = Math.min(longest, Math.max(first, MARGIN * (steadyMs() - startMs)))
      return result
    } catch (error) {
      if (steadyMs() - startMs >= timeoutMs) this.ms = Math.min(longest, Math.max(this.ms, 2 * timeoutMs))
      throw error
    }
  }
}

/** How many times as long as the last one the next may take. */
const MARGIN = 3
