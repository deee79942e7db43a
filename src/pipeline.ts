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
import { steadyMs } from "./steady-clock.ts"
import type { PipelineMetrics } from "./telemetry/metrics.ts"
import type { RequestLog } from "./telemetry/request-log.ts"

/** The parts of a pipeline behind its source, built and ready. */
export interface Parts {
  /** The pipeline's id, for the log. */
  readonly pipeline: string
  readonly processors: readonly Processor[]
  readonly publish: Publisher
  readonly metrics: PipelineMetrics
  readonly log: RequestLog
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
 * ends it. Every outcome is counted, and every one that is not accepted is logged with its reason, never a body. A fault (what a part throws) rejects.
 */
export function composePipeline({ pipeline, processors, publish, metrics, log }: Parts): Way {
  const admits = processors.flatMap(({ admit }) => admit ?? [])
  const settles = processors.flatMap(({ settled }) => settled ?? [])

  const end = <O extends Ended>(request: RequestInfo, outcome: O, bytes?: number): O => {
    metrics.ended(outcome.kind, outcome.reason)
    logEnd(log, pipeline, request, outcome, bytes)
    return outcome
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
    pending: ReturnType<Processor>,
    next: number,
  ): Promise<Outcome> => {
    let event = first
    let result = await pending
    for (let i = next; ; i++) {
      if (isEnd(result)) return end(event.request, result, event.body.length)
      event = result
      const processor = processors[i]
      if (processor === undefined) return conclude(event, await publish(event))
      result = await processor(event)
    }
  }

  // Hot path: processors that answer at once cost no promise; the one await is for the acknowledgement.
  const handle = async (received: Event): Promise<Outcome> => {
    let event = received
    for (let i = 0; i < processors.length; i++) {
      const result = processors[i]!(event)
      if (result instanceof Promise) return continueFrom(event, result, i + 1)
      if (isEnd(result)) return end(event.request, result, event.body.length)
      event = result
    }
    return conclude(event, await publish(event))
  }

  // A fault of one is no reason to tell a sender, or the others, anything else than what became of the event.
  const tellAll = async (request: RequestInfo, published: boolean): Promise<void> => {
    for (const settled of settles) {
      try {
        const pending = settled(request, published)
        if (pending !== undefined) await pending
      } catch (err) {
        log.write("error", { pipeline, reason: "internal", err }, "a processor failed behind an event's end")
      }
    }
  }

  // For pipelines with a processor that wants to know how it ended.
  const handleAndTell = async (event: Event): Promise<Outcome> => {
    let published = false
    try {
      const outcome = await handle(event)
      published = outcome.kind === "accepted"
      return outcome
    } finally {
      await tellAll(event.request, published)
    }
  }

  const admitFrom = (request: RequestInfo, first: number): Admission | Promise<Admission> => {
    for (let i = first; i < admits.length; i++) {
      const admission = admits[i]!(request)
      if (admission instanceof Promise)
        return admission.then((it) => (it === undefined ? admitFrom(request, i + 1) : end(request, it)))
      if (admission !== undefined) return end(request, admission)
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

/** @param bytes of the body; undefined: it was not read */
function logEnd(
  log: RequestLog,
  pipeline: string,
  request: RequestInfo,
  outcome: Ended,
  bytes: number | undefined,
): void {
  const { method, path, remoteAddress } = request
  const line = { pipeline, reason: outcome.reason, method, path, remote_address: remoteAddress, bytes }
  switch (outcome.kind) {
    case "answered":
      return log.write("info", { ...line, status: outcome.status }, "handshake answered")
    case "dropped":
      return log.write("info", { ...line, detail: outcome.detail }, "event dropped")
    case "rejected": {
      const detail = outcome.logDetail ?? outcome.detail
      const level = outcome.status >= 500 ? "warn" : "info"
      return log.write(level, { ...line, status: outcome.status, detail }, "event rejected")
    }
  }
}
