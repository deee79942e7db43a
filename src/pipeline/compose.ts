import { steadyMs } from "../clock/clock.ts"
import type { Deadlines } from "../clock/deadlines.ts"
import { HooklineError } from "../errors.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import { deadLetterRefused, deadLettersOf, isUnusable } from "./dead-letters.ts"
import { bounded, EventDeadline } from "./event-deadline.ts"
import { Event, type Passed, type Processor, type Publisher, type RequestInfo } from "./event.ts"
import { EMPTY_LIST, listHandler } from "./list.ts"
import { Answered, Dropped, Rejected, type Admission, type Ended, type Outcome } from "./outcome.ts"

/** @internal The parts of a pipeline after its source. */
export interface Parts {
  readonly pipeline: string
  readonly processors: readonly Processor[]
  readonly publish: Publisher
  /** Deadlines by `delivery_timeout`, for processors and sinks that have none of their own. */
  readonly deadlines: Deadlines
  /** Index of the first processor that only verified senders' events reach; undefined: senders are not verified. */
  readonly verifiedFrom?: number | undefined
  readonly metrics: Pick<PipelineMetrics, "acknowledged" | "deadLetter" | "listItem">
  readonly log: RequestLog
}

/** Called once an event's sender is verified; a refusal ends the event. */
export type WhenVerified = (request: RequestInfo) => Rejected | undefined

/** A pipeline without its source, which counts, logs and answers the outcomes. */
export interface Handler {
  /** Checks a request before its body is read; undefined: no processor does. */
  readonly admit: ((request: RequestInfo) => Promise<Admission>) | undefined
  /** Methods other than POST whose requests `admit` may answer. */
  readonly methods: readonly string[]
  /** Runs an event through the pipeline. Rejects with a part's error: a fault. */
  readonly handle: (event: Event, whenVerified?: WhenVerified) => Promise<Outcome>
  /** Whether a processor verifies senders. */
  readonly verifiesSenders: boolean
  /** The answer for accepted events where the source has no body of its own. */
  readonly response: Processor["response"]
  /** What its parts say that they may end events with. */
  readonly outcomes: readonly Ended[]
}

/** @internal Composes processors, in order, and sink; the first outcome ends an event. */
export function composePipeline(given: Parts): Handler {
  const { judge } = given.publish
  const parts = judge === undefined ? given : { ...given, processors: [...given.processors, judge] }
  const { pipeline, processors, verifiedFrom, metrics, log, deadlines } = parts
  const steps = processors.map((it, n) =>
    bounded(it, `processor ${n + 1}${it.name === "" ? "" : ` (${it.name})`}`),
  )
  const publish = bounded(parts.publish, "the sink")
  const isBounded = [...processors, parts.publish].every((it) => it.isBounded === true)
  /** Passed with every event where all parts end by themselves. */
  const unused = isBounded ? new EventDeadline(deadlines) : undefined
  const keepDeadLetter = deadLettersOf(parts)
  const verified = (request: RequestInfo, whenVerified?: WhenVerified): Rejected | undefined => {
    request.isVerified = true
    return whenVerified?.(request)
  }
  const end = (event: Event, result: Passed): Ended | Promise<Ended> => {
    const ended = checkEnd(result)
    return keepDeadLetter === undefined ? ended : keepDeadLetter(event, ended)
  }
  const settle = (event: Event, outcome: Outcome | undefined) =>
    event.settle(outcome, (err, { request }) => {
      const line = { pipeline, reason: "internal", request_id: request.id, err }
      log.write("error", line, "onSettled() callback failed")
    })
  const handleList = listHandler({ steps, verifiedFrom, publish, checkEnd, keepDeadLetter, settle, metrics })

  // Hot path: synchronous processors cost no promise; the only await is the acknowledgement's.
  const handle = async (event: Event, whenVerified?: WhenVerified): Promise<Outcome> => {
    let outcome: Outcome | undefined
    const deadline = unused ?? new EventDeadline(deadlines)
    try {
      for (let i = 0; outcome === undefined; i++) {
        if (i === verifiedFrom) outcome = verified(event.request, whenVerified)
        if (outcome !== undefined) break
        const step = steps[i]
        if (step === undefined) {
          event.release()
          outcome = await publish(event, deadline)
          if (outcome.kind === "accepted") metrics.acknowledged(steadyMs() - event.arrivedMs)
        } else {
          let result = step(event, deadline)
          if (result instanceof Promise) result = await result
          if (result !== event)
            outcome = await (Array.isArray(result)
              ? handleList(event, result, i + 1, deadline)
              : end(event, result))
        }
      }
      return outcome
    } finally {
      if (deadline !== unused) deadline.end()
      const settling = settle(event, outcome)
      if (settling !== undefined) await settling
    }
  }

  return {
    admit: admission(processors),
    methods: [...new Set(processors.flatMap(({ methods }) => methods ?? []))],
    handle,
    verifiesSenders: verifiedFrom !== undefined && verifiedFrom > 0,
    response: processors.find(({ response }) => response !== undefined)?.response,
    outcomes: knownOutcomes(parts),
  }
}

/** Checks requests before their bodies are read: the first answer of a processor counts; undefined: none checks them. */
function admission(processors: readonly Processor[]): Handler["admit"] {
  const admits = processors.flatMap(({ admit }) => admit ?? [])
  if (admits.length === 0) return undefined
  return async (request) => {
    for (const admit of admits) {
      const answer = await admit(request)
      if (answer !== undefined) return answer
    }
    return undefined
  }
}

/** What the parts may end events with; their counters, in addition to that of events, begin at 0. */
function knownOutcomes({ processors, publish, verifiedFrom, metrics }: Parts): Ended[] {
  const outcomesOf = (some: readonly Processor[]): readonly Ended[] =>
    some.flatMap(({ outcomes = [] }) => outcomes)
  const { outcomes: unpublished = [] } = publish
  const split = processors.findIndex(({ splits }) => splits)
  const all = [...outcomesOf(processors), ...unpublished, ...(split < 0 ? [] : [EMPTY_LIST])]
  if (split >= 0) {
    metrics.listItem("accepted", "", 0)
    for (const { kind, reason } of [...outcomesOf(processors.slice(split + 1)), ...unpublished])
      metrics.listItem(kind, reason, 0)
  }
  if (publish.deadLetter === undefined || verifiedFrom === undefined) return all
  for (const outcome of all) if (isUnusable(outcome)) metrics.deadLetter(outcome.reason, 0)
  return [...all, ...unpublished.filter(({ status }) => status >= 500).map((it) => deadLetterRefused(it))]
}

/** @throws HooklineError `internal` for what is no outcome */
function checkEnd(result: Passed): Ended {
  if (result instanceof Rejected || result instanceof Dropped || result instanceof Answered) return result
  throw new HooklineError("internal", "a processor returned neither its event nor an outcome")
}
