import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import type { Event, Publisher } from "./event.ts"
import { Dropped, Rejected, type Ended } from "./outcome.ts"

/** Refusals of unknown senders, or of requests that may succeed later or in another form. */
const NOT_FOR_THE_BODY = [401, 408, 413, 429]

/** Whether an event can never be accepted because of its body. */
export function isUnusable(outcome: Ended): outcome is Rejected | Dropped {
  if (outcome instanceof Dropped) return outcome.isInvalid
  if (!(outcome instanceof Rejected)) return false
  const { status } = outcome
  return status >= 400 && status < 500 && !NOT_FOR_THE_BODY.includes(status)
}

/** The sender's answer where the dead letter was refused. */
export const deadLetterRefused = (
  { status, reason, detail, headers }: Rejected,
  logDetail?: string,
): Rejected =>
  new Rejected(status, `dead_letter_${reason}`, detail, {
    logDetail,
    headers,
  })

/** The broker, topic and limits that dead letters are published with. */
export interface DeadLetters {
  readonly pipeline: string
  /** undefined: none are kept, or no sender is verified. */
  readonly deadLetter: Publisher["deadLetter"]
  readonly metrics: Pick<PipelineMetrics, "deadLetter">
  readonly log: RequestLog
}

/**
 * The sender's answer to an event that a step ended: the outcome itself, once its dead letter is durable where there is to be
 * one, or a 503 if that can't be published now. Only verified senders' bodies are kept.
 */
export function keepDeadLetter(to: DeadLetters, event: Event, outcome: Ended): Ended | Promise<Ended> {
  return to.deadLetter !== undefined && event.request.isVerified === true && isUnusable(outcome)
    ? keep(to, event, outcome)
    : outcome
}

async function keep(
  { pipeline, deadLetter, metrics, log }: DeadLetters,
  event: Event,
  outcome: Rejected | Dropped,
): Promise<Ended> {
  const result = await deadLetter!(event, outcome)
  if (result.kind === "accepted") {
    metrics.deadLetter(outcome.reason)
    return outcome
  }
  const { status, detail, logDetail = detail } = result
  // too large for the broker: a retry would fail forever
  if (status < 500) {
    const { request, receivedBody } = event
    const line = { pipeline, reason: outcome.reason, request_id: request.id, bytes: receivedBody.length }
    log.write("error", { ...line, detail: logDetail }, "dead letter lost")
    return outcome
  }
  return deadLetterRefused(
    result,
    `the dead letter of an event that ended as ${outcome.reason} was not published: ${logDetail}`,
  )
}
