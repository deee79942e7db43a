import type { Batch } from "./partition.ts"
import { RequestGrowth } from "./request-growth.ts"
import { CLOSES_REMEMBERED_MS, SLOW_MS } from "./timeouts.ts"

/**
 * How large a produce request to one broker may be.
 *
 * A broker closes the connection on a request that is larger than its socket.request.max.bytes, without an answer. So the
 * limit is halved when that happened CLOSES times to requests of about one size, each on a connection that had just been
 * opened, and no request of that size was answered in between. It does not grow again: the broker's will not either.
 */
export class RequestLimit {
  /** The most bytes of all batches of a request; a batch that is larger goes alone. */
  bytes: number
  /** Requests in a row, of whatever size, that the connection was closed on. */
  closes = 0
  /** The most bytes of a request to a leader that is slow; `bytes` once the broker closed the connection on larger ones. */
  #slowBytes: number
  readonly #growth: RequestGrowth
  /** The largest request that was answered. */
  #answeredBytes = 0
  #suspectCloses = 0
  /** The smallest request that a connection was closed on since one of that size was answered. */
  #suspectBytes = Number.POSITIVE_INFINITY
  #closedMs = 0
  /** The limit was lowered because of a request of this size, and no answer has confirmed it yet. */
  #loweredBelow: number | undefined

  constructor(maxBytes: number, slowBytes = maxBytes) {
    this.bytes = maxBytes
    this.#slowBytes = slowBytes
    this.#growth = new RequestGrowth(maxBytes, slowBytes)
  }

  /** Whether requests to a leader that takes long to acknowledge may be larger than others. */
  get grows(): boolean {
    return this.#slowBytes > this.bytes
  }

  /** Returns the most bytes of the next request. @param isSlow whether the leader takes long to acknowledge */
  next(isSlow: boolean): number {
    if (!isSlow) this.#growth.reset()
    return isSlow && this.grows ? this.#growth.bytes : this.bytes
  }

  /** A request got no answer in time. */
  unanswered(): void {
    this.#growth.failed()
  }

  /** The broker closed the connection on a request of this size, and accepts connections all the same. */
  closed(bytes: number, nowMs: number): void {
    this.closes++
    if (bytes > Math.max(this.bytes, this.#answeredBytes) && this.grows) {
      this.#slowBytes = this.bytes
      return
    }
    // a smaller one is not closed for its size
    if (bytes < LEAST_SUSPECT_BYTES) return
    if (nowMs - this.#closedMs > CLOSES_REMEMBERED_MS) this.#forget()
    this.#closedMs = nowMs
    this.#suspectCloses++
    this.#suspectBytes = Math.min(this.#suspectBytes, bytes)
    if (this.#suspectCloses < CLOSES) return
    const suspectBytes = this.#suspectBytes
    this.#forget()
    if (suspectBytes > this.bytes && this.grows) {
      this.#slowBytes = this.bytes
      return
    }
    const lowered = Math.floor(suspectBytes / 2)
    if (lowered >= this.bytes) return
    this.bytes = lowered
    this.#loweredBelow ??= bytes
  }

  /** @returns the size of the request that had the limit lowered, once, when one of about the new limit is answered */
  answered(bytes: number, tookMs = 0): number | undefined {
    this.closes = 0
    this.#answeredBytes = Math.max(this.#answeredBytes, bytes)
    if (tookMs >= SLOW_MS) this.#growth.answered(bytes, tookMs)
    if (bytes >= this.#suspectBytes) this.#forget()
    const loweredBelow = bytes * 2 >= this.bytes ? this.#loweredBelow : undefined
    if (loweredBelow !== undefined) this.#loweredBelow = undefined
    return loweredBelow
  }

  /** Whether a batch that goes alone may be sent again. */
  allows({ bytes, records, closes }: Batch): boolean {
    if (bytes.length <= this.bytes) return closes < SMALL_CLOSES
    return closes < (records.length === 1 ? LONE_CLOSES : LARGE_CLOSES)
  }

  #forget(): void {
    this.#suspectCloses = 0
    this.#suspectBytes = Number.POSITIVE_INFINITY
  }
}

const CLOSES = 2
const LEAST_SUSPECT_BYTES = 64 * 1024
/** How many connections may be closed on a batch over the limit, one of a single record, and one within it: for 10 s at least. */
const LARGE_CLOSES = 3
const LONE_CLOSES = 6
const SMALL_CLOSES = 100
