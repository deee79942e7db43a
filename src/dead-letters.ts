import { Accepted, Dropped, Rejected, type Ended, type Event, type Publisher } from "./event.ts"
import type { PipelineMetrics } from "./telemetry/metrics.ts"
import type { RequestLog } from "./telemetry/request-log.ts"

/** Refusals of a request whose sender is not known, or that may be taken when it is sent again or otherwise. */
const NOT_FOR_THE_BODY = [401, 408, 413, 429]

/** Whether an event ended for what its body is, and would for ever. */
function isUnusable(outcome: Ended): outcome is Rejected | Dropped {
  if (outcome instanceof Dropped) return outcome.isInvalid
  if (!(outcome instanceof Rejected)) return false
  const { status } = outcome
  return status >= 400 && status < 500 && !NOT_FOR_THE_BODY.includes(status)
}

/**
 * Keeps the body of an event that a step ended, if it is a dead letter (undefined: it is none), and says what the sender
 * gets then: what it would have got, once the dead letter is durable, or, when that can't be published now, a 503, so
 * that the body comes again.
 *
 * @param received the body as it was received
 */
export type KeepDeadLetter = (
  step: number,
  event: Event,
  received: Uint8Array,
  outcome: Ended,
) => Promise<Ended> | undefined

/**
 * Makes what keeps a pipeline's dead letters; undefined: it has none.
 *
 * @param verifiedFrom the index of the first step that only events of verified senders reach
 */
export function deadLettersOf({
  pipeline,
  publish,
  verifiedFrom,
  metrics,
  log,
}: {
  readonly pipeline: string
  readonly publish: Publisher
  readonly verifiedFrom?: number | undefined
  readonly metrics: PipelineMetrics
  readonly log: RequestLog
}): KeepDeadLetter | undefined {
  const { deadLetter } = publish
  if (deadLetter === undefined || verifiedFrom === undefined) return undefined

  const keep = async (event: Event, outcome: Rejected | Dropped): Promise<Ended> => {
    const result = await deadLetter(event, outcome)
    if (result instanceof Accepted) {
      metrics.deadLetter(outcome.reason)
      return outcome
    }
    const { status, reason, detail, logDetail = detail, headers } = result
    // larger than the broker takes: it would come again for ever
    if (status < 500) {
      const line = { pipeline, reason: outcome.reason, bytes: event.body.length, detail: logDetail }
      log.write("error", line, "a dead letter is lost")
      return outcome
    }
    return new Rejected(status, `dead_letter_${reason}`, detail, {
      logDetail: `the dead letter of an event that ended as ${outcome.reason} was not published: ${logDetail}`,
      ...(headers === undefined ? {} : { headers }),
    })
  }
  return (step, event, received, outcome) =>
    step < verifiedFrom || !isUnusable(outcome) ? undefined : keep({ ...event, body: received }, outcome)
}
