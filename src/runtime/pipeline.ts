import type { Configured } from "../components/define-component.ts"
import type { Processor } from "../pipeline/event.ts"

/** What a pipeline is composed of. */
export interface PipelineParts {
  /** `webHookSource(…)` */
  readonly source: Configured<"source">
  /** In order: components, or plain functions. */
  readonly processors: readonly (Configured<"processor"> | Processor)[]
  /** `brokerSink(…)` */
  readonly sink: Configured<"sink">
}

/** A pipeline composed in code: one source, an ordered list of processors, one sink. */
export class Pipeline {
  readonly id: string
  readonly source: PipelineParts["source"]
  readonly processors: PipelineParts["processors"]
  readonly sink: PipelineParts["sink"]

  /** @param id names the pipeline in logs and metrics, and its sections in a file */
  constructor(id: string, { source, processors, sink }: PipelineParts) {
    this.id = id
    this.source = source
    this.processors = processors
    this.sink = sink
  }
}
