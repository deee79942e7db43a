import { LATENCY_BUCKETS, type MetricRegistry, type Observations, type Tally } from "./metric-registry.ts"

export type OutcomeKind = "accepted" | "dropped" | "rejected" | "answered"

/** Why an event went to the sink's topic: the Router found none for it. */
export type Unrouted = "no_value" | "no_rule" | "invalid_topic" | "topic_not_allowed" | "too_many_topics"

/** An outcome, with refusals divided into those of the sender's fault (4xx) and others (5xx). */
export type AnswerKind = "accepted" | "dropped" | "answered" | "refused" | "failed"

/** The metrics of all pipelines, by their labels. */
export const pipelineFamilies = (registry: MetricRegistry) => ({
  requests: registry.tallies(
    "hookline_http_requests_total",
    "Answers given, by pipeline and HTTP status; the pipeline is empty for an unknown path.",
    ["pipeline", "status"],
  ),
  events: registry.tallies(
    "hookline_events_total",
    "Events by outcome (accepted, dropped, rejected, answered) and reason; `duplicate` is a Deduplicator's hit.",
    ["pipeline", "outcome", "reason"],
  ),
  received: registry.tallies(
    "hookline_received_bytes_total",
    "Bytes of request bodies read, decompressed; refusals before the body is read add none.",
    ["pipeline"],
  ),
  unanswered: registry.tallies(
    "hookline_unanswered_requests_total",
    "Requests whose connection was closed before their answer, of those whose body had arrived; hookline_events_total has their outcome, and an accepted event is published.",
    ["pipeline"],
  ),
  untrustedProxy: registry.tallies(
    "hookline_untrusted_proxy_requests_total",
    "Requests with X-Forwarded-For from an address that `trusted_proxies` does not list; at most one a second is counted.",
    ["pipeline"],
  ),
  answers: registry.distribution(
    "hookline_answer_seconds",
    "Time from the end of a request's header section to its answer, by outcome: accepted, dropped, answered (handshakes), refused (4xx), failed (5xx).",
    ["pipeline", "outcome"],
    LATENCY_BUCKETS,
  ),
  acknowledgements: registry.distribution(
    "hookline_acknowledgement_seconds",
    "Time from the end of a request's body to the broker's acknowledgement of its record.",
    ["pipeline"],
    LATENCY_BUCKETS,
  ),
  listItems: registry.tallies(
    "hookline_list_items_total",
    "Items of lists that the Decoder split, by outcome and reason; hookline_events_total counts the list as one event.",
    ["pipeline", "outcome", "reason"],
  ),
  verificationFailures: registry.tallies(
    "hookline_verification_failures_total",
    "Requests that failed verification, by reason; in mode observe their events were published.",
    ["pipeline", "reason", "mode"],
  ),
  deadLetters: registry.tallies(
    "hookline_dead_letters_total",
    "Refused events published to the dead letter topic, by reason of the refusal.",
    ["pipeline", "reason"],
  ),
  undeduplicated: registry.tallies(
    "hookline_undeduplicated_events_total",
    "Events published without deduplication: without a key (no_key), unverified in mode observe (unverified), or with a key that could not be stored (unmarked).",
    ["pipeline", "reason"],
  ),
  unfiltered: registry.tallies(
    "hookline_unfiltered_events_total",
    "Events kept since they lack the Filter's value.",
    ["pipeline"],
  ),
  unrouted: registry.tallies(
    "hookline_unrouted_events_total",
    "Events published to the sink's topic since the Router found none: they lack its value (no_value), no line matches (no_rule), or the template gives a name that Kafka forbids (invalid_topic), that `topics` does not allow (topic_not_allowed), or that would be one more than `max_topics` (too_many_topics).",
    ["pipeline", "reason"],
  ),
})

export type Families = ReturnType<typeof pipelineFamilies>

/**
 * Counters of a pipeline; the id "" stands for an unknown path. Reasons are fixed words of Hookline's or the configuration's,
 * never a sender's. With a count of 0 a series begins, so that a rate sees its first event; others begin with theirs.
 */
export class PipelineCounters {
  readonly #all: Families
  readonly #pipeline: string
  // of every event
  #requests: Map<string | number, Tally> | undefined
  #accepted: Tally | undefined
  #received: Tally | undefined
  #answers: Map<string | number, Observations> | undefined
  #acknowledgements: Observations | undefined

  constructor(all: Families, pipeline: string) {
    this.#all = all
    this.#pipeline = pipeline
  }

  /** What every pipeline has begins at 0, and the latencies of its kinds of answers. */
  begin(kinds: Iterable<AnswerKind>): void {
    this.received(0)
    this.unanswered(0)
    this.untrustedProxy(0)
    for (const kind of kinds) this.#all.answers.at(this.#pipeline, kind)
    this.#all.acknowledgements.at(this.#pipeline)
  }

  /** A request was answered; status as sent. */
  answered(status: number, count?: number): void {
    const { requests } = this.#all
    requests.in((this.#requests ??= requests.group(this.#pipeline)), status).add(count)
  }

  /** The answer took that many milliseconds from the end of the request's header section. */
  took(outcome: AnswerKind, ms: number): void {
    const { answers } = this.#all
    answers.in((this.#answers ??= answers.group(this.#pipeline)), outcome).add(ms / 1000)
  }

  /** A body of that many bytes was read, decompressed. */
  received(bytes: number): void {
    ;(this.#received ??= this.#all.received.at(this.#pipeline)).add(bytes)
  }

  /** The connection of a request was closed before its answer. */
  unanswered(count?: number): void {
    this.#all.unanswered.at(this.#pipeline).add(count)
  }

  /** A request with X-Forwarded-For came from an address that is not a trusted proxy's. */
  untrustedProxy(count?: number): void {
    this.#all.untrustedProxy.at(this.#pipeline).add(count)
  }

  /** An event reached its outcome. `reason` is empty for accepted events. */
  ended(outcome: OutcomeKind, reason: string, count?: number): void {
    const { events } = this.#all
    const tally =
      outcome === "accepted"
        ? (this.#accepted ??= events.at(this.#pipeline, outcome, reason))
        : events.at(this.#pipeline, outcome, reason)
    tally.add(count)
  }

  /** An item of a list that was split reached its outcome, as for `ended`. */
  listItem(outcome: OutcomeKind, reason: string, count?: number): void {
    this.#all.listItems.at(this.#pipeline, outcome, reason).add(count)
  }

  /** A request failed verification; `mode` is the Verifier's. */
  unverified(reason: string, mode: "enforce" | "observe", count?: number): void {
    this.#all.verificationFailures.at(this.#pipeline, reason, mode).add(count)
  }

  /** A dead letter was acknowledged; `reason` is the refusal's. */
  deadLetter(reason: string, count?: number): void {
    this.#all.deadLetters.at(this.#pipeline, reason).add(count)
  }

  /** An event was published without deduplication; `unmarked`: its key could not be stored. */
  undeduplicated(reason: "no_key" | "unmarked" | "unverified", count?: number): void {
    this.#all.undeduplicated.at(this.#pipeline, reason).add(count)
  }

  /** An event without the Filter's value was kept. */
  unfiltered(count?: number): void {
    this.#all.unfiltered.at(this.#pipeline).add(count)
  }

  /** An event went to the sink's topic since the Router found none for it. */
  unrouted(reason: Unrouted, count?: number): void {
    this.#all.unrouted.at(this.#pipeline, reason).add(count)
  }

  /** Milliseconds from the end of the body to the acknowledgement. */
  acknowledged(ms: number): void {
    ;(this.#acknowledgements ??= this.#all.acknowledgements.at(this.#pipeline)).add(ms / 1000)
  }
}

/** What it counts. */
export type PipelineMetrics = Pick<PipelineCounters, keyof PipelineCounters>
