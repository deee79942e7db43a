/**
 * How large a produce request to one broker may be.
 *
 * A broker closes the connection on a request that is larger than its socket.request.max.bytes, without an answer. So the
 * limit is halved when that happened CLOSES times to requests of about one size, each on a connection that had just been
 * opened, and no request of that size was answered in between. It does not grow again: the broker's will not either.
 */
export class RequestLimit {
  /** Of all batches of a request; a batch that is larger goes alone. */
  bytes: number
  #closes = 0
  /** The smallest request that a connection was closed on since one of that size was answered. */
  #suspectBytes = Number.POSITIVE_INFINITY
  #closedMs = 0

  constructor(maxBytes: number) {
    this.bytes = maxBytes
  }

  /**
   * The broker closed the connection on a request of this size, and takes connections all the same.
   *
   * @returns whether the limit was lowered
   */
  closed(bytes: number, nowMs: number): boolean {
    if (!isSuspect(bytes)) return false
    if (nowMs - this.#closedMs > REMEMBERED_MS) this.#forget()
    this.#closedMs = nowMs
    this.#closes++
    this.#suspectBytes = Math.min(this.#suspectBytes, bytes)
    if (this.#closes < CLOSES) return false
    const lowered = Math.floor(this.#suspectBytes / 2)
    this.#forget()
    if (lowered >= this.bytes) return false
    this.bytes = lowered
    return true
  }

  /** A request of this size was answered. */
  answered(bytes: number): void {
    if (bytes >= this.#suspectBytes) this.#forget()
  }

  #forget(): void {
    this.#closes = 0
    this.#suspectBytes = Number.POSITIVE_INFINITY
  }
}

/** Whether a request is so large that a connection may have been closed for its size. */
const isSuspect = (bytes: number): boolean => bytes >= LEAST_SUSPECT_BYTES

const CLOSES = 2
/** A close that lies further back was a restart. */
const REMEMBERED_MS = 10_000
const LEAST_SUSPECT_BYTES = 64 * 1024
