// Hot path: every event passes here.
import type { Answered, Rejected, RequestInfo } from "../event.ts"
import { steadyMs } from "../steady-clock.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import { methodNotAllowed, problem, refusedFor, REFUSALS, reply } from "./answer.ts"
import type { BodyDeadlines } from "./body-deadlines.ts"
import { decodeBody, readBody } from "./body.ts"
import { decoderFor, type Decoder } from "./content-coding.ts"
import type { InFlight, Share } from "./in-flight.ts"
import type { Pacing } from "./pacing.ts"
import { ReceivedRequest } from "./received-request.ts"
import type { Route } from "./route.ts"
import type { Handler } from "./sent-paths.ts"

/** What all endpoints share. */
export interface EndpointDeps {
  readonly inFlight: InFlight
  readonly bodyTimeoutMs: number
  readonly bodyDeadlines: BodyDeadlines
  /** How long a kept-alive connection may be idle. */
  readonly idleTimeoutS: number
  readonly pacing: Pacing
  /** Whether nothing new is to be taken. */
  readonly draining: () => boolean
  readonly log: RequestLog
  readonly metrics: (pipelineId: string) => PipelineMetrics
}

/** For so long the answer of who is refused for want of room is kept back: what Retry-After asks for. */
const REFUSED_AFTER_MS = 1000

/** Answers the requests for one path. */
export type Endpoint = Handler

/** Makes what takes a route's requests: admits them, reads their bodies, hands the events on, answers. */
export function makeEndpoint(route: Route, deps: EndpointDeps): Endpoint {
  const { pipeline, maxBodyBytes, contentTypes, allows, admit, methods = [], handle } = route
  const { rateLimit, unverifiedLimit } = route
  const { inFlight, pacing, bodyTimeoutMs, bodyDeadlines, idleTimeoutS, draining, log } = deps
  const metrics = deps.metrics(pipeline)
  // Bun's own time for a connection, which ends it without an answer, is not to be the shorter one; it is not exact
  const slowBodies = bodyTimeoutMs > (idleTimeoutS * 1000) / 2
  const refusedAfterMs = Math.min(REFUSED_AFTER_MS, route.deliveryTimeoutMs / 2)
  const limits = { maxBytes: maxBodyBytes, deadlines: bodyDeadlines }
  const { status, init, body: responseBody } = prepareResponse(route.response)

  const wrongMethod = methodNotAllowed(methods)

  const refuse = (rejected: Rejected, request: RequestInfo, close = false): Response => {
    metrics.answered(rejected.status)
    metrics.ended("rejected", rejected.reason)
    logRefusal(log, pipeline, rejected, request)
    return problem(rejected, close)
  }

  /** For outcomes that the pipeline counted. */
  const tell = (outcome: Rejected | Answered): Response => {
    metrics.answered(outcome.status)
    return outcome.kind === "answered" ? reply(outcome) : problem(outcome, draining())
  }

  const fail = (error: unknown, { path }: RequestInfo): Response => {
    const { status, reason } = REFUSALS.internal
    log.write("error", { err: error, pipeline, reason, path }, "an event was not taken because of a fault")
    metrics.answered(status)
    metrics.ended("rejected", reason)
    return problem(REFUSALS.internal, false)
  }

  const take = async (
    request: Request,
    server: Bun.Server<undefined>,
    info: RequestInfo,
    decode: Decoder | undefined,
    judged: Share | undefined,
  ): Promise<Response> => {
    const receivedAtMs = Date.now()
    const share = inFlight.enter(judged)
    try {
      if (slowBodies) server.timeout(request, 0)
      let body = await readBody(request, share, limits)
      if (slowBodies) server.timeout(request, idleTimeoutS)
      if (typeof body !== "string" && decode !== undefined)
        body = decodeBody(body, decode, share, maxBodyBytes)
      if (body === "in_flight_full") {
        share.hold(0)
        await pacing.wait(refusedAfterMs)
      }
      if (typeof body === "string" && REFUSALS[body].status < 499)
        unverifiedLimit?.refused(info.remoteAddress)
      if (typeof body === "string") return refuse(REFUSALS[body], info, body === "body_timeout" || draining())
      share.arrive()
      const outcome = await handle({ body, receivedAtMs, arrivedMs: steadyMs(), request: info })
      if (outcome.kind === "rejected" || outcome.kind === "answered") return tell(outcome)
      metrics.answered(status)
      return new Response(responseBody, init)
    } catch (error) {
      return fail(error, info)
    } finally {
      share.release()
    }
  }

  /** What stands before the body is read, behind the route's own rules. */
  const read = (
    request: Request,
    server: Bun.Server<undefined>,
    info: RequestInfo,
    judged?: Share,
  ): Response | Promise<Response> => {
    if (request.method !== "POST") return refuse(wrongMethod, info)
    const { headers } = request
    if (contentTypes !== undefined && !contentTypes.includes(mediaType(headers.get("content-type")))) {
      return refuse(REFUSALS.content_type, info)
    }
    const decode = decoderFor(headers.get("content-encoding"))
    if (decode === "unknown") return refuse(REFUSALS.content_encoding, info)
    const waitS = rateLimit === undefined ? 0 : rateLimit.take()
    if (waitS > 0) return refuse(refusedFor(REFUSALS.rate_limited, waitS), info)
    return take(request, server, info, decode, judged)
  }

  /** Has the pipeline judge first. It counts as in flight meanwhile, so that a drain waits for it. */
  const judge = async (
    request: Request,
    server: Bun.Server<undefined>,
    info: RequestInfo,
  ): Promise<Response> => {
    const share = inFlight.enter()
    try {
      const admission = await admit!(info)
      // what reads the body has entered by the time that this share is released
      return admission === undefined ? read(request, server, info, share) : tell(admission)
    } catch (error) {
      return fail(error, info)
    } finally {
      share.release()
    }
  }

  return (request, server, target) => {
    const info = new ReceivedRequest(request, server, target, route)
    const { method } = request
    if (method !== "POST" && !methods.includes(method)) return refuse(wrongMethod, info)
    // several Host headers come as a list; proxies and servers may each go by another one
    if (request.headers.get("host")?.includes(",")) return refuse(REFUSALS.duplicate_host, info)
    if (draining()) return refuse(REFUSALS.draining, info, true)
    if (allows !== undefined && !allows(info.remoteAddress)) return refuse(REFUSALS.address_not_allowed, info)
    if (unverifiedLimit?.isWatching === true) {
      const waitS = unverifiedLimit.wait(info.remoteAddress)
      if (waitS > 0) return refuse(refusedFor(REFUSALS.unverified_rate_limited, waitS), info)
    }
    return admit === undefined ? read(request, server, info) : judge(request, server, info)
  }
}

/** Tells of a refusal. What the sender made up is left out, but for the path; a sender that left is nothing to report. */
export function logRefusal(
  log: RequestLog,
  pipeline: string | undefined,
  { status, reason }: Rejected,
  { method, path, remoteAddress }: RequestInfo,
): void {
  const level = reason === REFUSALS.client_closed.reason ? "debug" : "info"
  log.write(
    level,
    { pipeline, status, reason, method, path, remote_address: remoteAddress },
    "request refused",
  )
}

/** The answer for what is taken, as far as it can be made ahead. */
function prepareResponse({ status, body, contentType }: Route["response"]): {
  readonly status: number
  readonly body: string | null
  readonly init: ResponseInit
} {
  const headers = contentType === undefined ? undefined : { "Content-Type": contentType }
  return {
    status,
    body: body === "" ? null : body,
    init: headers === undefined ? { status } : { status, headers },
  }
}

/** The media type without its parameters, in lower case; empty when there is none. */
function mediaType(contentType: string | null): string {
  return (contentType ?? "").split(";", 1)[0]!.trim().toLowerCase()
}
