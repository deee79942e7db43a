/**
 * How long a leader took to answer its last produce requests. One that is far away, lags behind, is throttled by a quota or
 * waits for a slow replica takes seconds: then as much of what is pending has to go with each request as came meanwhile.
 */
export class RoundTrips {
  /** Of the last requests, in milliseconds. */
  readonly #last: number[] = []
  #answeredMs = Number.NEGATIVE_INFINITY
  /** The longest of the last requests, in milliseconds; 0: none has been answered. */
  longestMs = 0
  #shortestMs = 0

  /** @param tookMs from when a request was sent to its answer, at `nowMs` of the steady clock */
  add(tookMs: number, nowMs: number): void {
    this.#answeredMs = nowMs
    this.#last.push(tookMs)
    if (this.#last.length > REMEMBERED) this.#last.shift()
    this.longestMs = Math.max(...this.#last)
    this.#shortestMs = Math.min(...this.#last)
  }

  /**
   * Returns the least time that an acknowledgement takes now, in milliseconds. It is 0 where no request was answered lately:
   * the leader may have become faster, which only shows when it is sent something.
   */
  leastMs(nowMs: number): number {
    return nowMs - this.#answeredMs > Math.max(this.#shortestMs, RECENT_MS) ? 0 : this.#shortestMs
  }
}

const REMEMBERED = 10
const RECENT_MS = 1000
