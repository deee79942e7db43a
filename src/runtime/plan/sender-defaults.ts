import { message, named, ofSection, setting } from "../../message.ts"
import type { Steps } from "../../clock/slices.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "../../brokers/define-connection.ts"
import { defaultInFlightBytes } from "../../http/admission/budget.ts"
import { extensions } from "../../extensions/registry.ts"
import { describeMore, inBytes, inTime, type SenderFacts } from "../../verify/senders.ts"
import { connectionOf, type ResolvedDraft } from "./resolved-draft.ts"
import type { ResolvedPipeline } from "./resolve-pipelines.ts"
import { senderOf } from "../../components/processor-facts.ts"

/*
 * What follows from a sender's own limits: defaults of its pipeline's source, and warnings where what was configured does
 * worse than they would.
 */

type Surroundings = Pick<ResolvedDraft, "connections" | "service">

/** How long an event may take so that its sender still waits for the answer. */
const withinPatience = (waitsMs: number): number => Math.max(0.8 * waitsMs, waitsMs - 500)

/**
 * Fills in the options of a source that were not given: as much time as the sender waits, and its largest body, if connection
 * and memory take as much. Neither is less than without a known sender, nor more than a connection was given.
 */
export function withSenderDefaults(pipeline: ResolvedPipeline, around: Surroundings): ResolvedPipeline {
  const { source, processors } = pipeline
  const { waitsMs, largestBytes } = senderOf(processors)?.facts ?? {}
  if (source === undefined) return pipeline
  const more: { delivery_timeout?: number; max_body_bytes?: number } = {}
  const connection = around.connections.get(String(connectionOf(pipeline.sink, around.connections)))
  const timeoutMs = waitsMs && withinPatience(waitsMs)
  const has = (key: string): boolean => key in source.component.options && !source.isGiven(key)
  if (
    has("delivery_timeout") &&
    timeoutMs !== undefined &&
    timeoutMs < DEFAULT_DELIVERY_TIMEOUT_MS &&
    connection?.isGiven("delivery_timeout") !== true
  )
    more.delivery_timeout = timeoutMs
  const { max_body_bytes: bodyBytes } = source.values
  if (has("max_body_bytes") && largestBytes !== undefined && typeof bodyBytes === "number")
    more.max_body_bytes = Math.max(
      bodyBytes,
      Math.min(largestBytes, ...mostBytes(pipeline, around).map(({ bytes }) => bytes)),
    )
  return Object.keys(more).length === 0
    ? pipeline
    : { ...pipeline, source: { ...source, values: { ...source.values, ...more } } }
}

/** What bounds the default of bodies. */
function mostBytes({ sink }: ResolvedPipeline, { connections, service }: Surroundings) {
  const { max_in_flight_bytes: budget = defaultInFlightBytes() } = service.values
  const connection = connections.get(String(connectionOf(sink, connections)))
  const record = connection?.kind?.largestRecord?.(connection.values)
  return [
    ...(record === undefined
      ? []
      : [{ bytes: record.bytes, why: message`the connection's ${named(record.key)}`, isOfRequests: true }]),
    { bytes: budget, why: ofSection("service", named("max_in_flight_bytes")), isOfRequests: false },
  ]
}

/** Warns of senders that lose events where Hookline, as configured, refuses or delays them. */
export function* checkSenders(draft: ResolvedDraft): Steps<void> {
  for (const pipeline of draft.pipelines) {
    yield
    const { name, facts } = senderOf(pipeline.processors) ?? {}
    if (name === undefined || facts === undefined) continue
    warnOfOutages(name, facts, pipeline, draft)
    warnOfPatience(name, facts, pipeline, draft)
    warnOfStatus(name, facts, pipeline, draft)
    warnOfSize(name, facts, pipeline, draft)
  }
}

const DAY_MS = 86_400_000

/** A connection that could have a spool and has none: without one, a broker that is down is an outage for the sender. */
function warnOfOutages(
  name: string,
  facts: SenderFacts,
  { id: pipeline, sink, processors }: ResolvedPipeline,
  { connections, sections, problems }: ResolvedDraft,
): void {
  const { repeatsForMs, repeats, disables, disablesAfterMs = Number.POSITIVE_INFINITY } = facts
  if (isRecovered(pipeline, sections)) return
  const id = String(connectionOf(sink, connections))
  const { kind, values, isSound } = connections.get(id) ?? {}
  const verifier = processors.findLast((it) => typeof it !== "function" && it.component.sender !== undefined)
  if (kind?.spool === undefined || isSound?.() !== true || typeof verifier !== "object") return
  if (kind.spool(values as Parameters<typeof kind.spool>[0]) !== undefined) return
  const isUnknown = repeatsForMs === undefined && repeats === undefined && disables === undefined
  if (isUnknown || Math.min(repeatsForMs ?? 0, disablesAfterMs) >= DAY_MS) return
  const how = repeats === undefined ? "" : ` (${repeats})`
  const again =
    repeatsForMs === undefined
      ? repeats === undefined
        ? "is not known to send again"
        : `sends again ${repeats}`
      : repeatsForMs === 0
        ? "does not send again after 503"
        : `sends again for ${inTime(repeatsForMs)}${how}`
  const gone = disables === undefined ? "" : `, and ${disables}`
  const outage = repeatsForMs || repeats !== undefined ? "a longer outage" : "an outage"
  const back = extensions
    .filter((it) => it.sections?.recovers?.(name) === true)
    .map((it) => `, or add [${it.name}:${name}]`)
    .join("")
  problems.warn(
    verifier.where("provider"),
    `${name} ${again}${describeMore(facts)}${gone}: ${outage} of the broker loses events; set spool of connection ${id}${back}`,
  )
}

/** True if a section brings back what the sender of a pipeline loses. */
const isRecovered = (pipeline: string, all: ResolvedDraft["sections"]): boolean =>
  extensions.some(
    ({ name, sections }) =>
      sections?.recovers !== undefined &&
      all
        .get(name)!
        .values()
        .some(({ values }) => values[sections.pipeline] === pipeline),
  )

function warnOfPatience(
  name: string,
  { waitsMs }: SenderFacts,
  { source, sink }: ResolvedPipeline,
  { connections, problems }: ResolvedDraft,
): void {
  const connection = connections.get(String(connectionOf(sink, connections)))
  const isOwn = source?.values.delivery_timeout !== undefined
  const timeoutMs: unknown = isOwn ? source.values.delivery_timeout : connection?.values["delivery_timeout"]
  if (source === undefined || waitsMs === undefined || typeof timeoutMs !== "number" || timeoutMs < waitsMs)
    return
  problems.warn(
    source.where("delivery_timeout"),
    message`${name} waits ${inTime(waitsMs)}; ${isOwn ? "" : "the connection's "}${named("delivery_timeout")} is ${inTime(timeoutMs)}, so that it gives up before the answer; set ${setting("delivery_timeout", `${withinPatience(waitsMs)}ms`)}`,
  )
}

function warnOfStatus(
  name: string,
  { takesOnly }: SenderFacts,
  { source }: ResolvedPipeline,
  { problems }: ResolvedDraft,
): void {
  const status: unknown = source?.values.response_status
  if (source === undefined || takesOnly === undefined || typeof status !== "number" || status === takesOnly)
    return
  problems.warn(
    source.where("response_status"),
    message`${name} counts only ${takesOnly} as delivered: it takes ${status} for a failure; set ${setting("response_status", takesOnly)}`,
  )
}

function warnOfSize(
  name: string,
  { largestBytes }: SenderFacts,
  pipeline: ResolvedPipeline,
  draft: ResolvedDraft,
): void {
  const { source } = pipeline
  const bytes: unknown = source?.values.max_body_bytes
  if (source === undefined || largestBytes === undefined || typeof bytes !== "number") return
  if (bytes >= largestBytes) return
  const own = { bytes, why: named("max_body_bytes"), isOfRequests: false }
  const [least = own] = source.isGiven("max_body_bytes")
    ? []
    : mostBytes(pipeline, draft).toSorted((a, b) => a.bytes - b.bytes)
  const largest = inBytes(largestBytes)
  // a record over the limit of requests is sent in one of its own
  const mend = least.isOfRequests
    ? message`set ${setting("max_body_bytes", largest.replace(" ", ""))}, and raise max.message.bytes of the topic`
    : "raise it"
  draft.problems.warn(
    source.where("max_body_bytes"),
    message`${name} sends up to ${largest}; this pipeline takes ${inBytes(bytes)}, by ${least.why}: larger events get 413; ${mend}`,
  )
}
