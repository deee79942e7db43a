import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { errorNameOf, type ErrorAction } from "./error-actions.ts"
import { FAILING_MS, FAILURE_REMEMBERED_MS } from "./timeouts.ts"

/**
 * Whether a partition accepts batches. It fails while it acknowledges nothing and
 *
 *   - a batch was rejected for good, or not answered by the deadline of its records, or
 *   - batches were rejected for now, or lost, for FAILING_MS.
 *
 * That lasts until the next acknowledgement, and for FAILURE_REMEMBERED_MS after the last failure at most: while it is not
 * ready it may get no events, and only new ones can show whether it accepts them again.
 */
export class DeliveryHealth {
  /** Time of the last acknowledgement, by the steady clock. */
  acknowledgedMs = Number.NEGATIVE_INFINITY
  #sinceMs = 0
  /** Time of the last failure since; -Infinity: none. */
  #failedMs = Number.NEGATIVE_INFINITY
  #isFinal = false
  #reason = ""

  acknowledged(nowMs: number): void {
    this.acknowledgedMs = nowMs
    this.#failedMs = Number.NEGATIVE_INFINITY
  }

  rejected(action: ErrorAction, errorCode: number, nowMs: number): void {
    // an error of a record says nothing about the partition
    const isRecord =
      (action === "isolate" && errorCode !== ERROR.INVALID_TIMESTAMP) || action === "retry_then_isolate"
    if (isRecord) return
    this.#failed(nowMs, action === "refuse" || action === "isolate")
    this.#reason = `error ${errorNameOf(errorCode)}`
  }

  /** The request that held a batch failed. */
  lost(nowMs: number): void {
    this.#failed(nowMs, false)
    this.#reason ||= "no answer"
  }

  /** A batch was not answered by the deadline of its records. */
  late(nowMs: number): void {
    this.#failed(nowMs, true)
    this.#reason ||= "no answer within delivery_timeout"
  }

  /** Why the partition accepts no batches; undefined while it accepts them. */
  failure(nowMs: number): { readonly sinceMs: number; readonly reason: string } | undefined {
    if (nowMs - this.#failedMs > FAILURE_REMEMBERED_MS) return undefined
    if (!this.#isFinal && this.#failedMs - this.#sinceMs < FAILING_MS) return undefined
    return { sinceMs: this.#sinceMs, reason: this.#reason }
  }

  #failed(nowMs: number, isFinal: boolean): void {
    if (nowMs - this.#failedMs > FAILURE_REMEMBERED_MS) {
      this.#sinceMs = nowMs
      this.#isFinal = false
      this.#reason = ""
    }
    this.#failedMs = nowMs
    this.#isFinal ||= isFinal
  }
}
