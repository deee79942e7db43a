import { byBoth, byFirst, once } from "./handles.ts"
import { LATENCY_BUCKETS, type OwnMetrics } from "./own-metrics.ts"

/**
 * Counters of a pipeline, bound once when it is built; the id "" stands for an unknown path. Reasons are fixed words of
 * Hookline's or the configuration's, never a sender's. With a count of 0 a series begins, so that a rate sees its first
 * event; others begin with theirs.
 */
export type PipelineMetrics = ReturnType<ReturnType<typeof pipelineMetrics>["pipeline"]>

type OutcomeKind = "accepted" | "dropped" | "rejected" | "answered"

/** Why an event went to the sink's topic: the Router found none for it. */
export type Unrouted = "no_value" | "no_rule" | "invalid_topic" | "topic_not_allowed" | "too_many_topics"

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
  const all = pipelineFamilies(own)
  const pipeline = once((pipeline: string) => {
    const bytes = once(() => all.received.bind({ pipeline }))
    const answer = once((outcome: AnswerKind) => all.answers.bind({ pipeline, outcome }))
    const acknowledgement = once(() => all.acknowledgements.bind({ pipeline }))
    const withoutValue = once(() => all.unfiltered.bind({ pipeline }))
    return {
      /** What every pipeline has begins at 0, and the latencies of its kinds of answers. */
      begin(kinds: Iterable<AnswerKind>) {
        bytes(undefined)
        for (const kind of kinds) answer(kind)
        acknowledgement(undefined)
      },
      answered: byFirst((status: number) => all.requests.bind({ pipeline, status: String(status) })),
      /** The answer took that many milliseconds from the end of the request's header section. */
      took: (outcome: AnswerKind, ms: number) => answer(outcome)(ms / 1000),
      received: (count: number) => bytes(undefined)(count),
      /** `reason` is empty for accepted events. */
      ended: byBoth((outcome: OutcomeKind, reason: string) => all.events.bind({ pipeline, outcome, reason })),
      listItem: byBoth((outcome: OutcomeKind, reason: string) =>
        all.listItems.bind({ pipeline, outcome, reason }),
      ),
      unverified: byBoth((reason: string, mode: "enforce" | "observe") =>
        all.verificationFailures.bind({ pipeline, reason, mode }),
      ),
      deadLetter: byFirst((reason: string) => all.deadLetters.bind({ pipeline, reason })),
      undeduplicated: byFirst((reason: "no_key" | "unmarked" | "unverified") =>
        all.undeduplicated.bind({ pipeline, reason }),
      ),
      unfiltered: (count?: number) => withoutValue(undefined)(count),
      unrouted: byFirst((reason: Unrouted) => all.unrouted.bind({ pipeline, reason })),
      acknowledged: (ms: number) => acknowledgement(undefined)(ms / 1000),
    }
  })
  return { pipeline, events: all.events, acknowledgements: all.acknowledgements }
}
