import {
  Accepted,
  Dropped,
  Rejected,
  type Event,
  type Outcome,
  type Processor,
  type Publisher,
} from "./event.ts"
import type { Logger } from "./telemetry/log.ts"
import type { PipelineMetrics } from "./telemetry/metrics.ts"

/** The parts of a pipeline behind its source, built and ready. */
export interface Parts {
  readonly processors: readonly Processor[]
  readonly publish: Publisher
  readonly metrics: PipelineMetrics
  /** Bound to the pipeline's id. */
  readonly log: Logger
}

/**
 * Composes processors and a sink into the way of an event: each processor in order, then the sink, until one of them
 * ends it. Every outcome is counted, and every one that is not accepted gives one log line with its reason, never a
 * body. A fault (what a part throws) rejects.
 */
export function composePipeline({
  processors,
  publish,
  metrics,
  log,
}: Parts): (event: Event) => Promise<Outcome> {
  const end = (event: Event, outcome: Outcome): Outcome => {
    if (outcome instanceof Accepted) {
      metrics.ended("accepted", "")
      metrics.acknowledged(Date.now() - event.receivedAtMs)
      return outcome
    }
    metrics.ended(outcome.kind, outcome.reason)
    const { method, path, remoteAddress } = event.request
    const line = {
      reason: outcome.reason,
      method,
      path,
      remote_address: remoteAddress,
      bytes: event.body.length,
    }
    if (outcome instanceof Dropped) log.info({ ...line, detail: outcome.detail }, "event dropped")
    else {
      const level = outcome.status >= 500 ? "warn" : "info"
      log[level](
        { ...line, status: outcome.status, detail: outcome.logDetail ?? outcome.detail },
        "event rejected",
      )
    }
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
      if (result instanceof Rejected || result instanceof Dropped) return end(event, result)
      event = result
      const processor = processors[i]
      if (processor === undefined) return end(event, await publish(event))
      result = await processor(event)
    }
  }

  // Hot path: processors that answer at once cost no promise; the one await is for the acknowledgement.
  return async (received) => {
    let event = received
    for (let i = 0; i < processors.length; i++) {
      const result = processors[i]!(event)
      if (result instanceof Promise) return continueFrom(event, result, i + 1)
      if (result instanceof Rejected || result instanceof Dropped) return end(event, result)
      event = result
    }
    return end(event, await publish(event))
  }
}
