/*
 * OTLP over HTTP, as far as spans are sent with it, in messages of trace_service.proto, trace.proto and common.proto:
 * https://github.com/open-telemetry/opentelemetry-proto.
 */
import * as proto from "./protobuf.ts"
import type { Attributes } from "./trace.ts"

const KINDS = { internal: 1, server: 2, producer: 4 } as const
const STATUS_ERROR = 2
/** Whether the span that is named is of another process is known, and it is. */
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

/** A span's place in its trace; ids are hexadecimal. */
export interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  readonly tracestate: string | undefined
}

/** A span that has ended. */
export interface EndedSpan extends SpanContext {
  /** Of a server's span, the sender's. */
  readonly parentSpanId: string | undefined
  /** The sender's span, where it is not the parent. */
  readonly link: SpanContext | undefined
  readonly name: string
  readonly kind: keyof typeof KINDS
  /** Milliseconds since 1970, with fractions. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly isError: boolean
}

/** An ExportTraceServiceRequest with spans of one resource. */
export function encodeSpans(resource: Attributes, spans: readonly EndedSpan[]): Buffer<ArrayBuffer> {
  const scope = proto.messageField(1, [proto.textField(1, "hookline")])
  const ofScope = [scope, ...spans.map((span) => proto.messageField(2, encodeSpan(span)))]
  const ofResource = [proto.messageField(1, attributesFields(1, resource)), proto.messageField(2, ofScope)]
  return Buffer.from(proto.messageField(1, ofResource), "latin1")
}

/** The number of spans that an ExportTraceServiceResponse says are rejected; undefined: it is none. */
export function readRejectedSpans(response: Uint8Array): number | undefined {
  const fields = proto.readMessage(response)
  const partialSuccess = fields?.get(1) ?? new Uint8Array()
  if (fields === undefined || typeof partialSuccess === "number") return undefined
  const ofPartial = proto.readMessage(partialSuccess)
  const rejected = ofPartial?.get(1) ?? 0
  return ofPartial === undefined || typeof rejected !== "number" ? undefined : rejected
}

function encodeSpan(span: EndedSpan): string[] {
  const { parentSpanId, link } = span
  return [
    ...contextFields(span),
    ...(parentSpanId === undefined ? [] : [proto.hexField(4, parentSpanId)]),
    proto.textField(5, span.name),
    proto.varintField(6, KINDS[span.kind]),
    proto.fixedField(7, nanoseconds(span.startMs)),
    proto.fixedField(8, nanoseconds(span.endMs)),
    ...attributesFields(9, span.attributes),
    ...(link === undefined
      ? []
      : [proto.messageField(13, [...contextFields(link), proto.fixedField(6, flags(link, true))])]),
    proto.messageField(15, span.isError ? [proto.varintField(3, STATUS_ERROR)] : []),
    proto.fixedField(16, flags(span, span.kind === "server" && parentSpanId !== undefined)),
  ]
}

const contextFields = ({ traceId, spanId, tracestate }: SpanContext): string[] => [
  proto.hexField(1, traceId),
  proto.hexField(2, spanId),
  ...(tracestate === undefined ? [] : [proto.textField(3, tracestate)]),
]

const flags = ({ isSampled }: SpanContext, isRemote: boolean): Uint32Array =>
  Uint32Array.of((isSampled ? 1 : 0) | HAS_IS_REMOTE | (isRemote ? IS_REMOTE : 0))

const nanoseconds = (ms: number): BigUint64Array => BigUint64Array.of(BigInt(Math.round(ms * 1000)) * 1000n)

const attributesFields = (number: number, attributes: Attributes): string[] =>
  Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined
      ? []
      : [proto.messageField(number, [proto.textField(1, name), proto.messageField(2, [valueField(value)])])],
  )

function valueField(value: string | number | boolean): string {
  if (typeof value === "string") return proto.textField(1, value)
  if (typeof value === "boolean") return proto.varintField(2, value ? 1 : 0)
  if (Number.isSafeInteger(value) && value >= 0) return proto.varintField(3, value)
  return proto.fixedField(4, Float64Array.of(value))
}
