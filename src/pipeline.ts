import { deadLettersOf } from "./dead-letters.ts"
import {
  Accepted,
  Answered,
  Dropped,
  Rejected,
  type Admission,
  type Ended,
  type Event,
  type Outcome,
  type Processor,
  type Publisher,
  type RequestInfo,
} from "./event.ts"
import { logEnd } from "./outcome-log.ts"
import { steadyMs } from "./steady-clock.ts"
import type { PipelineMetrics } from "./telemetry/metrics.ts"
import type { RequestLog } from "./telemetry/request-log.ts"

/** The parts of a pipeline behind its source, built and ready. */
export interface Parts {
  /** The pipeline's id, for the log. */
  readonly pipeline: string
  readonly processors: readonly Processor[]
  readonly publish: Publisher
  /** Index of the first processor that only events of verified senders reach; undefined: senders are not verified. */
  readonly verifiedFrom?: number | undefined
  /** What counts verified events and others; undefined: nothing does, or the server counts all alike. */
  readonly limits?: VerifiedLimits | undefined
  readonly metrics: PipelineMetrics
  readonly log: RequestLog
}

/** What counts requests by whether they are verified. */
export interface VerifiedLimits {
  /** The step behind the verification. */
  readonly step: Processor
  /** Told of each request that was refused or answered before that step, by fault of its sender. */
  readonly unverified: (request: RequestInfo) => void
}

/** What a pipeline does with what its source takes in. */
export interface Way {
  readonly handle: (event: Event) => Promise<Outcome>
  /** Judges a request before its body is read; undefined: no processor does. */
  readonly admit: ((request: RequestInfo) => Admission | Promise<Admission>) | undefined
  /** Methods beside POST whose requests `admit` may answer. */
  readonly methods: readonly string[]
}

/**
 * Composes processors and a sink into the way of an event: each processor in order, then the sink, until one of them
 * ends it. Every outcome is counted, and every one that is not accepted is logged with its reason, never a body. A
 * fault (what a part throws) rejects.
 */
export function composePipeline(parts: Parts): Way {
  const { pipeline, publish, verifiedFrom = 0, limits, metrics, log } = parts
  const processors =
    limits === undefined ? parts.processors : parts.processors.toSpliced(verifiedFrom, 0, limits.step)
  const keep = deadLettersOf(parts)
  const admits = processors.flatMap(({ admit }) => admit ?? [])
  const settles = processors.flatMap(({ settled }) => settled ?? [])

  const end = <O extends Ended>(request: RequestInfo, outcome: O, bytes?: number): O => {
    metrics.ended(outcome.kind, outcome.reason)
    logEnd(log, pipeline, request, outcome, bytes)
    return outcome
  }
  // a fault of this side, such as keys that can't be fetched, says nothing of the sender
  const countUnverified = (request: RequestInfo, outcome: Ended): void => {
    if (outcome.kind !== "dropped" && outcome.status < 500) limits?.unverified(request)
  }
  const endAdmission = (request: RequestInfo, outcome: Rejected | Answered): Rejected | Answered => {
    countUnverified(request, outcome)
    return end(request, outcome)
  }
  const endAt = (step: number, event: Event, body: Uint8Array, outcome: Ended): Ended | Promise<Ended> => {
    if (step < verifiedFrom) countUnverified(event.request, outcome)
    const kept = keep?.(step, event, body, outcome)
    const bytes = event.body.length
    return kept === undefined
      ? end(event.request, outcome, bytes)
      : kept.then((it) => end(event.request, it, bytes))
  }
  const conclude = (event: Event, outcome: Accepted | Rejected): Outcome => {
    if (outcome instanceof Rejected) return end(event.request, outcome, event.body.length)
    metrics.ended("accepted", "")
    metrics.acknowledged(steadyMs() - event.arrivedMs)
    return outcome
  }

  // The rest of the way, for pipelines with a processor that answers later.
  const continueFrom = async (
    first: Event,
    body: Uint8Array,
    pending: ReturnType<Processor>,
    next: number,
  ): Promise<Outcome> => {
    let event = first
    let result = await pending
    for (let i = next; ; i++) {
      if (isEnd(result)) return endAt(i - 1, event, body, result)
      event = result
      const processor = processors[i]
      if (processor === undefined) return conclude(event, await publish(event))
      result = await processor(event)
    }
  }

  // Hot path: processors that answer at once cost no promise; the one await is for the acknowledgement.
  const handle = async (received: Event): Promise<Outcome> => {
    let event = received
    const { body } = received
    for (let i = 0; i < processors.length; i++) {
      const result = processors[i]!(event)
      if (result instanceof Promise) return continueFrom(event, body, result, i + 1)
      if (isEnd(result)) return endAt(i, event, body, result)
      event = result
    }
    return conclude(event, await publish(event))
  }

  // A fault of one is no reason to tell a sender, or the others, anything else than what became of the event.
  const logFault = (err: unknown): void =>
    log.write("error", { pipeline, reason: "internal", err }, "a processor failed behind an event's end")
  // All are told before any is waited for, so that what they write can be written at once.
  const tellAll = async (request: RequestInfo, outcome: Outcome | undefined): Promise<void> => {
    const pending: Promise<void>[] = []
    for (const settled of settles) {
      try {
        const writing = settled(request, outcome?.kind === "accepted", outcome)
        if (writing !== undefined) pending.push(writing.catch(logFault))
      } catch (err) {
        logFault(err)
      }
    }
    for (const writing of pending) await writing
  }

  // For pipelines with a processor that wants to know how it ended.
  const handleAndTell = async (event: Event): Promise<Outcome> => {
    let outcome: Outcome | undefined
    try {
      outcome = await handle(event)
      return outcome
    } finally {
      await tellAll(event.request, outcome)
    }
  }

  const admitFrom = (request: RequestInfo, first: number): Admission | Promise<Admission> => {
    for (let i = first; i < admits.length; i++) {
      const admission = admits[i]!(request)
      if (admission instanceof Promise)
        return admission.then((it) =>
          it === undefined ? admitFrom(request, i + 1) : endAdmission(request, it),
        )
      if (admission !== undefined) return endAdmission(request, admission)
    }
    return undefined
  }
  return {
    handle: settles.length === 0 ? handle : handleAndTell,
    admit: admits.length === 0 ? undefined : (request) => admitFrom(request, 0),
    methods: [...new Set(processors.flatMap(({ methods }) => methods ?? []))],
  }
}

const isEnd = (result: Event | Ended): result is Ended =>
  result instanceof Rejected || result instanceof Dropped || result instanceof Answered
