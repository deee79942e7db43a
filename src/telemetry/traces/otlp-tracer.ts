// Hot path with traces: here it is decided whether a request is traced. Loaded only then: it brings the OpenTelemetry SDK.
import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Span as SdkSpan,
  type SpanContext,
} from "@opentelemetry/api"
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources"
import { AlwaysOnSampler, RandomIdGenerator, TracerProvider } from "@opentelemetry/sdk-trace"
import { SpanQueue, type SpanQueueOptions } from "./span-queue.ts"
import type { Attributes, Received, Span, Trace, Tracer } from "./trace.ts"
import { fieldsOf, makeTraceParent, traceContextOf, type TraceContext } from "./trace-context.ts"

export interface OtlpTracerOptions extends SpanQueueOptions {
  /** Whether a request's context is the parent of its spans, or linked. */
  readonly parent: "continue" | "link"
  /** The share of requests that are traced where no parent decides, from 0 to 1. */
  readonly sample: number
  /** Takes one of the traces that a second may have; returns 0, or else how long there is none. */
  readonly limit: () => number
  /** Attributes of the resource. */
  readonly attributes: { readonly [name: string]: string }
}

/** Bounds what senders can put into a span, such as a path. */
const LONGEST_VALUE = 1024
/** Bounds the spans of a list's items. */
const MOST_SPANS = 100

const KINDS = { internal: SpanKind.INTERNAL, producer: SpanKind.PRODUCER }

/** Records the spans of sampled requests and sends them to a collector. */
export class OtlpTracer implements Tracer {
  readonly #options: OtlpTracerOptions
  readonly #queue: SpanQueue
  readonly #ids = new RandomIdGenerator()
  readonly #tracer: ReturnType<TracerProvider["getTracer"]>

  constructor(options: OtlpTracerOptions) {
    this.#options = options
    this.#queue = new SpanQueue(options)
    const provider = new TracerProvider({
      // decided before a span is made
      sampler: new AlwaysOnSampler(),
      idGenerator: this.#ids,
      resource: defaultResource().merge(resourceFromAttributes(options.attributes)),
      spanLimits: { attributeValueLengthLimit: LONGEST_VALUE },
      spanProcessors: [this.#queue],
    })
    this.#tracer = provider.getTracer("hookline")
  }

  receive(headers: Headers, describe: () => Received): Trace | undefined {
    const { parent, sample, limit, metrics } = this.#options
    const sent = traceContextOf(headers)
    const fields = sent && fieldsOf(sent.traceparent)
    const continued = parent === "continue" ? fields : undefined
    const isSampled = continued?.isSampled ?? (sample === 1 || Math.random() < sample)
    if (isSampled && limit() === 0) return this.#begin(describe(), sent)
    if (isSampled) metrics.overLimit()
    return continued === undefined ? new NotRecorded(this.#ids) : undefined
  }

  /** Sends what is recorded, until `untilMs` by the steady clock. */
  close(untilMs: number): Promise<void> {
    return this.#queue.close(untilMs)
  }

  #begin({ name, attributes }: Received, sent: TraceContext | undefined): Trace {
    const isContinued = this.#options.parent === "continue"
    const remote = sent && spanContextOf(sent)
    const options = {
      kind: SpanKind.SERVER,
      attributes: { ...attributes },
      links: remote === undefined || isContinued ? [] : [{ context: remote }],
    }
    const context =
      remote === undefined || !isContinued ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote)
    const tracestate = isContinued ? sent?.tracestate : undefined
    let spans = 1
    const own = this.#tracer.startSpan(name, options, context)
    const within = trace.setSpan(ROOT_CONTEXT, own)
    const start: Trace["start"] = (name, kind, attributes) => {
      if (spans++ >= MOST_SPANS) return undefined
      const started = { kind: KINDS[kind], attributes: { ...attributes } }
      return new RecordedSpan(this.#tracer.startSpan(name, started, within), tracestate)
    }
    return Object.assign(new RecordedSpan(own, tracestate), { start })
  }
}

class RecordedSpan implements Span {
  readonly tracestate: string | undefined
  readonly #span: SdkSpan

  constructor(span: SdkSpan, tracestate: string | undefined) {
    this.#span = span
    this.tracestate = tracestate
  }

  get traceparent(): string {
    const { traceId, spanId } = this.#span.spanContext()
    return makeTraceParent(traceId, spanId, true)
  }

  end(attributes: Attributes = {}, error?: string): void {
    this.#span.setAttributes({ ...attributes, "error.type": error })
    if (error !== undefined) this.#span.setStatus({ code: SpanStatusCode.ERROR })
    this.#span.end()
  }
}

/** The context of a request that is not recorded and has no parent: what follows is not recorded either. */
class NotRecorded implements Trace {
  readonly tracestate = undefined
  readonly #ids: RandomIdGenerator
  #traceparent: string | undefined

  constructor(ids: RandomIdGenerator) {
    this.#ids = ids
  }

  get traceparent(): string {
    const { generateTraceId, generateSpanId } = this.#ids
    return (this.#traceparent ??= makeTraceParent(generateTraceId(), generateSpanId(), false))
  }

  start(): undefined {}

  end(): void {}
}

function spanContextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  const { traceId, spanId, isSampled } = fieldsOf(traceparent)
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  }
}
