/** A worker that ran for so long is not one that ends again and again. */
const SOUND_MS = 60_000
const FIRST_MS = 500
const MOST_MS = 30_000

/** How long to wait before a worker is started anew: not at all at first, and longer each time that it ends soon again. */
export class BackOff {
  #ends = 0

  /** @returns milliseconds, at most 30 s */
  ended(ranMs: number): number {
    if (ranMs >= SOUND_MS) this.#ends = 0
    this.#ends++
    return this.#ends === 1 ? 0 : Math.min(MOST_MS, FIRST_MS * 2 ** (this.#ends - 2))
  }

  /** What it ended of may be mended. */
  reset(): void {
    this.#ends = 0
  }
}
