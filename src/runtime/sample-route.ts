import type { ComponentContext } from "../components/define-component.ts"
import { isBuiltIn } from "../components/registry.ts"
import { EVENT_VALUE } from "../components/extraction.ts"
import { Event, type Processor } from "../pipeline/event.ts"
import { Dropped, Rejected } from "../pipeline/outcome.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { nameOf, type ProviderRef } from "../verify/verification.ts"
import { hasSample, sampleRequest } from "../verify/senders.ts"
import { SILENT } from "./warning-log.ts"
import type { Planned, PlannedPipeline } from "./plan/plan.ts"
import { senderOf } from "../components/processor-facts.ts"

/** Where a sample of a sender's events, as `hookline send` makes it, goes in a pipeline with a Router. */
export interface SampleRoute {
  readonly sender: string
  /** The sample's, where the preset knows where events have theirs. */
  readonly type?: string | undefined
  /** Chosen by the Router, else the sink's; empty: it is not published. */
  readonly topics: readonly string[]
  /** Why it is not published. */
  readonly reason?: string
}

let uncounted: Metrics | undefined

/**
 * Passes a sample through the pipeline's steps, but for those that check who sent it, or whether it came before.
 *
 * @returns undefined: it has no Router, or steps of the user's, or there is no sample of its sender
 */
export function routeOfSample({ id, source, processors, sink }: PlannedPipeline): SampleRoute | undefined {
  const parts = processors.filter((it) => typeof it !== "function")
  const verifier = parts.findLast(({ component }) => component.sender !== undefined)
  const provider = verifier?.values["provider"] as ProviderRef | undefined
  if (provider === undefined || !hasSample(provider)) return undefined
  if (parts.length < processors.length || !parts.every(({ component }) => isBuiltIn(component)))
    return undefined
  if (!parts.some(({ component }) => component.routing !== undefined)) return undefined
  const path = String(source.values["path"])
  const sender = senderOf(processors)
  const context = {
    pipeline: id,
    sender,
    sourcePath: path,
    log: SILENT,
    metrics: (uncounted ??= new Metrics()).pipeline(id),
    acquire: ({ open }) => open(),
    prepareTopics() {},
  } satisfies Partial<ComponentContext> as unknown as ComponentContext
  const { headers, body } = sampleRequest(provider, { id: crypto.randomUUID(), number: 1, atMs: Date.now() })
  const request = {
    id: "sample",
    method: "POST",
    path: path.replace("*", "sample"),
    query: "",
    url: "",
    headers,
  }
  let event = new Event({ ...request, remoteAddress: "unknown" }, body)
  const typeOf = sender?.event.type === undefined ? undefined : EVENT_VALUE.parse("event:type", sender)
  const found = (topics: readonly string[], reason?: string): SampleRoute => ({
    sender: nameOf(provider),
    type: typeOf && Buffer.from(typeOf(event) ?? "").toString(),
    topics,
    ...(reason !== undefined && { reason }),
  })
  const steps = parts.filter(
    ({ component }) => component.sender === undefined && component.store === undefined,
  )
  for (const { component, values } of steps as readonly Planned<"processor">[]) {
    const step: Processor = component.create(values, context)
    const result = step(event, { signal: AbortSignal.abort(), log: SILENT, state: new Map() })
    const [first = result] = Array.isArray(result) ? (result as Event[]) : []
    if (first instanceof Dropped || first instanceof Rejected) return found([], first.reason)
    if (!(first instanceof Event)) return undefined
    event = first
  }
  return found([event.topic ?? String(sink.values["topic"]), ...(event.otherTopics ?? [])])
}
