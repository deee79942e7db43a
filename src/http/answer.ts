import type { PublishError, PublishFault } from "../errors.ts"
import { Rejected, type Answered } from "../event.ts"
import { ACCEPTED_CODINGS } from "./content-coding.ts"

/** Whether answers of a status have no body: RFC 9110, 15.3.5 and 15.3.6. */
export const isBodiless = (status: number): boolean => status === 204 || status === 205

/** What the server itself refuses requests with. Processors reject with reasons of their own. */
const REFUSED = {
  unknown_path: [404, "No pipeline takes webhooks at this path."],
  path_not_normal: [
    404,
    "No pipeline takes webhooks at this path as it is spelt; send it in its normal form.",
  ],
  duplicate_host: [400, "A request has one Host header."],
  method_not_allowed: [405, "Webhooks are taken with POST."],
  address_not_allowed: [403, "This address may not send webhooks here."],
  body_timeout: [408, "The body did not arrive in time."],
  body_too_large: [413, "The body is larger than this endpoint takes."],
  content_type: [415, "This endpoint does not take bodies of this content type."],
  content_encoding: [
    415,
    "This content encoding is not known here.",
    { "Accept-Encoding": ACCEPTED_CODINGS },
  ],
  invalid_encoding: [400, "The body is not what its content encoding says, or is cut short."],
  rate_limited: [429, "This endpoint takes no more events at the moment; send it again."],
  unverified_rate_limited: [429, "Too many requests from this address could not be verified; send it again."],
  in_flight_full: [503, "Too many events are being taken at once; send it again.", { "Retry-After": "1" }],
  draining: [503, "The service is shutting down; send the event again.", { "Retry-After": "1" }],
  // never sent: nobody is there to read it
  client_closed: [499, "The connection was closed before the whole body had arrived."],
  internal: [500, "The event could not be taken because of a fault."],
} as const satisfies { [reason: string]: readonly [number, string, { [name: string]: string }?] }

/** Why the server itself refuses a request, as it stands in logs and metrics. */
export type RefusalReason = keyof typeof REFUSED

export const REFUSALS = Object.fromEntries(
  Object.entries(REFUSED).map(([reason, [status, detail, headers]]) => [
    reason,
    new Rejected(status, reason, detail, headers === undefined ? {} : { headers }),
  ]),
) as { readonly [reason in RefusalReason]: Rejected }

/** What the sender of a record that was not acknowledged gets: status, detail, seconds after which to send it again. */
const UNPUBLISHED: { readonly [fault in PublishFault]: readonly [number, string, retryAfterS?: number] } = {
  unavailable: [503, "The event can't be stored now; send it again later.", 5],
  deadline: [503, "The event was not stored in time; send it again.", 5],
  closing: [503, "The service is shutting down; send the event again.", 1],
  log_io: [503, "The event can't be stored now; send it again later.", 30],
  // an operator has to put it right, and then the same event is taken: the sender is to keep it
  refused: [503, "The event can't be stored now; send it again later.", 60],
  record_too_large: [413, "The event is larger than can be stored."],
}

/** The refusal for a record that the broker did not acknowledge. */
export function refusalOf(error: PublishError): Rejected {
  const [status, detail, retryAfterS] = UNPUBLISHED[error.code]
  return new Rejected(status, error.code, detail, {
    logDetail: error.message,
    ...(retryAfterS === undefined ? {} : { headers: { "Retry-After": String(retryAfterS) } }),
  })
}

/** The phrases that RFC 9110 (and 6585) give to the statuses that events are refused with. */
const TITLES: { readonly [status: number]: string } = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
}

/**
 * The answer for a refusal: problem details of RFC 9457. The type is `about:blank`, so that the title is the status's
 * phrase and `detail` says the rest.
 *
 * @param close whether the connection ends with it. A sender that is still sending its body may not read the answer then:
 *   without it, the rest is read and thrown away
 */
export function problem({ status, detail, headers, bodiless }: Rejected, close: boolean): Response {
  const connection = close ? { Connection: "close" } : {}
  if (bodiless) return new Response(null, { status, headers: { ...headers, ...connection } })
  const title = TITLES[status] ?? (status < 500 ? "Client Error" : "Server Error")
  return new Response(JSON.stringify({ type: "about:blank", title, status, detail }), {
    status,
    headers: {
      ...headers,
      "Content-Type": "application/problem+json",
      ...connection,
    },
  })
}

/** The answer to a question of the provider's. */
export function reply({ status, body, headers }: Answered): Response {
  return new Response(body === "" ? null : body, { status, headers: { ...headers } })
}

/** A refusal that tells when to send again. */
export function refusedFor(
  { status, reason, detail }: (typeof REFUSALS)["rate_limited" | "unverified_rate_limited"],
  retryAfterS: number,
): Rejected {
  return new Rejected(status, reason, detail, { headers: { "Retry-After": String(retryAfterS) } })
}

/** The refusal of a method that nothing at a path takes. */
export function methodNotAllowed(methods: readonly string[]): Rejected {
  const { status, reason, detail } = REFUSALS.method_not_allowed
  return new Rejected(status, reason, detail, { headers: { Allow: ["POST", ...methods].join(", ") } })
}
