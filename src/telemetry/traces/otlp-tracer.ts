// Hot path with traces: here it is decided whether a request is traced. Loaded only then.
import { steadyMs } from "../../clock/clock.ts"
import type { EndedSpan, SpanContext } from "./otlp.ts"
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
}

/** Bounds what senders can put into a span, such as a path. In UTF-16 units. */
const LONGEST_VALUE = 1024
/** Bounds the spans of a list's items. */
const MOST_SPANS = 100

/** Records the spans of sampled requests and sends them to a collector. */
export class OtlpTracer implements Tracer {
  readonly #options: OtlpTracerOptions
  readonly #queue: SpanQueue

  constructor(options: OtlpTracerOptions) {
    this.#options = options
    this.#queue = new SpanQueue(options)
  }

  receive(headers: Headers, describe: () => Received): Trace | undefined {
    const { parent, sample, limit, metrics } = this.#options
    const sent = traceContextOf(headers)
    const fields = sent && fieldsOf(sent.traceparent)
    const continued = parent === "continue" ? fields : undefined
    const isSampled = continued?.isSampled ?? (sample === 1 || Math.random() < sample)
    if (isSampled && limit() === 0) return this.#begin(describe(), sent)
    if (isSampled) metrics.overLimit()
    return continued === undefined ? new NotRecorded() : undefined
  }

  /** Sends what is recorded, until `untilMs` by the steady clock. */
  close(untilMs: number): Promise<void> {
    return this.#queue.close(untilMs)
  }

  #begin({ name, attributes }: Received, sent: TraceContext | undefined): Trace {
    const remote = sent && { ...fieldsOf(sent.traceparent), tracestate: sent.tracestate }
    const parent = this.#options.parent === "continue" ? remote : undefined
    const { traceId, tracestate } = parent ?? { traceId: randomId(TRACE_ID_BYTES), tracestate: undefined }
    // the steady clock has one offset in all of a trace, so its spans are in order
    const offsetMs = Date.now() - steadyMs()
    const begin = (begun: Omit<Begun, keyof SpanContext>): RecordedSpan =>
      new RecordedSpan(this.#queue, offsetMs, {
        ...begun,
        traceId,
        spanId: randomId(SPAN_ID_BYTES),
        isSampled: true,
        tracestate,
      })
    const own = begin({
      parentSpanId: parent?.spanId,
      link: parent === undefined ? remote : undefined,
      name,
      kind: "server",
      attributes,
    })
    const within = { parentSpanId: own.spanId, link: undefined }
    let spans = 1
    const start: Trace["start"] = (name, kind, attributes) =>
      spans++ >= MOST_SPANS ? undefined : begin({ ...within, name, kind, attributes })
    return Object.assign(own, { start })
  }
}

/** A span as it is when it begins. */
type Begun = Omit<EndedSpan, "startMs" | "endMs" | "isError">

class RecordedSpan implements Span {
  readonly #queue: SpanQueue
  readonly #offsetMs: number
  readonly #startMs = steadyMs()
  readonly #begun: Begun

  /** @param offsetMs the time of day less the steady clock's */
  constructor(queue: SpanQueue, offsetMs: number, begun: Begun) {
    this.#queue = queue
    this.#offsetMs = offsetMs
    this.#begun = begun
  }

  get spanId(): string {
    return this.#begun.spanId
  }

  get traceparent(): string {
    return makeTraceParent(this.#begun.traceId, this.#begun.spanId, true)
  }

  get tracestate(): string | undefined {
    return this.#begun.tracestate
  }

  end(attributes: Attributes = {}, error?: string): void {
    this.#queue.add({
      ...this.#begun,
      startMs: this.#startMs + this.#offsetMs,
      endMs: steadyMs() + this.#offsetMs,
      attributes: cut({ ...this.#begun.attributes, ...attributes, "error.type": error }),
      isError: error !== undefined,
    })
  }
}

const cut = (attributes: Attributes): Attributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, it]) => [
      name,
      typeof it === "string" ? it.slice(0, LONGEST_VALUE) : it,
    ]),
  )

/** The context of a request that is not recorded and has no parent: what follows is not recorded either. */
class NotRecorded implements Trace {
  readonly tracestate = undefined
  #traceparent: string | undefined

  get traceparent(): string {
    return (this.#traceparent ??= makeTraceParent(randomId(TRACE_ID_BYTES), randomId(SPAN_ID_BYTES), false))
  }

  start(): undefined {}

  end(): void {}
}

const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8

/** In hexadecimal. */
const randomId = (bytes: number): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex")
