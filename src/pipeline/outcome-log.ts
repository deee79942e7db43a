// Hot path: every answer passes here.
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import type { RequestInfo } from "./event.ts"
import type { Ended, Outcome } from "./outcome.ts"

/**
 * Counts a pipeline's answers, and logs all but those for accepted events, with the reason; at debug what the configuration
 * drops. Never logs a body, nor
 * other sender-controlled text than the path.
 */
export class OutcomeLog {
  readonly #pipeline: string | undefined
  readonly #metrics: PipelineMetrics
  readonly #log: RequestLog

  /** @param pipeline id; undefined: requests for no pipeline */
  constructor(pipeline: string | undefined, metrics: PipelineMetrics, log: RequestLog) {
    this.#pipeline = pipeline
    this.#metrics = metrics
    this.#log = log
  }

  /** @param bytes of the received body; undefined: not read */
  answered(status: number, outcome: Outcome, request: RequestInfo, bytes?: number): void {
    this.#count(status, outcome.kind, outcome.kind === "accepted" ? "" : outcome.reason)
    if (outcome.kind === "accepted") return
    if (outcome.kind === "dropped" && outcome.isRoutine && !this.#log.isLevelEnabled("debug")) return
    this.#write(outcome, request, bytes)
  }

  /** A fault, answered 500. */
  failed(err: unknown, request: Pick<RequestInfo, "id"> & Partial<RequestInfo>): void {
    this.#count(500, "rejected", "internal")
    const { id, path } = request
    const line = { err, pipeline: this.#pipeline, reason: "internal", path, request_id: id }
    this.#log.write("error", line, "unhandled error while processing a request")
  }

  #count(status: number, outcome: Outcome["kind"], reason: string): void {
    this.#metrics.answered(status)
    if (this.#pipeline !== undefined) this.#metrics.ended(outcome, reason)
  }

  #write(outcome: Ended, request: RequestInfo, bytes: number | undefined): void {
    const { id, method, path, remoteAddress } = request
    const { reason } = outcome
    const where = { method, path, remote_address: remoteAddress, request_id: id }
    const line = { pipeline: this.#pipeline, reason, ...where, bytes }
    if (outcome.kind === "dropped")
      return this.#log.write(
        outcome.isRoutine ? "debug" : "info",
        { ...line, detail: outcome.detail },
        "event dropped",
      )
    const { status } = outcome
    if (outcome.kind === "answered") return this.#log.write("info", { ...line, status }, "handshake answered")
    // refused before the body was read, fully described by its reason
    if (bytes === undefined && outcome.logDetail === undefined) {
      // the sender disconnected
      const level = status === 499 ? "debug" : "info"
      return this.#log.write(level, { ...line, status }, "request refused")
    }
    const detail = outcome.logDetail ?? outcome.detail
    this.#log.write(status >= 500 ? "warn" : "info", { ...line, status, detail }, "event rejected")
  }
}
