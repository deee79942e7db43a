// Hot path: every answer passes here.
import type { AnswerKind, PipelineMetrics } from "../telemetry/metrics.ts"
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

  /** The pipeline's series of what may be counted begin at 0. @param accepted the status of its accepted events */
  begin(accepted: number, outcomes: readonly Ended[]): void {
    this.#metrics.begin()
    this.#count(accepted, "accepted", "", 0)
    for (const outcome of outcomes)
      this.#count(outcome.kind === "dropped" ? accepted : outcome.status, outcome.kind, outcome.reason, 0)
  }

  /**
   * @param bytes of the received body; undefined: not read
   * @param ms from the end of the header section to the answer
   */
  answered(status: number, outcome: Outcome, request: RequestInfo, bytes?: number, ms?: number): void {
    this.#count(status, outcome.kind, outcome.kind === "accepted" ? "" : outcome.reason)
    if (bytes !== undefined) this.#metrics.received(bytes)
    if (ms !== undefined) this.#metrics.took(answerKind(status, outcome), ms)
    if (outcome.kind === "accepted") return
    if (outcome.kind === "dropped" && outcome.isRoutine && !this.#log.isLevelEnabled("debug")) return
    this.#write(outcome, request, bytes)
  }

  /** A fault, answered 500. */
  failed(err: unknown, request: Pick<RequestInfo, "id"> & Partial<RequestInfo>, ms?: number): void {
    this.#count(500, "rejected", "internal")
    if (ms !== undefined) this.#metrics.took("failed", ms)
    const { id, path } = request
    const line = { err, pipeline: this.#pipeline, reason: "internal", path, request_id: id }
    this.#log.write("error", line, "unhandled error while processing a request")
  }

  #count(status: number, outcome: Outcome["kind"], reason: string, count?: number): void {
    this.#metrics.answered(status, count)
    if (this.#pipeline !== undefined) this.#metrics.ended(outcome, reason, count)
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

function answerKind(status: number, { kind }: Outcome): AnswerKind {
  if (kind !== "rejected") return kind
  return status < 500 ? "refused" : "failed"
}
