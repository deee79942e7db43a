// Hot path: called for every event.
import type { Receipt } from "../../pipeline/record.ts"
import type { Attributes, Span, Trace } from "../../telemetry/traces/trace.ts"
import { traceContextOf } from "../../telemetry/traces/trace-context.ts"
import type { AddHeaders } from "./cloud-events.ts"

/*
 * By OpenTelemetry's semantic conventions for Kafka; an embedded log's records have the same attributes.
 * https://opentelemetry.io/docs/specs/semconv/messaging/kafka/
 */

/** Begins the span that publishes an event; undefined: not recorded. @param name of few values */
export function startPublishing(
  trace: Trace,
  topic: string,
  name: string,
  messagingSystem: string,
): Span | undefined {
  return trace.start(name, "producer", {
    "messaging.system": messagingSystem,
    "messaging.operation.name": "publish",
    "messaging.operation.type": "send",
    "messaging.destination.name": topic,
  })
}

/** Where the record is. */
export function publishedTo({ partition, offset }: Receipt): Attributes {
  if (partition < 0) return { "hookline.spooled": true }
  return {
    "messaging.destination.partition.id": String(partition),
    "messaging.kafka.offset": offset < 0 ? undefined : offset,
  }
}

/** Names the span that publishes the record, so that a consumer continues it; without traces the sender's. */
export const traceHeaders: AddHeaders = ({ request }, headers, span) => {
  const { traceparent, tracestate } = span ?? request.trace ?? traceContextOf(request.headers) ?? {}
  if (traceparent !== undefined) headers.push(["traceparent", Buffer.from(traceparent)])
  if (tracestate !== undefined) headers.push(["tracestate", Buffer.from(tracestate)])
}

export const isTraceHeader = (name: string): boolean => /^trace(?:parent|state)$/i.test(name)
