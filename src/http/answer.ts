import { STATUS_CODES } from "node:http"
import { Rejected, type Answered } from "../pipeline/outcome.ts"
import { unavailable } from "../pipeline/service-unavailable.ts"
import { ACCEPTED_CODINGS } from "./content-coding.ts"

/** Whether answers of a status have no body: RFC 9110, 15.3.5 and 15.3.6. */
export const isBodiless = (status: number): boolean => status === 204 || status === 205

/** The server's own refusals, apart from 503s. Processors have reasons of their own. */
const REFUSED = {
  unknown_path: [404, "No pipeline accepts webhooks at this path."],
  path_not_normal: [404, "No pipeline accepts this path in this spelling; send it in its normal form."],
  duplicate_host: [400, "The request must have exactly one Host header."],
  method_not_allowed: [405, "Webhooks must be sent with POST."],
  address_not_allowed: [403, "This address may not send webhooks here."],
  body_timeout: [408, "The body did not arrive in time."],
  body_too_large: [413, "The body is larger than this endpoint accepts."],
  compression_ratio: [413, "The body decompresses to more than 1,032 times its size."],
  content_type: [415, "This endpoint does not accept this content type."],
  content_encoding: [415, "Unsupported content encoding.", { "Accept-Encoding": ACCEPTED_CODINGS }],
  invalid_encoding: [400, "The body does not match its content encoding, or is truncated."],
  rate_limited: [429, "Too many events at this endpoint; send this one again later."],
  unverified_rate_limited: [429, "Too many requests from this address could not be verified; send it again."],
  // logged only: the connection is closed
  client_closed: [499, "The connection was closed before the whole body had arrived."],
  internal: [500, "The event was not accepted because of an internal error."],
} as const satisfies { [reason: string]: readonly [number, string, { [name: string]: string }?] }

/** The server's own reasons for a refusal, in logs and metrics. */
export type RefusalReason = keyof typeof REFUSED | "in_flight_full" | "draining" | "addresses_unknown"

export const REFUSALS = {
  ...Object.fromEntries(
    Object.entries(REFUSED).map(([reason, [status, detail, headers]]) => [
      reason,
      new Rejected(status, reason, detail, { headers }),
    ]),
  ),
  in_flight_full: unavailable("in_flight_full"),
  draining: unavailable("draining"),
  addresses_unknown: unavailable("addresses_unknown"),
} as { readonly [reason in RefusalReason]: Rejected }

/** Those of requests for a pipeline's path. */
export const KNOWN_REFUSALS: readonly Rejected[] = Object.values(REFUSALS).filter(
  ({ status }) => status !== 404,
)

/** The phrases of RFC 9110; Node's are of RFC 7231 for two. */
const TITLES: { readonly [status: number]: string | undefined } = {
  ...STATUS_CODES,
  413: "Content Too Large",
  422: "Unprocessable Content",
}

/**
 * A refusal as problem details (RFC 9457). The type is `about:blank`, so the title is the status's phrase.
 *
 * @param close closes the connection after it; without it the rest of the body is read and discarded, since a
 *   sender may not read the answer before it has sent all
 * @param requestId names it in the log, for whoever is asked about the answer
 */
export function problem(
  { status, detail, headers, bodiless }: Rejected,
  close: boolean,
  requestId: string,
): Response {
  const own = { "X-Request-Id": requestId, ...(close ? { Connection: "close" } : {}) }
  if (bodiless) return new Response(null, { status, headers: { ...headers, ...own } })
  const title = TITLES[status] ?? (status < 500 ? "Client Error" : "Server Error")
  return new Response(JSON.stringify({ type: "about:blank", title, status, detail, request_id: requestId }), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json", ...own },
  })
}

export function reply({ status, body, headers }: Answered): Response {
  return new Response(body === "" ? null : body, { status, headers: { ...headers } })
}

export const tooMany = (reason: "rate_limited" | "unverified_rate_limited", retryAfterS: number): Rejected =>
  withHeaders(REFUSALS[reason], { "Retry-After": String(retryAfterS) })

export const methodNotAllowed = (methods: readonly string[]): Rejected =>
  withHeaders(REFUSALS.method_not_allowed, { Allow: ["POST", ...methods].join(", ") })

const withHeaders = ({ status, reason, detail }: Rejected, headers: Rejected["headers"]): Rejected =>
  new Rejected(status, reason, detail, { headers })
