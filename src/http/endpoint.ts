// Hot path: every event passes here.
import { pause, steadyMs } from "../clock/clock.ts"
import type { Deadlines } from "../clock/deadlines.ts"
import type { Steps } from "../clock/slices.ts"
import { formatEndpoint } from "../config/sections/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { Event, type Processor, type RequestInfo } from "../pipeline/event.ts"
import type { OutcomeLog } from "../pipeline/outcome-log.ts"
import type { Outcome, Rejected } from "../pipeline/outcome.ts"
import type { Tracer } from "../telemetry/traces/trace.ts"
import { SMALL_BYTES, type InFlightBudget, type Reservation } from "./admission/budget.ts"
import { isBodiless, KNOWN_REFUSALS, methodNotAllowed, problem, REFUSALS, reply, tooMany } from "./answer.ts"
import { decodeBody, readBody } from "./body.ts"
import { decoderFor } from "./content-coding.ts"
import { ReceivedRequest } from "./received-request.ts"
import type { Route } from "./route.ts"
import { type Endpoint, PathTable, type RequestHandlers } from "./routes.ts"
import { traceRequest } from "./trace-request.ts"

export interface EndpointDeps {
  readonly budget: InFlightBudget
  readonly bodyTimeoutMs: number
  readonly bodyDeadlines: Deadlines
  /** How long a kept-alive connection may be idle. */
  readonly idleTimeoutS: number
  /** Whether the server guarantees that a body has its declared length. */
  readonly isFramed: boolean
  /** Aborted when a drain begins. */
  readonly draining: AbortSignal
  /** The outcome log of a pipeline; undefined: of requests for none. */
  readonly outcomes: (pipeline: string | undefined) => OutcomeLog
  /** undefined: nothing is traced. */
  readonly tracer: Tracer | undefined
  /** When the requests first came, in milliseconds since 1970; undefined: they come now. */
  readonly firstCameAtMs?: number | undefined
  /** As `RequestInfo.isInjected`. */
  readonly isInjected?: boolean | undefined
}

/**
 * Delay of a refusal by the in-flight budget: many senders repost as soon as they are answered, ignoring Retry-After,
 * and each refused body costs its reading, see docs/decisions/overload.md.
 */
const REFUSED_AFTER_MS = 1000

/** The endpoint of one path. Every request is counted and logged once, by `outcomes`. */
export function makeEndpoint(route: Route, deps: EndpointDeps): Endpoint {
  const { pipeline, maxBodyBytes, contentTypes, handler, deliveryTimeoutMs } = route
  const { budget, isFramed, bodyTimeoutMs, bodyDeadlines, idleTimeoutS, draining, tracer } = deps
  const { firstCameAtMs, isInjected } = deps
  const { admit, verifiesSenders } = handler
  const unverifiedLimit = verifiesSenders ? route.unverifiedLimit : undefined
  const outcomes = deps.outcomes(pipeline)
  const checks = checksOf(route, unverifiedLimit, draining)
  const { answer, answerSender } = answersOf(route, unverifiedLimit, draining, outcomes)
  const bodyLimits = { maxBytes: maxBodyBytes, deadlines: bodyDeadlines, isFramed }
  // Bun's idle timeout closes without an answer and is imprecise: it must not fire before the body timeout
  const slowBodies = bodyTimeoutMs > (idleTimeoutS * 1000) / 2

  return async (request, server, target) => {
    const info = new ReceivedRequest(request, server, target, route, firstCameAtMs, isInjected)
    if (tracer !== undefined) info.trace = traceRequest(tracer, info, route)
    const refusal = checks.unseen(request, info)
    if (refusal !== undefined) return answer(info, refusal)

    // in flight from here on: a drain waits for it
    const reservation = budget.enter()
    let event: Event | undefined
    try {
      const admission = admit === undefined ? undefined : await admit(info)
      if (admission !== undefined) return answerSender(info, reservation, admission)

      const { headers } = request
      if (request.method !== "POST") return answer(info, checks.wrongMethod)
      if (contentTypes !== undefined && !contentTypes.includes(mediaType(headers.get("content-type"))))
        return answer(info, REFUSALS.content_type)
      const coding = headers.get("content-encoding")
      const decode = coding === null ? undefined : decoderFor(coding)
      if (decode === "unknown") return answer(info, REFUSALS.content_encoding)
      const limited = verifiesSenders ? undefined : checks.limitRate()
      if (limited !== undefined) return answer(info, limited)

      // unknown once the connection has broken
      if (unverifiedLimit !== undefined && !isSmall(headers.get("content-length"))) void info.remoteAddress
      const receivedAtMs = firstCameAtMs ?? Date.now()
      if (slowBodies) server.timeout(request, 0)
      let body = await readBody(request, reservation, bodyLimits)
      if (slowBodies) server.timeout(request, idleTimeoutS)
      if (decode !== undefined && typeof body !== "string") {
        // its address may have used the limit up meanwhile
        const late = checks.limited(info)
        if (late !== undefined) return answer(info, late, body.length)
        body = decodeBody(body, decode, reservation, maxBodyBytes)
      }
      if (body === "in_flight_full") {
        reservation.reserve(0)
        await pause(Math.min(REFUSED_AFTER_MS, deliveryTimeoutMs / 2), draining)
      }
      if (typeof body === "string") return answerSender(info, reservation, REFUSALS[body])
      reservation.arrived()

      const { length } = body
      event = new Event(info, body, receivedAtMs, steadyMs())
      event.memory = reservation
      event.keepsReceivedBody = outcomes.keepsReceivedBodies
      const outcome = await handler.handle(event, verifiesSenders ? checks.whenVerified : undefined)
      return answerSender(info, reservation, outcome, length, event)
    } catch (error) {
      outcomes.failed(error, info, event, steadyMs() - info.startedMs)
      return problem(REFUSALS.internal, draining.aborted, info.id)
    } finally {
      reservation.release()
    }
  }
}

type UnverifiedLimit = Route["unverifiedLimit"]

/** @param isAllowed undefined: not known yet */
const checkAddress = (isAllowed: boolean | undefined): Rejected | undefined => {
  if (isAllowed === true) return undefined
  return isAllowed === false ? REFUSALS.address_not_allowed : REFUSALS.addresses_unknown
}

/** The checks before a body is read. */
function checksOf(
  { allows, rateLimit, handler: { methods } }: Route,
  unverifiedLimit: UnverifiedLimit,
  draining: AbortSignal,
) {
  const wrongMethod = methodNotAllowed(methods)
  const limited = (info: RequestInfo): Rejected | undefined => {
    if (unverifiedLimit?.isWatching !== true) return undefined
    const waitS = unverifiedLimit.wait(info.remoteAddress)
    return waitS > 0 ? tooMany("unverified_rate_limited", waitS) : undefined
  }
  /** Refuses by the connection and the headers, before any work. */
  const unseen = (request: Request, info: RequestInfo): Rejected | undefined => {
    if (request.method !== "POST" && !methods.includes(request.method)) return wrongMethod
    // several Host headers arrive as a list; proxies and servers may each pick another
    if (request.headers.get("host")?.includes(",")) return REFUSALS.duplicate_host
    if (draining.aborted) return REFUSALS.draining
    return (allows === undefined ? undefined : checkAddress(allows(info.remoteAddress))) ?? limited(info)
  }
  const limitRate = (): Rejected | undefined => {
    const waitS = rateLimit === undefined ? 0 : rateLimit()
    return waitS > 0 ? tooMany("rate_limited", waitS) : undefined
  }
  // where the pipeline verifies senders, only verified events count against the rate limit
  const whenVerified = (info: RequestInfo): Rejected | undefined => {
    if (unverifiedLimit?.isWatching === true) unverifiedLimit.verified(info.remoteAddress)
    return limitRate()
  }
  return { wrongMethod, unseen, limited, limitRate, whenVerified }
}

/** The answers to requests. */
function answersOf(
  { response, handler }: Route,
  unverifiedLimit: UnverifiedLimit,
  draining: AbortSignal,
  outcomes: OutcomeLog,
) {
  const accepted = acceptedAnswer(response, handler.response)
  outcomes.begin(accepted.status, [...KNOWN_REFUSALS, ...handler.outcomes])

  /** Counts, logs and answers; `bytes` is the length of the body read. */
  const answer = (info: ReceivedRequest, outcome: Outcome, bytes?: number, event?: Event): Response => {
    const isAccepted = outcome.kind === "accepted" || outcome.kind === "dropped"
    const ms = steadyMs() - info.startedMs
    outcomes.answered(isAccepted ? accepted.status : outcome.status, outcome, info, bytes, event, ms)
    if (isAccepted) return new Response(accepted.body, accepted.init)
    if (outcome.kind === "answered") return reply(outcome)
    return problem(outcome, draining.aborted || outcome === REFUSALS.body_timeout, info.id)
  }
  /** The same, counting an unverified sender. A fault on this side does not count against it. */
  const answerSender = (
    info: ReceivedRequest,
    { mostBytes }: Reservation,
    outcome: Outcome,
    bytes?: number,
    event?: Event,
  ): Response => {
    const isSendersFault =
      (outcome.kind === "rejected" || outcome.kind === "answered") && outcome.status < 500
    if (isSendersFault && info.isVerified !== true && unverifiedLimit !== undefined) {
      const cost = costOf(outcome, mostBytes, info.startedMs)
      if (cost > 0) unverifiedLimit.refused(info.remoteAddress, cost)
    }
    return answer(info, outcome, bytes, event)
  }
  return { answer, answerSender }
}

/**
 * The number of requests that a refused one counts as in the limit of unverified requests: one per 16 KiB of its body,
 * or per second, at least 1. A connection that broke may not be its sender's doing: only the bytes of a larger body count.
 */
function costOf(outcome: Outcome, bytes: number, startedMs: number): number {
  const byBytes = bytes / SMALL_BYTES
  if (outcome === REFUSALS.client_closed) return byBytes > 1 ? byBytes : 0
  return Math.max(1, byBytes, (steadyMs() - startedMs) / 1000)
}

/** The answer for accepted and dropped events, prebuilt: the source's, or a processor's. */
function acceptedAnswer(
  configured: Route["response"],
  byStep: Processor["response"],
): { readonly status: number; readonly body: string | null; readonly init: ResponseInit } {
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

const isSmall = (contentLength: string | null): boolean =>
  contentLength !== null && Number(contentLength) <= SMALL_BYTES

/** The media type without its parameters, in lower case; empty if none. */
function mediaType(contentType: string | null): string {
  return (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase()
}

/** The handlers of routes that share a listener. @throws HooklineError `config` when they conflict */
export function* requestHandlers(routes: readonly Route[], deps: EndpointDeps): Steps<RequestHandlers> {
  const endpoints = new PathTable<Endpoint>()
  for (const route of routes) {
    yield
    const first = routes[0]!
    const at = `pipelines ${first.pipeline} and ${route.pipeline} share ${formatEndpoint(route)}`
    if (!Bun.deepEquals(route.tls, first.tls))
      throw new HooklineError("config", `${at}, but not their TLS settings`)
    if (!endpoints.add(route.path, makeEndpoint(route, deps)))
      throw new HooklineError(
        "config",
        `several pipelines have the path ${route.path} on ${formatEndpoint(route)}`,
      )
  }
  return {
    endpoints,
    unknownPath: refusing(REFUSALS.unknown_path, deps),
    notNormal: refusing(REFUSALS.path_not_normal, deps),
    failed: (error, requestId) => deps.outcomes(undefined).failed(error, { id: requestId }),
  }
}

function refusing(refusal: Rejected, { outcomes }: EndpointDeps): Endpoint {
  const outcomeLog = outcomes(undefined)
  return (request, server, target) => {
    const info = new ReceivedRequest(request, server, target, undefined)
    outcomeLog.answered(refusal.status, refusal, info)
    return problem(refusal, false, info.id)
  }
}
