import { withoutHidden } from "../process/hidden-segments.ts"
import type { RequestInfo } from "../pipeline/event.ts"
import type { Received, Trace, Tracer } from "../telemetry/traces/trace.ts"
import type { Route } from "./route.ts"

/** The methods that a span names; senders may make up others. */
const METHODS = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"]

/** Begins the span of a request, which its answer ends; undefined: not recorded. */
export const traceRequest = (tracer: Tracer, info: RequestInfo, route: Route): Trace | undefined =>
  tracer.receive(info.headers, () => describe(info, route))

/**
 * By OpenTelemetry's semantic conventions for HTTP servers, without what may have a secret: query, headers.
 * https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
function describe(info: RequestInfo, { pipeline, path }: Route): Received {
  const isKnown = METHODS.includes(info.method)
  const url = info.headers.has("host") ? URL.parse(info.url) : null
  return {
    name: `${isKnown ? info.method : "HTTP"} ${withoutHidden(path)}`,
    attributes: {
      "http.request.method": isKnown ? info.method : "_OTHER",
      "http.route": withoutHidden(path),
      "url.path": withoutHidden(info.path),
      "url.scheme": info.url.startsWith("https:") ? "https" : "http",
      "server.address": url?.hostname,
      "server.port": url === null || url.port === "" ? undefined : Number(url.port),
      "client.address": info.remoteAddress === "unknown" ? undefined : info.remoteAddress,
      "hookline.pipeline": pipeline,
      "hookline.request_id": info.id,
    },
  }
}
