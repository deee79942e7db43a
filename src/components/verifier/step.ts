// Hot path: every event of a verified pipeline passes here.
import { steadyMs, within } from "../../clock/clock.ts"
import { opening } from "../../errors.ts"
import type { Values } from "../../config/options/option-types.ts"
import type { Event, Processor, RequestInfo } from "../../pipeline/event.ts"
import { Dropped, Rejected, type Admission, type Ended } from "../../pipeline/outcome.ts"
import { unavailable } from "../../pipeline/unavailable.ts"
import { RequestLog } from "../../telemetry/request-log.ts"
import type { Span } from "../../telemetry/traces/trace.ts"
import { handshakeOf } from "../../verify/handshakes/handshakes.ts"
import { findFamily, makeVerifier, nameOf } from "../../verify/presets/providers.ts"
import { proxiedFetch } from "../../outgoing/proxied-fetch.ts"
import type { Fetcher } from "../../verify/fetch/fetcher.ts"
import {
  Refused,
  REFUSED_REASONS,
  type RefusedReason,
  type VerificationResult,
  type Verified,
} from "../../verify/verifier.ts"
import type { ComponentContext } from "../define-component.ts"
import type { VERIFIER_OPTIONS } from "./options.ts"
import { openSecretFile } from "./secret-file.ts"
import { assumedUrl } from "./assumed-url.ts"
import { ID_REFUSALS, rememberSignedIds, type IdUse } from "./signed-ids.ts"

const NO_BODY = new Uint8Array()

/**
 * The step that verifies requests and answers handshakes.
 *
 * @param dependencies the fetcher of keys, certificates and confirmations; the clock, in milliseconds since 1970
 * @throws HooklineError `config` for invalid settings
 */
export function verifierStep(
  values: Values<typeof VERIFIER_OPTIONS>,
  context: ComponentContext,
  { fetcher, now = Date.now }: { fetcher?: Fetcher; now?: () => number } = {},
): Processor {
  const { log, metrics, deliveryTimeoutMs } = context
  const { provider, mode } = values
  const name = nameOf(provider)
  const make = (secret = values.secret) => makeVerifier(provider, { ...values, secret }, fetcher)
  const { secret_file: file } = values
  const learning =
    file === undefined ? undefined : opening("secret_file", () => openSecretFile(file, log, make))
  const fixed = learning?.current() ?? make()
  const handshake = handshakeOf(name, {
    secrets: values.secret ?? [],
    verifyTokens: values.verify_token ?? [],
    confirms: values.confirm === "true",
    learn: (secret, { id }) => learning?.learn(secret, id) ?? false,
    fetch: fetcher?.fetch ?? proxiedFetch,
  })
  const covers = findFamily(provider)!.covers(values)
  const claimId = covers.id
    ? rememberSignedIds(name, { covers, toleranceMs: fixed.toleranceMs }, context, now)
    : undefined
  const challenge = { "WWW-Authenticate": challengeOf(values) }
  const observed = mode === "observe" ? observing(name, context) : undefined

  const refusalFor = (reason: RefusedReason, detail?: string): Rejected => {
    if (reason === "duplicate_member")
      return new Rejected(400, reason, "The body has a duplicate member name.", { logDetail: detail })
    if (reason === "keys_unavailable") return unavailable("unverified_keys_unavailable", detail)
    return new Rejected(401, `unverified_${reason}`, "The request could not be verified.", {
      logDetail: detail,
      headers: challenge,
      bodiless: handshake?.bodilessRefusal === true,
    })
  }
  for (const reason of REFUSED_REASONS) metrics.unverified(reason, mode, 0)
  const outcomes =
    mode === "observe"
      ? []
      : [
          ...REFUSED_REASONS.map((reason) => refusalFor(reason)),
          ...(claimId === undefined ? [] : [REPLAYED, ...ID_REFUSALS]),
        ]

  /** Refuses a request; in mode observe passes it, flagged. */
  const refuse = (refused: Refused, request: RequestInfo): Rejected | undefined => {
    const { reason } = refused
    const detail =
      fixed.signsUrl && reason === "no_match"
        ? `${refused.detail}; signed URL taken to be ${assumedUrl(request.url)}: if the provider has another, set public_url`
        : refused.detail
    metrics.unverified(reason, mode)
    if (observed !== undefined) {
      request.failedVerification = true
      const { id, method, path, remoteAddress } = request
      const where = { method, path, remote_address: remoteAddress, request_id: id }
      const line = { pipeline: undefined, reason, detail, ...where }
      observed.write("warn", line, "not verified; passes")
      return undefined
    }
    return refusalFor(reason, detail)
  }

  // fetches have the event's time, in mode observe half of it, so that the event can still be published
  const mostMs = mode === "observe" ? deliveryTimeoutMs / 2 : deliveryTimeoutMs
  const inTime = <T>(pending: Promise<T>, late: T, { arrivedMs }: Event): Promise<T> =>
    within(arrivedMs + mostMs - steadyMs(), pending, () => late)

  const verify = (
    request: RequestInfo,
    body: Uint8Array,
  ): VerificationResult | Promise<VerificationResult> => {
    const { method, path, query, headers, trace, firstCameAtMs } = request
    const verifier = learning?.current() ?? fixed
    const url = verifier.signsUrl ? request.url : ""
    const span = trace?.start("verify", "internal", { "hookline.provider": name })
    const result = verifier.verify({ method, path, query, headers, url, body }, firstCameAtMs ?? now())
    return span === undefined ? result : endSpan(span, result)
  }

  const pass = (event: Event, { id, key, isForm }: Passed): ReturnType<Processor> => {
    const answer = handshake?.verified?.(event, key)
    if (answer instanceof Promise) return inTime(answer, NOT_CONFIRMED, event).then((it) => it ?? event)
    if (answer !== undefined) return answer
    if (isForm) event.isForm = true
    if (id === undefined || claimId === undefined) return event
    const use = claimId(id, event)
    return use instanceof Promise ? use.then((it) => checkId(event, it)) : checkId(event, use)
  }
  const checkId = (event: Event, use: IdUse): Event | Ended => {
    if (use === "first") return event
    if (use === "refilled") return refuse(REFILLED, event.request) ?? event
    if (use === "repeated" && mode === "observe") return refuse(REPEATED, event.request) ?? event
    if (use === "repeated") {
      metrics.unverified("replayed", mode)
      return REPLAYED
    }
    return mode === "observe" ? event : use
  }
  const conclude = (event: Event, result: VerificationResult): ReturnType<Processor> =>
    result.kind === "refused" ? (refuse(result, event.request) ?? event) : pass(event, result)

  const process = (event: Event): ReturnType<Processor> => {
    const answer = handshake?.unsigned?.(event)
    if (answer !== undefined) return answer
    if (fixed.needs === "headers")
      return event.request.failedVerification === true ? event : pass(event, BY_HEADERS)
    const result = verify(event.request, event.body)
    return result instanceof Promise
      ? inTime(result, NOT_IN_TIME, event).then((it) => conclude(event, it))
      : conclude(event, result)
  }

  const admit = async (request: RequestInfo): Promise<Admission> => {
    const answer = handshake?.byHeaders?.(request)
    if (answer !== undefined || request.method !== "POST" || fixed.needs === "body") return answer
    const result = await verify(request, NO_BODY)
    return result.kind === "verified" ? undefined : refuse(result, request)
  }

  return Object.assign(process, {
    admit: fixed.needs === "headers" || handshake?.byHeaders !== undefined ? admit : undefined,
    methods: handshake?.methods ?? [],
    response: handshake?.response,
    outcomes,
  })
}

function endSpan(
  span: Span,
  result: VerificationResult | Promise<VerificationResult>,
): VerificationResult | Promise<VerificationResult> {
  if (result instanceof Promise)
    return result
      .then((it) => endSpan(span, it))
      .catch((error: unknown) => {
        span.end({}, "internal")
        throw error
      })
  span.end({ "hookline.reason": result.kind === "refused" ? result.reason : undefined })
  return result
}

/** What verification found in a request. */
type Passed = Pick<Verified, "id" | "key" | "isForm">

const BY_HEADERS: Passed = { id: undefined, key: 0, isForm: false }
const NOT_IN_TIME = new Refused("keys_unavailable", "verification exceeded delivery_timeout")
const NOT_CONFIRMED = unavailable("sns_not_confirmed", "confirmation exceeded delivery_timeout")
const REPEATED = new Refused("replayed", "an event with this signed id was accepted before")
const REPLAYED = new Dropped("replayed", REPEATED.detail)
const REFILLED = new Refused("replayed", "its signed id was used before, with another body")

/** The log of mode observe, rate-limited as refusals are. */
function observing(provider: string, { log, acquire }: ComponentContext): RequestLog {
  log.warn({ provider }, "VERIFICATION IS ONLY OBSERVED: unverified events are published; set mode = enforce")
  return acquire({
    name: "log of what is observed",
    config: undefined,
    open: () => new RequestLog(log),
    close: (it) => it.flush(),
  })
}

/** RFC 9110 requires a challenge in a 401. `Signature` is not registered, but senders know their scheme. */
function challengeOf({ provider, username, jwks_url }: Values<typeof VERIFIER_OPTIONS>): string {
  if (username !== undefined) return 'Basic realm="webhooks", charset="UTF-8"'
  const isBearer = jwks_url !== undefined || ["jwt", "gcp-pubsub", "alertmanager"].includes(nameOf(provider))
  return `${isBearer ? "Bearer" : "Signature"} realm="webhooks"`
}
