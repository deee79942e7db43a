/** Attributes of a span, by the names of OpenTelemetry's semantic conventions; undefined ones are left out. */
export interface Attributes {
  readonly [name: string]: string | number | boolean | undefined
}

/** A part of a trace that is being recorded. */
export interface Span {
  /** W3C Trace Context of what follows the span. */
  readonly traceparent: string
  readonly tracestate: string | undefined
  /** @param error a fixed word: the span failed. undefined: it did not */
  end(attributes?: Attributes, error?: string): void
}

/** The span of a request. One that is not recorded has a context all the same: what follows is not recorded either. */
export interface Trace extends Span {
  /** Begins a span within it; undefined: not recorded, or the trace has its most. */
  start(name: string, kind: "internal" | "producer", attributes: Attributes): Span | undefined
}

/** What is known of a request at its start. */
export interface Received {
  /** The span's name; it takes few values. */
  readonly name: string
  readonly attributes: Attributes
}

/** Decides which requests are traced. */
export interface Tracer {
  /**
   * @param describe called for a request that is recorded
   * @returns undefined: not recorded, and the sender's context, if any, stays as it is
   */
  receive(headers: Headers, describe: () => Received): Trace | undefined
}
