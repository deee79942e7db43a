import { steadyMs } from "../clock/clock.ts"
import { Deadlines } from "../clock/deadlines.ts"
import { HooklineError } from "../errors.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { Logger } from "../telemetry/log.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import { deadLetterRefused, isUnusable, keepDeadLetter, type DeadLetters } from "./dead-letters.ts"
import { bounded, EventDeadline, type Bounded } from "./event-deadline.ts"
import { Event, type Passed, type Processor, type Publisher, type RequestInfo } from "./event.ts"
import { EMPTY_LIST, handleList, type ListSteps } from "./list.ts"
import {
  Answered,
  Dropped,
  Rejected,
  type Accepted,
  type Admission,
  type Ended,
  type Outcome,
} from "./outcome.ts"
import { joinChecks, type QuickCheck } from "./quick-check.ts"

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
  /** The logger that processors and sinks write to. */
  readonly partsLog: Logger
}

/** Limits that apply once an event's sender is verified. */
export interface SenderLimits {
  /** Called once for the event; a refusal ends it. */
  whenVerified(request: RequestInfo): Rejected | undefined | Promise<Rejected | undefined>
}

/** A pipeline without its source, which counts, logs and answers the outcomes. */
export interface Handler {
  /** Checks a request before its body is read; undefined: no processor does. */
  readonly admit: ((request: RequestInfo) => Promise<Admission>) | undefined
  /** Methods other than POST whose requests `admit` may answer. */
  readonly methods: readonly string[]
  /** Runs an event through the pipeline. Rejects with a part's error: a fault. */
  readonly handle: (event: Event, limits?: SenderLimits) => Promise<Outcome>
  /** Whether a processor verifies senders. */
  readonly verifiesSenders: boolean
  /** The quick check of everything that a request passes until its sender is verified; undefined: that may take more, or senders are not verified. */
  readonly quickCheck: QuickCheck | undefined
  /** The answer for accepted events where the source has no body of its own. */
  readonly response: Processor["response"]
  /** The outcomes that its parts declare. */
  readonly outcomes: readonly Ended[]
}

/** @internal Composes processors, in order, and sink; the first outcome ends an event. */
export function composePipeline(parts: Parts): Handler {
  const { judge } = parts.publish
  return new ComposedPipeline(
    judge === undefined ? parts : { ...parts, processors: [...parts.processors, judge] },
  )
}

/** Passed with every event where all parts end by themselves. */
const UNUSED = new EventDeadline({ deadlines: new Deadlines(0), partsLog: undefined })

class ComposedPipeline implements Handler, ListSteps, DeadLetters {
  readonly pipeline: string
  readonly admit: Handler["admit"]
  readonly methods: Handler["methods"]
  readonly response: Handler["response"]
  readonly verifiedFrom: number | undefined
  readonly verifiesSenders: boolean
  readonly quickCheck: QuickCheck | undefined
  readonly steps: readonly Bounded<Passed>[]
  readonly publish: Bounded<Accepted | Rejected>
  readonly deadLetter: Publisher["deadLetter"]
  readonly metrics: Parts["metrics"]
  readonly log: RequestLog
  readonly outcomes: readonly Ended[]
  /** undefined: all parts end by themselves. */
  readonly #unbounded: Pick<Parts, "deadlines" | "partsLog"> | undefined

  constructor(parts: Parts) {
    const { pipeline, processors, publish, verifiedFrom, metrics, log } = parts
    this.pipeline = pipeline
    this.admit = admission(processors)
    this.methods = methodsOf(processors)
    this.response = processors.find(({ response }) => response !== undefined)?.response
    this.verifiedFrom = verifiedFrom
    this.verifiesSenders = verifiedFrom !== undefined && verifiedFrom > 0
    this.quickCheck = joinChecks(processors.slice(0, verifiedFrom ?? 0).map((it) => it.quickCheck))
    this.steps = processors.map((it, n) =>
      bounded(it, `processor ${n + 1}${it.name === "" ? "" : ` (${it.name})`}`),
    )
    this.publish = bounded(publish, "the sink")
    this.deadLetter = verifiedFrom === undefined ? undefined : publish.deadLetter
    this.metrics = metrics
    this.log = log
    this.outcomes = knownOutcomes(parts)
    const isBounded = [...processors, publish].every((it) => it.isBounded === true)
    this.#unbounded = isBounded ? undefined : parts
  }

  // Hot path: synchronous processors cost no promise; the only await is the acknowledgement's.
  async handle(event: Event, limits?: SenderLimits): Promise<Outcome> {
    const { steps, verifiedFrom } = this
    let outcome: Outcome | undefined
    const deadline = this.#unbounded === undefined ? UNUSED : new EventDeadline(this.#unbounded)
    try {
      for (let i = 0; outcome === undefined; i++) {
        if (i === verifiedFrom) {
          event.request.isVerified = true
          const limited = limits?.whenVerified(event.request)
          outcome = limited instanceof Promise ? await limited : limited
        }
        if (outcome !== undefined) break
        const step = steps[i]
        if (step === undefined) {
          event.release()
          outcome = await this.publish(event, deadline)
          if (outcome.kind === "accepted") this.metrics.acknowledged(steadyMs() - event.arrivedMs)
        } else {
          let result = step(event, deadline)
          if (result instanceof Promise) result = await result
          if (result !== event)
            outcome = await (Array.isArray(result)
              ? handleList(this, event, result, i + 1, deadline)
              : keepDeadLetter(this, event, this.checkEnd(result)))
        }
      }
      return outcome
    } finally {
      if (deadline !== UNUSED) deadline.end()
      const settling = this.settle(event, outcome)
      if (settling !== undefined) await settling
    }
  }

  settle(event: Event, outcome: Outcome | undefined): Promise<unknown> | undefined {
    return event.settle(outcome, (err, { request }) => {
      const line = { pipeline: this.pipeline, reason: "internal", request_id: request.id, err }
      this.log.write("error", line, "onSettled() callback failed")
    })
  }

  /** @throws HooklineError `internal` for what is no outcome */
  checkEnd(result: Passed): Ended {
    if (result instanceof Rejected || result instanceof Dropped || result instanceof Answered) return result
    throw new HooklineError("internal", "a processor returned neither its event nor an outcome")
  }
}

const NO_METHODS: readonly string[] = []

function methodsOf(processors: readonly Processor[]): readonly string[] {
  const methods = new Set(processors.flatMap((it) => it.methods ?? NO_METHODS))
  return methods.size === 0 ? NO_METHODS : [...methods]
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

/** The outcomes that the parts declare; their counters, in addition to that of events, begin at 0. */
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
