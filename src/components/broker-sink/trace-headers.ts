// Hot path: every event of a sink with trace_headers = on passes here.
import { traceContextOf } from "../../telemetry/traces/trace-context.ts"
import type { AddHeaders } from "./cloud-events.ts"

/** Names the span that publishes the record, so that a consumer continues it; without traces the sender's. */
export const traceHeaders: AddHeaders = ({ request }, headers, span) => {
  const { traceparent, tracestate } = span ?? request.trace ?? traceContextOf(request.headers) ?? {}
  if (traceparent !== undefined) headers.push(["traceparent", Buffer.from(traceparent)])
  if (tracestate !== undefined) headers.push(["tracestate", Buffer.from(tracestate)])
}

export const isTraceHeader = (name: string): boolean => /^trace(?:parent|state)$/i.test(name)
