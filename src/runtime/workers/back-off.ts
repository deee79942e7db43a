import { doubled } from "../../clock/clock.ts"

/** A worker that ran for this long restarts from the first delay. */
const STABLE_MS = 60_000
const DELAY_MS = { first: 500, longest: 30_000 }

/** The delay before a worker restarts: none at first, longer each time it ends soon. */
export class BackOff {
  #ends = 0

  /** @returns milliseconds, at most 30 s */
  ended(ranMs: number): number {
    if (ranMs >= STABLE_MS) this.#ends = 0
    this.#ends++
    return this.#ends === 1 ? 0 : doubled(DELAY_MS, this.#ends - 2)
  }

  /** After a change that may fix the cause. */
  reset(): void {
    this.#ends = 0
  }
}
