import type { PublishError, PublishFault } from "../errors.ts"
import { Rejected } from "../event.ts"

/**
 * Why the server itself refuses a request: the status, what the sender is told and the headers, by the word that stands
 * in logs and metrics. Processors reject with reasons of their own.
 */
const REFUSALS = {
  unknown_path: refuse(404, "No pipeline takes webhooks at this path."),
  method_not_allowed: refuse(405, "Webhooks are taken with POST.", { Allow: "POST" }),
  address_not_allowed: refuse(403, "This address may not send webhooks here."),
  header_timeout: refuse(408, "The header section did not arrive in time."),
  body_timeout: refuse(408, "The body did not arrive in time."),
  body_too_large: refuse(413, "The body is larger than this endpoint takes."),
  content_type: refuse(415, "This endpoint does not take bodies of this content type."),
  content_encoding: refuse(415, "This content encoding is not known.", {
    "Accept-Encoding": "gzip, deflate, br, zstd",
  }),
  invalid_encoding: refuse(400, "The body is not what its content encoding says, or is cut short."),
  in_flight_full: refuse(503, "Too many events are being taken at once.", { "Retry-After": "1" }),
  draining: refuse(503, "The service is shutting down.", { "Retry-After": "1" }),
  internal: refuse(500, "The event could not be taken because of a fault."),
} as const

type Refusal = readonly [status: number, detail: string, headers?: { readonly [name: string]: string }]
export type RefusalReason = keyof typeof REFUSALS

function refuse(...refusal: Refusal): Refusal {
  return refusal
}

/** A refusal of the server's own. */
export function refusal(reason: RefusalReason, logDetail?: string): Rejected {
  const [status, detail, headers] = REFUSALS[reason]
  return new Rejected(status, reason, detail, {
    ...(logDetail === undefined ? {} : { logDetail }),
    ...(headers === undefined ? {} : { headers }),
  })
}

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

/** The reason phrases that RFC 9110 gives to the statuses that events are refused with. */
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
 * The answer for a refusal: problem details of RFC 9457. The type is `about:blank`, so the title is the status's phrase;
 * `detail` says the rest.
 *
 * @param close whether the connection is not to be used again
 */
export function problem(rejected: Rejected, close: boolean): Response {
  const { status, detail, headers } = rejected
  const title = TITLES[status] ?? (status < 500 ? "Client Error" : "Server Error")
  return new Response(JSON.stringify({ type: "about:blank", title, status, detail }), {
    status,
    headers: {
      ...headers,
      "Content-Type": "application/problem+json",
      ...(close ? { Connection: "close" } : {}),
    },
  })
}
