import { steadyMs } from "../clock/clock.ts"
import { mediaType } from "../forms/body-format.ts"
import type { Processor } from "../pipeline/event.ts"
import { deadLetterRefused } from "../pipeline/dead-letters.ts"
import { isForAll, Rejected, STEP_REASONS, type Answered, type Outcome } from "../pipeline/outcome.ts"
import { UNAVAILABLE, unavailable, UNPUBLISHED } from "../pipeline/service-unavailable.ts"
import { headerText } from "../headers.ts"
import { SMALL_BYTES, type InFlightBudget } from "./admission/budget.ts"
import { ACCEPTED_CODINGS } from "./content-coding.ts"
import type { Route } from "./route.ts"

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

/** A status's phrase in RFC 9110; Node's are of RFC 7231 for two. Its module takes 5 ms to load, at the first refusal. */
export const phraseOf = (status: number): string | undefined =>
  PHRASES[status] ?? process.getBuiltinModule("node:http").STATUS_CODES[status]

const PHRASES: { readonly [status: number]: string } = {
  413: "Content Too Large",
  422: "Unprocessable Content",
}

/**
 * The `type` of a problem document: the name of a section of docs/errors.md. A URN, since no host is Hookline's and RFC 9457
 * discourages relative references; consumers compare it, so that it is never changed.
 */
export const problemType = (name: string): string => `urn:hookline:error:${name}`

/** The status and sentence of each refusal that is not a 401, by its reason. */
export const PROBLEM_TYPES: ReadonlyMap<string, string> = new Map(
  [
    ...Object.keys(REFUSALS),
    ...Object.keys(UNAVAILABLE),
    ...UNPUBLISHED.filter(isForAll).map((it) => deadLetterRefused(it).reason),
    ...STEP_REASONS,
  ].map((reason) => [reason, problemType(reason)]),
)

/** One for all, so that senders do not learn why they are not verified. */
const UNAUTHORIZED = problemType("unauthorized")

/**
 * A refusal as problem details (RFC 9457). Its type is `about:blank` where a component of the user's own gives a reason of its
 * own. The title is the status's phrase.
 *
 * @param close closes the connection after it; without it the rest of the body is read and discarded, since a
 *   sender may not read the answer before it has sent all
 * @param requestId names it in the log, for whoever is asked about the answer
 */
export function problem(
  { status, reason, detail, headers, bodiless }: Rejected,
  close: boolean,
  requestId: string,
): Response {
  const own = { "X-Request-Id": requestId, ...(close ? { Connection: "close" } : {}) }
  if (bodiless) return new Response(null, { status, headers: { ...headers, ...own } })
  const title = phraseOf(status) ?? (status < 500 ? "Client Error" : "Server Error")
  const type = status === 401 ? UNAUTHORIZED : (PROBLEM_TYPES.get(reason) ?? "about:blank")
  return new Response(JSON.stringify({ type, title, status, detail, request_id: requestId }), {
    status,
    headers: { ...headers, "Content-Type": "application/problem+json", ...own },
  })
}

export function reply({ status, body, headers }: Answered): Response {
  return new Response(body === "" ? null : body, { status, headers: { ...headers } })
}

/** @param logDetail the limit, and what exceeded it */
export const tooMany = (
  reason: "rate_limited" | "unverified_rate_limited",
  retryAfterS: number,
  logDetail: string,
): Rejected => withMore(REFUSALS[reason], { headers: { "Retry-After": String(retryAfterS) }, logDetail })

export const methodNotAllowed = (methods: readonly string[]): Rejected =>
  withMore(REFUSALS.method_not_allowed, { headers: { Allow: ["POST", ...methods].join(", ") } })

/** A refusal with what the log says of the one request. */
export const refused = (reason: RefusalReason, logDetail: string | undefined): Rejected =>
  withMore(REFUSALS[reason], { logDetail, headers: REFUSALS[reason].headers })

const withMore = ({ status, reason, detail }: Rejected, more: Partial<Rejected>): Rejected =>
  new Rejected(status, reason, detail, more)

/** Quotes the begin of a Content-Type or Content-Encoding, which the sender chooses. */
function quoted(value: string): string {
  const text = headerText(value)
  return JSON.stringify(text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)}…` : text)
}

const MOST_QUOTED = 100

/** The refusal of a body. @param decoding its bytes, if they were to be decoded */
export function bodyRefusal(
  reason: RefusalReason,
  { headers }: Request,
  { budget, maxBytes, decoding }: { budget: InFlightBudget; maxBytes: number; decoding: number | undefined },
): Rejected {
  if (reason === "in_flight_full")
    return refused(
      reason,
      `${budget.requests} requests hold ${budget.bytes} of max_in_flight_bytes, ${budget.maxBytes}`,
    )
  if (reason === "compression_ratio") return refused(reason, `its compressed size is ${decoding} bytes`)
  if (reason !== "body_too_large") return REFUSALS[reason]
  const limit = `max_body_bytes, ${maxBytes}`
  if (decoding !== undefined) return refused(reason, `its ${decoding} bytes decompress to more than ${limit}`)
  const declared = Number(headers.get("content-length"))
  const isDeclared = declared > maxBytes
  return refused(
    reason,
    isDeclared ? `Content-Length ${declared} exceeds ${limit}` : `the body exceeds ${limit}`,
  )
}

/** undefined: the type is accepted. */
export function typeRefusal(headers: Headers, accepted: readonly string[]): Rejected | undefined {
  const type = mediaType(headers.get("content-type"))
  if (accepted.includes(type)) return undefined
  const came = type === "" ? "no Content-Type" : `Content-Type ${quoted(type)}`
  return refused("content_type", `${came}; content_types = ${accepted.join(", ")}`)
}

export const wrongCoding = (coding: string): Rejected =>
  refused("content_encoding", `Content-Encoding ${quoted(coding)}`)

export interface AcceptedAnswer {
  readonly status: number
  readonly body: string | null
  readonly init: ResponseInit
}

/** The answer for accepted and dropped events, prebuilt: the source's, or a processor's. */
export function acceptedAnswer(configured: Route["response"], byStep: Processor["response"]): AcceptedAnswer {
  const { status } = configured
  const own = configured.body !== "" || isBodiless(status)
  const { body, contentType } = own ? configured : { ...configured, ...byStep }
  const headers = contentType === undefined ? undefined : { "Content-Type": contentType }
  return {
    status,
    body: body === "" ? null : body,
    init: headers === undefined ? { status } : { status, headers },
  }
}

/**
 * The number of requests that a refused one counts as in the limit of unverified requests: one per 16 KiB of its body,
 * or per second, at least 1. A connection that broke may not be its sender's doing: only the bytes of a larger body count.
 */
export function costOf(outcome: Outcome, bytes: number, startedMs: number): number {
  const byBytes = bytes / SMALL_BYTES
  if (outcome === REFUSALS.client_closed) return byBytes > 1 ? byBytes : 0
  return Math.max(1, byBytes, (steadyMs() - startedMs) / 1000)
}
