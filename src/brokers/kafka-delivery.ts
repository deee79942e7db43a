import { INVALID_TIMESTAMP, nameOf, type Verdict } from "./kafka-verdict.ts"

/*
 * What has become of a partition's batches lately. A partition fails while it acknowledges nothing and
 *
 *   - a batch was refused for good, or was not answered by the deadline of its records, or
 *   - batches were refused for now, or lost, for SPAN_MS: shorter than that a leader moves.
 *
 * That holds until the next acknowledgement, and for RECENT_MS after the last failure at most: whoever is not ready is sent
 * nothing, so that only the next events can show whether the broker takes them again.
 */
const SPAN_MS = 2000
const RECENT_MS = 10_000
const LATE = "no answer within delivery_timeout"
const LOST = "no answer"

export interface DeliveryFailure {
  readonly sinceMs: number
  readonly reason: string
}

export class Delivery {
  /** Of the last acknowledgement, by the steady clock. */
  acknowledgedMs = Number.NEGATIVE_INFINITY
  #sinceMs = 0
  /** Of the last failure since then. */
  #failedMs = Number.NEGATIVE_INFINITY
  #isSure = false
  #reason = ""

  // Hot path: once a batch.
  acknowledged(nowMs: number): void {
    this.acknowledgedMs = nowMs
    this.#failedMs = Number.NEGATIVE_INFINITY
  }

  /** The broker answered a batch with an error. */
  refused(verdict: Verdict, errorCode: number, nowMs: number): void {
    // what is wrong with a record says nothing of the partition
    const isRecord = (verdict === "unfit" && errorCode !== INVALID_TIMESTAMP) || verdict === "corrupt"
    if (isRecord) return
    this.#failed(nowMs, verdict === "refused" || verdict === "unfit")
    this.#reason = `error ${nameOf(errorCode)}`
  }

  /** The request that held a batch has failed. */
  lost(nowMs: number): void {
    this.#failed(nowMs, false)
    this.#reason ||= LOST
  }

  /** A batch was not answered by the deadline of its records. */
  late(nowMs: number): void {
    this.#failed(nowMs, true)
    this.#reason ||= LATE
  }

  /** Undefined: it takes records, as far as is known. */
  failure(nowMs: number): DeliveryFailure | undefined {
    if (nowMs - this.#failedMs > RECENT_MS) return undefined
    if (!this.#isSure && this.#failedMs - this.#sinceMs < SPAN_MS) return undefined
    return { sinceMs: this.#sinceMs, reason: this.#reason }
  }

  #failed(nowMs: number, isSure: boolean): void {
    if (nowMs - this.#failedMs > RECENT_MS) {
      this.#sinceMs = nowMs
      this.#isSure = false
      this.#reason = ""
    }
    this.#failedMs = nowMs
    this.#isSure ||= isSure
  }
}
