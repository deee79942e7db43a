// Hot path: every event passes here.
import { pause, steadyMs } from "../clock/clock.ts"
import type { Steps } from "../clock/slices.ts"
import { formatEndpoint } from "../addresses/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { Event } from "../pipeline/event.ts"
import type { SenderLimits } from "../pipeline/compose.ts"
import type { OutcomeLog } from "../pipeline/outcome-log.ts"
import type { Outcome, Rejected } from "../pipeline/outcome.ts"
import type { Tracer } from "../telemetry/traces/trace.ts"
import type { InFlightBudget, Reservation } from "./admission/budget.ts"
import { Arrivals } from "./admission/rate-limit.ts"
import { UnverifiedRequests } from "./admission/unverified-requests.ts"
import {
  bodyRefusal,
  KNOWN_REFUSALS,
  problem,
  REFUSALS,
  refused,
  reply,
  tooMany,
  typeRefusal,
  wrongCoding,
} from "./answer.ts"
import { decodeBody, readBody } from "./body.ts"
import { decoderFor } from "./content-coding.ts"
import { IDLE_TIMEOUT_S } from "./listener.ts"
import { ReceivedRequest } from "./received-request.ts"
import type { Route } from "./route.ts"
import { shapeOf, type Shape, type ShapeDeps } from "./route-shape.ts"
import type { Peer } from "./peer.ts"
import { type Endpoint, PathTable, type RequestHandlers, type RequestTarget } from "./routes.ts"
import { traceRequest } from "./trace-request.ts"

export interface EndpointDeps extends ShapeDeps {
  readonly budget: InFlightBudget
  readonly bodyTimeoutMs: number
  /** Aborted when a drain begins. */
  readonly draining: AbortSignal
  /** The outcome log of a pipeline; undefined: of requests for none. */
  readonly outcomes: (pipeline: string | undefined) => OutcomeLog
  /** undefined: nothing is traced. */
  readonly tracer: Tracer | undefined
  /** When the requests first came, in milliseconds since 1970; undefined: they come now. */
  readonly firstCameAtMs?: number | undefined
  /** See `RequestInfo.isInjected`. */
  readonly isInjected?: boolean | undefined
}

/**
 * Delay of a refusal by the in-flight budget: many senders repost as soon as they are answered, ignoring Retry-After,
 * and each refused body costs its reading, see docs/decisions/overload.md.
 */
const REFUSED_AFTER_MS = 1000

/** A pipeline's requests are looked at this often for a proxy that is not trusted, and so long after one with its header. */
const [LOOK_MS, FOUND_MS] = [20, 1000]

/** Answers the requests for one path. Each is counted and logged once. */
export class PipelineEndpoint implements SenderLimits {
  readonly route: Route
  readonly #deps: EndpointDeps
  readonly #shape: Shape
  readonly #outcomes: OutcomeLog
  readonly #unverified: UnverifiedRequests | undefined
  #arrivals: Arrivals | undefined
  /** When a request is to be looked at for X-Forwarded-For again. */
  #nextLookMs = Number.NEGATIVE_INFINITY

  constructor(route: Route, deps: EndpointDeps) {
    const { handler, pipeline } = route
    this.route = route
    this.#deps = deps
    this.#shape = shapeOf(route, deps)
    this.#outcomes = deps.outcomes(pipeline)
    this.#unverified = UnverifiedRequests.of(route)
    const { accepted, probe } = this.#shape
    this.#outcomes.begin(accepted.status, [...KNOWN_REFUSALS, ...handler.outcomes, probe])
  }

  /** Whether it answers for this route with these. */
  isOf(route: Route, deps: EndpointDeps): boolean {
    return this.route === route && this.#deps === deps
  }

  async answer(request: Request, server: Peer, target: RequestTarget): Promise<Response> {
    const { route } = this
    const { handler, contentTypes } = route
    const { budget, draining, tracer, bodyTimeoutMs, firstCameAtMs, isInjected } = this.#deps
    const info = new ReceivedRequest(request, server, target, route, firstCameAtMs, isInjected)
    if (tracer !== undefined) info.trace = traceRequest(tracer, info, route)
    const refusal = this.#unseen(request, info)
    if (refusal !== undefined) return this.#answer(info, refusal)

    // in flight from here on: a drain waits for it
    const reservation = budget.enter()
    let event: Event | undefined
    try {
      const admission = handler.admit === undefined ? undefined : await handler.admit(info)
      if (admission !== undefined) return this.#answerSender(info, reservation, admission)

      const { headers } = request
      if (request.method !== "POST") return this.#answerOtherMethod(info, reservation, request.method)
      const wrongType = contentTypes && typeRefusal(headers, contentTypes)
      if (wrongType !== undefined) return this.#answer(info, wrongType)
      const coding = headers.get("content-encoding")
      const decode = coding === null ? undefined : decoderFor(coding)
      if (decode === "unknown") return this.#answer(info, wrongCoding(coding!))
      info.isEncoded = decode !== undefined
      let limited = handler.verifiesSenders ? undefined : this.#limitRate()
      if (limited instanceof Promise) limited = await limited
      if (limited !== undefined) return this.#answer(info, limited)

      const unread = this.#unverified?.refuseUnread(info, budget)
      if (unread !== undefined) return this.#answer(info, unread)
      const receivedAtMs = firstCameAtMs ?? Date.now()
      // Bun's idle timeout closes without an answer and is imprecise: it must not fire before the body timeout
      const slowBodies = bodyTimeoutMs > (IDLE_TIMEOUT_S * 1000) / 2
      if (slowBodies) server.timeout(request, 0)
      let body = await readBody(request, reservation, this.#shape.bodyLimits)
      if (slowBodies) server.timeout(request, IDLE_TIMEOUT_S)
      let decoding: number | undefined
      if (decode !== undefined && typeof body !== "string") {
        decoding = body.length
        const late = this.#unverified?.refuseEncoded(info)
        if (late !== undefined) return this.#answer(info, late, body.length)
        body = decodeBody(body, decode, reservation, route.maxBodyBytes)
      }
      if (body === "in_flight_full") {
        reservation.reserve(0)
        await pause(Math.min(REFUSED_AFTER_MS, route.deliveryTimeoutMs / 2), draining)
      }
      if (typeof body === "string") {
        const limits = { budget, maxBytes: route.maxBodyBytes, decoding }
        return this.#answerSender(info, reservation, bodyRefusal(body, request, limits))
      }
      reservation.arrived()

      const { length } = body
      event = new Event(info, body, receivedAtMs, steadyMs())
      event.memory = reservation
      event.keepsReceivedBody = this.#outcomes.keepsReceivedBodies
      const outcome = await handler.handle(event, handler.verifiesSenders ? this : undefined)
      return this.#answerSender(info, reservation, outcome, length, event)
    } catch (error) {
      this.#outcomes.failed(error, info, event, steadyMs() - info.startedMs)
      return problem(REFUSALS.internal, draining.aborted, info.id)
    } finally {
      reservation.release()
    }
  }

  /** Answers a method other than POST that the handler leaves unanswered. */
  #answerOtherMethod(info: ReceivedRequest, reservation: Reservation, method: string): Response {
    const { probe, probes, wrongMethod } = this.#shape
    return probes.includes(method)
      ? this.#answerSender(info, reservation, probe)
      : this.#answer(info, wrongMethod)
  }

  /** The rate limit counts only verified events where the pipeline verifies senders. */
  whenVerified(info: ReceivedRequest): Rejected | undefined | Promise<Rejected | undefined> {
    this.#unverified?.verified(info)
    return this.#limitRate()
  }

  /** Refuses by the connection and the headers, before any work. */
  #unseen(request: Request, info: ReceivedRequest): Rejected | undefined {
    const { allows } = this.route
    const { methods, wrongMethod } = this.#shape
    if (request.method !== "POST" && !methods.includes(request.method)) return wrongMethod
    // several Host headers arrive as a list; proxies and servers may each pick another
    if (request.headers.get("host")?.includes(",")) return REFUSALS.duplicate_host
    if (this.#deps.draining.aborted) return REFUSALS.draining
    return (
      (allows === undefined ? undefined : this.#checkAddress(allows(info.remoteAddress))) ??
      this.#unverified?.refuse(info)
    )
  }

  /** @param isAllowed undefined: not known yet */
  #checkAddress(isAllowed: boolean | undefined): Rejected | undefined {
    if (isAllowed === true) return undefined
    return isAllowed === false
      ? REFUSALS.address_not_allowed
      : refused("addresses_unknown", this.route.problem?.())
  }

  // Hot path: a promise only where the limit asks Redis.
  #limitRate(): Rejected | undefined | Promise<Rejected | undefined> {
    const { rateLimit } = this.route
    if (rateLimit === undefined) return undefined
    this.#arrivals ??= new Arrivals()
    this.#arrivals.add()
    const waitS = rateLimit()
    return typeof waitS === "number" ? this.#overLimit(waitS) : waitS.then((it) => this.#overLimit(it))
  }

  #overLimit(waitS: number): Rejected | undefined {
    if (waitS <= 0) return undefined
    const came = `${this.#arrivals?.perSecond} events came within a second`
    return tooMany("rate_limited", waitS, `${came}; ${this.route.limits?.rate}`)
  }

  /** Counts, logs and answers; `bytes` is the length of the body read. */
  #answer(info: ReceivedRequest, outcome: Outcome, bytes?: number, event?: Event): Response {
    const { accepted } = this.#shape
    const isAccepted = outcome.kind === "accepted" || outcome.kind === "dropped"
    const nowMs = steadyMs()
    const ms = nowMs - info.startedMs
    if (nowMs >= this.#nextLookMs) this.#lookForProxy(info, nowMs)
    if (bytes !== undefined && info.isClosed) this.#outcomes.unanswered()
    this.#outcomes.answered(isAccepted ? accepted.status : outcome.status, outcome, info, bytes, event, ms)
    if (isAccepted) return new Response(accepted.body, accepted.init)
    if (outcome.kind === "answered") return reply(outcome)
    return problem(outcome, this.#deps.draining.aborted || outcome === REFUSALS.body_timeout, info.id)
  }

  #lookForProxy(info: ReceivedRequest, nowMs: number): void {
    if (info.firstCameAtMs !== undefined) return
    const isForwarded = info.headers.has("x-forwarded-for")
    this.#nextLookMs = nowMs + (isForwarded ? FOUND_MS : LOOK_MS)
    if (!isForwarded) return
    const peer = info.untrustedPeer
    if (peer !== undefined) this.#outcomes.untrustedProxy(peer, info)
  }

  /** The same, counting an unverified sender. A fault on this side does not count against it. */
  #answerSender(
    info: ReceivedRequest,
    { mostBytes }: Reservation,
    outcome: Outcome,
    bytes?: number,
    event?: Event,
  ): Response {
    const isSendersFault =
      (outcome.kind === "rejected" || outcome.kind === "answered") && outcome.status < 500
    const counts = isSendersFault && info.isVerified !== true && this.#unverified !== undefined
    const answered = counts ? this.#unverified.unverified(info, outcome, mostBytes) : outcome
    return this.#answer(info, answered, bytes, event)
  }
}

/**
 * The handlers of routes that share a listener.
 *
 * @param before the listener's endpoints, of which those with the same route are kept
 * @throws HooklineError `config` when they conflict
 */
export function* requestHandlers(
  routes: readonly Route[],
  deps: EndpointDeps,
  before?: RequestHandlers["endpoints"],
): Steps<RequestHandlers> {
  const endpoints: RequestHandlers["endpoints"] = new PathTable()
  for (const route of routes) {
    yield
    const first = routes[0]!
    if (route.tls !== first.tls && !Bun.deepEquals(route.tls, first.tls))
      throw new HooklineError(
        "config",
        `pipelines ${first.pipeline} and ${route.pipeline} share ${formatEndpoint(route)}, but not their TLS settings`,
      )
    const kept = before?.get(route.path)
    const endpoint =
      kept instanceof PipelineEndpoint && kept.isOf(route, deps) ? kept : new PipelineEndpoint(route, deps)
    if (!endpoints.add(route.path, endpoint))
      throw new HooklineError(
        "config",
        `several pipelines have the path of ${route.pipeline} on ${formatEndpoint(route)}`,
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
