/**
 * How large a request to a slow leader may be. One that is far away, or waits for a replica, takes a request of twice the size
 * in the same time: then the next may be twice as large. One that is throttled takes twice as long, and what is sent last would
 * be late: then requests stay as they are, and a larger one is tried now and then.
 */
export class RequestGrowth {
  /** The most bytes of the next request. */
  bytes: number
  readonly #least: number
  readonly #most: number
  /** Bytes a millisecond, of a full request before the size was doubled; 0: unknown. */
  #rateBefore = 0
  /** Full requests until a larger one is tried; 0: this size is being tried. */
  #held = 0

  constructor(least: number, most: number) {
    this.bytes = least
    this.#least = least
    this.#most = most
  }

  /** A request was answered by a leader that is slow, after more than 0 ms. */
  answered(bytes: number, tookMs: number): void {
    const isSmall = bytes <= this.#least / SMALL
    // it is not its size that takes the time
    if (isSmall && this.bytes === this.#least && this.#held === 0) {
      this.#become(FIRST * this.#least)
      // a full one may take twice as long
      this.#rateBefore = this.bytes / (2 * GAIN * tookMs)
    }
    if (bytes < FULL * this.bytes) return
    const rate = bytes / tookMs
    const hasGained = rate >= GAIN * this.#rateBefore
    if (this.#held === 0 && !hasGained) {
      this.#become(this.bytes / 2)
      this.#held = HELD
      return
    }
    if (this.#held > 0) this.#held--
    this.#rateBefore = rate
    if (this.#held === 0) this.#become(2 * this.bytes)
  }

  /** A request was not answered in time. */
  failed(): void {
    if (this.bytes > this.#least) this.#held = HELD
    this.#become(this.bytes / 2)
  }

  /** The leader is not slow. */
  reset(): void {
    this.#become(this.#least)
    this.#rateBefore = 0
    this.#held = 0
  }

  #become(bytes: number): void {
    this.bytes = Math.floor(Math.min(this.#most, Math.max(this.#least, bytes)))
  }
}

/** A request of the SMALLth part of the least limit is small; after one that took long all the same the limit is FIRST times the least. */
const SMALL = 2
const FIRST = 4
/** A request that has this part of the limit was limited by it. */
const FULL = 0.9
/** How many times as many bytes a millisecond a request of twice the size has to bring. */
const GAIN = 1.4
const HELD = 10
