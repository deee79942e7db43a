import { byBoth, byFirst, once } from "./handles.ts"
import { LATENCY_BUCKETS, type OwnMetrics } from "./own-metrics.ts"

/**
 * Counters of a pipeline, bound once when it is built; the id "" stands for an unknown path. Reasons are fixed words of
 * Hookline's or the configuration's, never a sender's. With a count of 0 a series begins, so that a rate sees its first
 * event; others begin with theirs.
 */
export interface PipelineMetrics {
  /** What every pipeline has begins at 0, and the latencies of its kinds of answers. */
  begin(answers: Iterable<AnswerKind>): void
  /** A request was answered; status as sent. */
  answered(status: number, count?: number): void
  /** The answer took that many milliseconds from the end of the request's header section. */
  took(answer: AnswerKind, ms: number): void
  /** A body of that many bytes was read, decompressed. */
  received(bytes: number): void
  /** An event reached its outcome. `reason` is a fixed word, empty for accepted events. */
  ended(outcome: OutcomeKind, reason: string, count?: number): void
  /** An item of a list that was split reached its outcome, as for `ended`. */
  listItem(outcome: OutcomeKind, reason: string, count?: number): void
  /** A request failed verification; `mode` is the Verifier's. */
  unverified(reason: string, mode: "enforce" | "observe", count?: number): void
  /** A dead letter was acknowledged; `reason` is the refusal's. */
  deadLetter(reason: string, count?: number): void
  /** An event was published without deduplication; `unmarked`: its key could not be stored. */
  undeduplicated(reason: "no_key" | "unmarked" | "unverified", count?: number): void
  /** An event without the Filter's value was kept. */
  unfiltered(count?: number): void
  /** An event went to the sink's topic since the Router found none for it. */
  unrouted(
    reason: "no_value" | "no_rule" | "invalid_topic" | "topic_not_allowed" | "too_many_topics",
    count?: number,
  ): void
  /** Milliseconds from the end of the body to the acknowledgement. */
  acknowledged(ms: number): void
}

type OutcomeKind = "accepted" | "dropped" | "rejected" | "answered"

/** An outcome, with refusals divided into those of the sender's fault (4xx) and others (5xx). */
export type AnswerKind = "accepted" | "dropped" | "answered" | "refused" | "failed"

/** The metrics of all pipelines, by their labels. */
const pipelineFamilies = (own: OwnMetrics) => ({
  requests: own.tallies(
    "hookline_http_requests_total",
    "Answers given, by pipeline and HTTP status; the pipeline is empty for an unknown path.",
    ["pipeline", "status"],
  ),
  events: own.tallies(
    "hookline_events_total",
    "Events by outcome (accepted, dropped, rejected, answered) and reason; `duplicate` is a Deduplicator's hit.",
    ["pipeline", "outcome", "reason"],
  ),
  received: own.tallies(
    "hookline_received_bytes_total",
    "Bytes of request bodies read, decompressed; refusals before the body is read add none.",
    ["pipeline"],
  ),
  answers: own.distribution(
    "hookline_answer_seconds",
    "Time from the end of a request's header section to its answer, by outcome: accepted, dropped, answered (handshakes), refused (4xx), failed (5xx).",
    ["pipeline", "outcome"],
    LATENCY_BUCKETS,
  ),
  acknowledgements: own.distribution(
    "hookline_acknowledgement_seconds",
    "Time from the end of a request's body to the broker's acknowledgement of its record.",
    ["pipeline"],
    LATENCY_BUCKETS,
  ),
  listItems: own.tallies(
    "hookline_list_items_total",
    "Items of lists that the Decoder split, by outcome and reason; hookline_events_total counts the list as one event.",
    ["pipeline", "outcome", "reason"],
  ),
  verificationFailures: own.tallies(
    "hookline_verification_failures_total",
    "Requests that failed verification, by reason; in mode observe their events were published.",
    ["pipeline", "reason", "mode"],
  ),
  deadLetters: own.tallies(
    "hookline_dead_letters_total",
    "Refused events published to the dead letter topic, by reason of the refusal.",
    ["pipeline", "reason"],
  ),
  undeduplicated: own.tallies(
    "hookline_undeduplicated_events_total",
    "Events published without deduplication: without a key (no_key), unverified in mode observe (unverified), or with a key that could not be stored (unmarked).",
    ["pipeline", "reason"],
  ),
  unfiltered: own.tallies(
    "hookline_unfiltered_events_total",
    "Events kept since they lack the Filter's value.",
    ["pipeline"],
  ),
  unrouted: own.tallies(
    "hookline_unrouted_events_total",
    "Events published to the sink's topic since the Router found none: they lack its value (no_value), no line matches (no_rule), or the template gives a name that Kafka forbids (invalid_topic), that `topics` does not allow (topic_not_allowed), or that would be one more than `max_topics` (too_many_topics).",
    ["pipeline", "reason"],
  ),
})

/** Declares the metrics of pipelines. The handles of a pipeline are the same for every call with its id. */
export function pipelineMetrics(own: OwnMetrics) {
  const {
    requests,
    events,
    received,
    answers,
    acknowledgements,
    listItems,
    verificationFailures,
    deadLetters,
    undeduplicated,
    unfiltered,
    unrouted,
  } = pipelineFamilies(own)

  const pipeline = once((pipeline: string): PipelineMetrics => {
    const bytes = once(() => received.bind({ pipeline }))
    const answer = once((outcome: AnswerKind) => answers.bind({ pipeline, outcome }))
    const acknowledgement = once(() => acknowledgements.bind({ pipeline }))
    const withoutValue = once(() => unfiltered.bind({ pipeline }))
    return {
      begin(kinds) {
        bytes(undefined)
        for (const kind of kinds) answer(kind)
        acknowledgement(undefined)
      },
      answered: byFirst((status) => requests.bind({ pipeline, status: String(status) })),
      took: (outcome, ms) => answer(outcome)(ms / 1000),
      received: (count) => bytes(undefined)(count),
      ended: byBoth((outcome, reason) => events.bind({ pipeline, outcome, reason })),
      listItem: byBoth((outcome, reason) => listItems.bind({ pipeline, outcome, reason })),
      unverified: byBoth((reason, mode) => verificationFailures.bind({ pipeline, reason, mode })),
      deadLetter: byFirst((reason) => deadLetters.bind({ pipeline, reason })),
      undeduplicated: byFirst((reason) => undeduplicated.bind({ pipeline, reason })),
      unfiltered: (count) => withoutValue(undefined)(count),
      unrouted: byFirst((reason) => unrouted.bind({ pipeline, reason })),
      acknowledged: (ms) => acknowledgement(undefined)(ms / 1000),
    }
  })
  return { pipeline, events, acknowledgements }
}
