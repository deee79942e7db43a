// Hot path: every event of a verified pipeline passes here.
import { steadyMs, within } from "../../clock/clock.ts"
import { opening } from "../../errors.ts"
import type { Values } from "../../config/options/option-types.ts"
import type { Event, Processor, RequestInfo } from "../../pipeline/event.ts"
import { Dropped, Rejected, type Admission, type Ended } from "../../pipeline/outcome.ts"
import type { QuickCheck } from "../../pipeline/quick-check.ts"
import { unavailable } from "../../pipeline/service-unavailable.ts"
import type { PipelineMetrics } from "../../telemetry/metrics.ts"
import { RequestLog } from "../../telemetry/request-log.ts"
import type { Span } from "../../telemetry/traces/trace.ts"
import {
  challengeSigner,
  type Fetcher,
  findFamily,
  type Handshake,
  handshakeOf,
  makeVerifier,
  mayBeSigned,
  nameOf,
  Refused,
  REFUSED_REASONS,
  type RefusedReason,
  type VerificationResult,
  type Verified,
  type Verifier,
} from "../../verify/verification.ts"
import { toOutline } from "../../outgoing/shown-url.ts"
import { proxiedFetch } from "../../outgoing/proxied-fetch.ts"
import type { ComponentContext } from "../define-component.ts"
import type { VERIFIER_OPTIONS } from "./options.ts"
import { openSecretFile } from "./secret-file.ts"
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
  dependencies: StepDependencies = {},
): Processor {
  const { process, admit, handshake, outcomes, quickCheck } = new VerifierStep(values, context, dependencies)
  return Object.assign(process, {
    admit,
    methods: handshake?.methods ?? [],
    response: handshake?.response,
    outcomes,
    quickCheck,
  })
}

interface StepDependencies {
  readonly fetcher?: Fetcher
  readonly now?: () => number
}

class VerifierStep {
  readonly handshake: Handshake | undefined
  /** Judges a request by its headers; undefined: nothing can be said before its body. */
  readonly admit: Processor["admit"]
  /** What it may end events with. */
  readonly outcomes: readonly Ended[]
  readonly quickCheck: QuickCheck | undefined
  readonly #name: string
  readonly #observes: boolean
  readonly #metrics: PipelineMetrics
  readonly #now: () => number
  readonly #mostMs: number
  readonly #learning: ReturnType<typeof openSecretFile> | undefined
  readonly #fixed: Verifier
  /** Whether requests are verified before their body is read. */
  readonly #isByHeaders: boolean
  readonly #refusals: Refusals
  readonly #claimId: ReturnType<typeof rememberSignedIds> | undefined

  constructor(
    values: Values<typeof VERIFIER_OPTIONS>,
    context: ComponentContext,
    { fetcher, now = Date.now }: StepDependencies,
  ) {
    const { metrics, deliveryTimeoutMs } = context
    const { provider, secret_file: file, mode } = values
    const name = nameOf(provider)
    const make = (secret = values.secret) => makeVerifier(provider, { ...values, secret }, fetcher)
    this.#learning =
      file === undefined
        ? undefined
        : opening("secret_file", () =>
            openSecretFile({ path: file, count: values.secret_count }, context.log, make),
          )
    const fixed = (this.#fixed = this.#learning?.current() ?? make())
    this.handshake = handshakeOf(name, {
      sign: challengeSigner(provider, values.secret),
      verifyTokens: values.verify_token ?? [],
      confirms: values.confirm === "true",
      learn: (secret, { id }) => this.#learning?.learn(secret, id) ?? false,
      fetch: fetcher?.fetch ?? proxiedFetch,
    })
    const covers = findFamily(provider)!.covers(values)
    if (covers.id)
      this.#claimId = rememberSignedIds(name, { covers, toleranceMs: fixed.toleranceMs }, context)
    this.#name = name
    this.#observes = mode === "observe"
    this.#metrics = metrics
    this.#now = now
    // fetches have the event's time, in mode observe half of it, so that the event can still be published
    this.#mostMs = this.#observes ? deliveryTimeoutMs / 2 : deliveryTimeoutMs
    this.#refusals = new Refusals(values, context, fixed.signsUrl, this.handshake?.bodilessRefusal === true)
    this.#isByHeaders = fixed.needs === "headers" && this.handshake?.unsigned === undefined
    if (fixed.isQuick)
      this.quickCheck = { needsBody: !this.#isByHeaders, isSigned: (headers) => mayBeSigned(covers, headers) }
    const isAdmitting = this.#isByHeaders || this.handshake?.byHeaders !== undefined
    this.admit = isAdmitting ? (request) => this.#admit(request) : undefined
    const ofIds = this.#claimId === undefined ? [] : [REPLAYED, ...ID_REFUSALS]
    this.outcomes = this.#observes ? [] : [...this.#refusals.all(), ...ofIds]
  }

  readonly process = (event: Event): ReturnType<Processor> => {
    if (event.request.isInjected === true) return injected(event)
    const answer = this.handshake?.unsigned?.(event)
    if (answer !== undefined) return answer
    if (this.#isByHeaders)
      return event.request.failedVerification === true ? event : this.#pass(event, BY_HEADERS)
    const result = this.#verify(event.request, event.body)
    return result instanceof Promise
      ? this.#inTime(result, NOT_IN_TIME, event).then((it) => this.#conclude(event, it))
      : this.#conclude(event, result)
  }

  async #admit(request: RequestInfo): Promise<Admission> {
    if (request.isInjected === true) return undefined
    const answer = this.handshake?.byHeaders?.(request)
    if (answer !== undefined || request.method !== "POST" || !this.#isByHeaders) return answer
    const result = await this.#verify(request, NO_BODY)
    return result.kind === "verified" ? undefined : this.#refusals.refuse(result, request)
  }

  #verify(request: RequestInfo, body: Uint8Array): VerificationResult | Promise<VerificationResult> {
    const { method, path, query, headers, trace, firstCameAtMs } = request
    const verifier = this.#learning?.current() ?? this.#fixed
    const url = verifier.signsUrl ? request.url : ""
    const span = trace?.start("verify", "internal", { "hookline.provider": this.#name })
    const result = verifier.verify({ method, path, query, headers, url, body }, firstCameAtMs ?? this.#now())
    return span === undefined ? result : endSpan(span, result)
  }

  #conclude(event: Event, result: VerificationResult): ReturnType<Processor> {
    if (result.kind === "refused") return this.#refusals.refuse(result, event.request) ?? event
    return this.#pass(event, result)
  }

  #pass(event: Event, { id, key, isForm }: FoundInRequest): ReturnType<Processor> {
    const answer = this.handshake?.verified?.(event, key)
    if (answer instanceof Promise) return this.#inTime(answer, NOT_CONFIRMED, event).then((it) => it ?? event)
    if (answer !== undefined) return answer
    if (isForm) event.isForm = true
    if (id === undefined || this.#claimId === undefined) return event
    const use = this.#claimId(id, event)
    return use instanceof Promise ? use.then((it) => this.#checkId(event, it)) : this.#checkId(event, use)
  }

  #checkId(event: Event, use: IdUse): Event | Ended {
    if (use === "first") return event
    if (use === "refilled") return this.#refusals.refuse(REFILLED, event.request) ?? event
    if (use === "repeated" && this.#observes) return this.#refusals.refuse(REPEATED, event.request) ?? event
    if (use === "repeated") {
      this.#metrics.unverified("replayed", "enforce")
      return REPLAYED
    }
    return this.#observes ? event : use
  }

  #inTime<T>(pending: Promise<T>, late: T, { arrivedMs }: Event): Promise<T> {
    return within(arrivedMs + this.#mostMs - steadyMs(), pending, () => late)
  }
}

/** Refuses requests; in mode observe counts and logs them, and has them pass. */
class Refusals {
  readonly #mode: Values<typeof VERIFIER_OPTIONS>["mode"]
  readonly #metrics: PipelineMetrics
  readonly #log: RequestLog | undefined
  readonly #challenge: { readonly "WWW-Authenticate": string }
  readonly #signsUrl: boolean
  readonly #bodiless: boolean

  constructor(
    values: Values<typeof VERIFIER_OPTIONS>,
    context: ComponentContext,
    signsUrl: boolean,
    bodiless: boolean,
  ) {
    this.#mode = values.mode
    this.#metrics = context.metrics
    this.#log = values.mode === "observe" ? observing(nameOf(values.provider), context) : undefined
    this.#challenge = { "WWW-Authenticate": challengeOf(values) }
    this.#signsUrl = signsUrl
    this.#bodiless = bodiless
    for (const reason of REFUSED_REASONS) this.#metrics.unverified(reason, this.#mode, 0)
  }

  /** Each of them; those of pipelines with the same challenge are the same. */
  all(): readonly Rejected[] {
    return ALL.getOrInsertComputed(`${this.#challenge["WWW-Authenticate"]} ${this.#bodiless}`, () =>
      REFUSED_REASONS.map((reason) => this.#refusal(reason)),
    )
  }

  /** @returns undefined: in mode observe it passes, flagged */
  refuse({ reason, detail: why }: Refused, request: RequestInfo): Rejected | undefined {
    const detail =
      this.#signsUrl && reason === "no_match"
        ? `${why}; signed URL taken to be ${assumedUrl(request.url)}: if the provider has another, set public_url`
        : why
    this.#metrics.unverified(reason, this.#mode)
    if (this.#log === undefined) return this.#refusal(reason, detail)
    request.failedVerification = true
    const { id, method, path, remoteAddress } = request
    const where = { method, path, remote_address: remoteAddress, request_id: id }
    this.#log.warn({ pipeline: undefined, reason, detail, ...where }, "not verified; passes")
    return undefined
  }

  #refusal(reason: RefusedReason, detail?: string): Rejected {
    if (reason === "duplicate_member")
      return new Rejected(400, reason, "The body has a duplicate member name.", { logDetail: detail })
    if (reason === "keys_unavailable") return unavailable("unverified_keys_unavailable", detail)
    return new Rejected(401, `unverified_${reason}`, "The request could not be verified.", {
      logDetail: detail,
      headers: this.#challenge,
      bodiless: this.#bodiless,
    })
  }
}

const ALL = new Map<string, readonly Rejected[]>()

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

/** Marks an event that is published as its sender's API lists it. */
function injected(event: Event): Event {
  event.recordHeaders ??= new Map()
  event.recordHeaders.set("hookline-injected", Buffer.from("true"))
  return event
}

/** What verification found in a request. */
type FoundInRequest = Pick<Verified, "id" | "key" | "isForm">

const BY_HEADERS: FoundInRequest = { id: undefined, key: 0, isForm: false }
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

/** The URL of a request for the log: what a scheme that signs it took for signed. */
export function assumedUrl(url: string): string {
  const shown = toOutline(url)
  return shown.length > MOST_URL_CHARACTERS ? `${shown.slice(0, MOST_URL_CHARACTERS)}…` : shown
}

const MOST_URL_CHARACTERS = 500
