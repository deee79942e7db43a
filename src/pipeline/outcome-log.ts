// Hot path: every answer passes here.
import { rarely } from "../clock/lasting.ts"
import type { AnswerKind, PipelineMetrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import type { Trace } from "../telemetry/traces/trace.ts"
import type { Event, RequestInfo } from "./event.ts"
import type { Outcome, Ended } from "./outcome.ts"

/** A request as it is answered. Request and event are the pipeline's own: to be read in the call, not changed or kept. */
export interface AnsweredRequest {
  /** undefined: no pipeline has its path. */
  readonly pipeline: string | undefined
  readonly request: RequestInfo
  /** undefined: its body was not read. */
  readonly event: Event | undefined
  /** Size of the body as received, decompressed; undefined: not read. */
  readonly bytes: number | undefined
  readonly status: number
  /** undefined: a fault. */
  readonly outcome: Outcome | undefined
}

/** Called once for each request, before its answer is sent. An error is logged. */
export type OnAnswer = (answered: AnsweredRequest) => void

/** Keeps answered requests for people to look at. @internal */
export interface Capture {
  /** Whether accepted ones are kept too, and so received bodies until the answer. */
  readonly keepsAccepted: boolean
  /** @param outcome undefined: a fault. @returns false: `keep` need not be called */
  wants(outcome: Outcome | undefined): boolean
  keep(answered: AnsweredRequest): void
}

/** The log, captures and callback that learn of each answered request. @internal */
export interface Watchers {
  readonly log: RequestLog
  readonly onAnswer?: OnAnswer | undefined
  /** undefined: nothing is captured. */
  readonly capture?: Capture | undefined
}

const DAY_MS = 86_400_000

const UNTRUSTED_PROXY =
  "X-Forwarded-For of an address that trusted_proxies does not list is ignored: if it is your proxy's, list it, or all senders behind it count as one"

/**
 * Counts a pipeline's answers, and logs all but those for accepted events, with the reason; at debug what the configuration
 * drops. Never logs a body, nor other sender-controlled text than the path and the media type of a 415.
 *
 * @internal
 */
export class OutcomeLog {
  readonly #pipeline: string | undefined
  readonly #metrics: PipelineMetrics
  readonly #log: RequestLog
  readonly #onAnswer: OnAnswer | undefined
  readonly #capture: Capture | undefined
  #logProxy: (() => void) | undefined

  /** @param pipeline id; undefined: requests for no pipeline */
  constructor(pipeline: string | undefined, metrics: PipelineMetrics, { log, onAnswer, capture }: Watchers) {
    this.#pipeline = pipeline
    this.#metrics = metrics
    this.#log = log
    this.#onAnswer = onAnswer
    this.#capture = capture
  }

  /** Whether bodies as received are needed until the answer. */
  get keepsReceivedBodies(): boolean {
    return this.#capture?.keepsAccepted ?? false
  }

  /** The pipeline's series of what may be counted begin at 0. @param accepted the status of its accepted events */
  begin(accepted: number, outcomes: readonly Ended[]): void {
    const kinds = new Set<AnswerKind>(["accepted"])
    this.#count(accepted, "accepted", "", 0)
    for (const outcome of outcomes) {
      const status = outcome.kind === "dropped" ? accepted : outcome.status
      kinds.add(answerKind(status, outcome))
      this.#count(status, outcome.kind, outcome.reason, 0)
    }
    this.#metrics.begin(kinds)
  }

  /**
   * @param bytes of the received body; undefined: not read
   * @param ms from the end of the header section to the answer; undefined: of no pipeline
   */
  answered(
    status: number,
    outcome: Outcome,
    request: RequestInfo,
    bytes?: number,
    event?: Event,
    ms?: number,
  ): void {
    if (this.#onAnswer !== undefined || this.#capture?.wants(outcome) === true)
      this.#tell({ pipeline: this.#pipeline, request, event, bytes, status, outcome })
    const reason = outcome.kind === "accepted" ? "" : outcome.reason
    this.#count(status, outcome.kind, reason)
    if (bytes !== undefined) this.#metrics.received(bytes)
    if (ms !== undefined) this.#metrics.took(answerKind(status, outcome), ms)
    if (request.trace !== undefined) endTrace(request.trace, { status, outcome: outcome.kind, reason, bytes })
    if (outcome.kind === "accepted") return
    const isRoutine = outcome.kind !== "rejected" && outcome.isRoutine
    if (isRoutine && !this.#log.isLevelEnabled("debug")) return
    this.#write(outcome, request, bytes)
  }

  /** The connection of a request was closed before its answer. */
  unanswered(): void {
    this.#metrics.unanswered()
  }

  /** A request with X-Forwarded-For came from an address that is not a trusted proxy's. */
  untrustedProxy(peer: string, { id }: Pick<RequestInfo, "id">): void {
    this.#metrics.untrustedProxy()
    this.#logProxy ??= rarely(DAY_MS, () => {
      const line = { pipeline: this.#pipeline, reason: "untrusted_proxy", peer_address: peer, request_id: id }
      this.#log.write("warn", line, UNTRUSTED_PROXY)
    })
    this.#logProxy()
  }

  /** A fault, answered 500. */
  failed(err: unknown, request: RequestInfo | Pick<RequestInfo, "id">, event?: Event, ms?: number): void {
    const ended = { status: 500, outcome: "rejected", reason: "internal" } as const
    if ("headers" in request) {
      const bytes = event?.receivedBody.length
      const { status } = ended
      this.#tell({ pipeline: this.#pipeline, request, event, bytes, status, outcome: undefined })
    }
    this.#count(ended.status, ended.outcome, ended.reason)
    if (ms !== undefined) this.#metrics.took("failed", ms)
    if ("trace" in request && request.trace !== undefined) endTrace(request.trace, ended)
    const path = "path" in request ? request.path : undefined
    const line = { err, pipeline: this.#pipeline, reason: ended.reason, path, request_id: request.id }
    this.#log.write("error", line, "unhandled error while processing a request")
  }

  #tell(answered: AnsweredRequest): void {
    this.#attempt(answered, "request not captured", () => {
      if (this.#capture?.wants(answered.outcome) === true) this.#capture.keep(answered)
    })
    this.#attempt(answered, "onAnswer() callback failed", () => this.#onAnswer?.(answered))
  }

  /** An event that is published is answered so, whatever else fails. */
  #attempt({ request }: AnsweredRequest, failure: string, action: () => void): void {
    try {
      action()
    } catch (err) {
      const line = { err, pipeline: this.#pipeline, reason: "internal", request_id: request.id }
      this.#log.write("error", line, failure)
    }
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
    if (outcome.kind === "answered")
      return outcome.isRoutine
        ? this.#log.write("debug", { ...line, status }, "probe answered")
        : this.#log.write("info", { ...line, status }, "handshake answered")
    // not verified
    if (status === 401)
      return this.#log.warn(
        { ...line, status, detail: outcome.logDetail ?? outcome.detail },
        "event rejected",
      )
    // before the body was read: without a detail its reason says all
    const isUnread = bytes === undefined
    const detail = outcome.logDetail ?? (isUnread ? undefined : outcome.detail)
    // at 499 the sender disconnected
    const level = status >= 500 ? "warn" : status === 499 ? "debug" : "info"
    this.#log.write(level, { ...line, status, detail }, isUnread ? "request refused" : "event rejected")
  }
}

function answerKind(status: number, { kind }: Outcome): AnswerKind {
  if (kind !== "rejected") return kind
  return status < 500 ? "refused" : "failed"
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
