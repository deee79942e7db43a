// Hot path: every answer passes here.
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import type { Trace } from "../telemetry/traces/trace.ts"
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
    const reason = outcome.kind === "accepted" ? "" : outcome.reason
    this.#count(status, outcome.kind, reason)
    if (request.trace !== undefined) endTrace(request.trace, { status, outcome: outcome.kind, reason, bytes })
    if (outcome.kind === "accepted") return
    if (outcome.kind === "dropped" && outcome.isRoutine && !this.#log.isLevelEnabled("debug")) return
    this.#write(outcome, request, bytes)
  }

  /** A fault, answered 500. */
  failed(err: unknown, request: Pick<RequestInfo, "id"> & Partial<RequestInfo>): void {
    const ended = { status: 500, outcome: "rejected", reason: "internal" } as const
    this.#count(ended.status, ended.outcome, ended.reason)
    const { id, path, trace } = request
    if (trace !== undefined) endTrace(trace, ended)
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

function endTrace(
  trace: Trace,
  {
    status,
    outcome,
    reason,
    bytes,
  }: { status: number; outcome: string; reason: string; bytes?: number | undefined },
): void {
  const attributes = {
    "http.response.status_code": status,
    "http.request.body.size": bytes,
    "hookline.outcome": outcome,
    "hookline.reason": reason === "" ? undefined : reason,
  }
  trace.end(attributes, status < 500 ? undefined : String(status))
}
