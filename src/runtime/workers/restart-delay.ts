import { Backoff } from "../../clock/backoff.ts"

/** A worker that ran for this long restarts from the first delay. */
const STABLE_MS = 60_000
const DELAY_MS = { first: 500, longest: 30_000 }

/** The delay before a worker restarts: none at first, longer each time it ends soon. */
export class RestartDelay {
  readonly #pauses = new Backoff(DELAY_MS)
  #hasEnded = false

  /** @returns milliseconds, at most 30 s */
  ended(ranMs: number): number {
    if (ranMs >= STABLE_MS) this.reset()
    if (this.#hasEnded) return this.#pauses.failed()
    this.#hasEnded = true
    return 0
  }

  /** After a change that may fix the cause. */
  reset(): void {
    this.#hasEnded = false
    this.#pauses.reset()
  }
}
