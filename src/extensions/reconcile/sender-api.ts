import { pause } from "../../clock/clock.ts"
import { doubled } from "../../clock/backoff.ts"
import { HooklineError } from "../../errors.ts"
import { tokenBucket } from "../../http/admission/rate-limit.ts"
import { readJson } from "../../json/read.ts"
import { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import { readRetryAfter, fetchFailure, isUnsent, proxiedFetch } from "../../outgoing/proxied-fetch.ts"
import { Authorization, type Answer } from "./sender-authorization.ts"
import { textAt, valueAt, type Listing, type TemplateValues } from "./listing.ts"

const BOUNDS = { mostBytes: 4 * 1024 * 1024, timeoutMs: 30_000 }
const TRIES = 5
const PAUSES = { first: 1000, longest: 30_000 }
/** A longer Retry-After ends the pass; the next one begins where it was. */
const MOST_WAIT_MS = 15 * 60_000
/** `Date` has whole seconds, and a request takes a while. */
const SAME_CLOCK_MS = 2000

export interface SenderAccess {
  readonly credentials: string
  /** Base URL in place of the row's. */
  readonly api?: string | undefined
  readonly endpoint?: string | undefined
  /** In place of the row's limits. */
  readonly requests_per_hour?: number | undefined
}

/** The API answered that asking again does not help. */
export class SenderRefusal extends HooklineError {
  readonly status: number

  constructor(status: number, message: string) {
    super("refused", message)
    this.status = status
  }
}

/** The API may have received the request, but did not answer it. */
export class LostAnswer extends HooklineError {}
/** Statuses of gateways that did not get the answer. */
const LOST = [502, 504]

/**
 * A sender's API: asked within its limits, slowly, with bounds on time and size. Errors are HooklineError `unavailable`,
 * or `refused` where asking again would not help.
 */
export class SenderApi {
  readonly listing: Listing
  readonly #access: SenderAccess
  readonly #base: string
  readonly #signal: AbortSignal
  readonly #requests: () => number
  readonly #redeliveries: () => number
  readonly #pauses: typeof PAUSES
  readonly #send: (url: string, init: RequestInit) => Promise<Answer>
  readonly #authorization: Authorization
  /** Between the sender's clock and this machine's, by the last answer. */
  #aheadMs = 0

  constructor(
    listing: Listing,
    access: SenderAccess,
    signal: AbortSignal,
    { pauses = PAUSES, fetch = proxiedFetch } = {},
  ) {
    this.listing = listing
    this.#access = access
    this.#base = (access.api ?? listing.api).replace(/\/$/, "")
    this.#signal = signal
    this.#send = (url, init) => fetchBounded({ fetch }, url, { ...init, ...BOUNDS, signal })
    this.#authorization = new Authorization(listing, access.credentials, (path, init) =>
      this.#send(this.#base + path, init),
    )
    this.#pauses = pauses
    const { requests_per_hour: perHour = listing.perHour } = access
    this.#requests = tokenBucket({ perSecond: perHour / 3600, burst: Math.max(1, perHour / 6) })
    const perMinute = access.requests_per_hour ? perHour / 60 : (listing.redeliver?.perMinute ?? 60)
    this.#redeliveries = tokenBucket({ perSecond: perMinute / 60, burst: Math.max(1, perMinute / 4) })
  }

  /** The sender's time of day, in milliseconds since 1970. */
  nowMs(): number {
    return Date.now() + this.#aheadMs
  }

  /** @param next as the page before has it; undefined: the first page */
  async page(fromMs: number, next: string | undefined): Promise<{ bytes: Uint8Array; link: string | null }> {
    const { list } = this.listing
    const values = this.#values({
      from: new Date(fromMs).toISOString(),
      from_s: String(Math.floor(fromMs / 1000)),
      to: new Date(this.nowMs()).toISOString(),
    })
    const isUrl = list.next.in === "link" || list.next.in === "url"
    const cursor = "as" in list.next && next !== undefined ? { [list.next.as]: next } : {}
    const query = list.body === undefined ? { ...list.query, ...cursor } : {}
    const first = this.#url(list.path, values, parameters(query, values))
    const { bytes, headers } = await this.#ask(isUrl && next !== undefined ? this.#checked(next) : first, {
      ...(list.body !== undefined && json("POST", { ...list.body(values), ...cursor })),
    })
    return { bytes, link: headers.get("link") }
  }

  /**
   * Requests another delivery.
   *
   * @returns why the sender does not deliver this one again; undefined: it does
   * @throws LostAnswer; HooklineError if it was not requested, for a reason that concerns all deliveries
   */
  async redeliver(delivery: string): Promise<string | undefined> {
    const { path, permission } = this.listing.redeliver!
    await this.#wait(this.#redeliveries)
    try {
      const url = this.#url(path, this.#values({ delivery: encodeURIComponent(delivery) }))
      await this.#ask(url, { method: "POST" }, true)
      return undefined
    } catch (error) {
      if (!(error instanceof SenderRefusal)) throw error
      const { status, message } = error
      if (status !== 401 && status !== 403) return message
      throw new SenderRefusal(status, `${message}; to deliver again, the credentials need ${permission}`)
    }
  }

  /** The endpoint as the sender has it; undefined: its API has no request for it. */
  async endpoint() {
    const { look } = this.listing
    if (look === undefined) return undefined
    const { bytes } = await this.#ask(this.#url(look.path))
    const found = readJson(bytes)
    const [at, value] = look.active
    const events = look.events === undefined ? undefined : valueAt(found, look.events)
    return {
      isActive: textAt(found, at) === value,
      url: textAt(found, look.url),
      events: Array.isArray(events) ? events.map(String).toSorted().join(", ") : undefined,
      last: look.last && textAt(found, look.last),
    }
  }

  /** @throws HooklineError `usage` where the API can't */
  async enable(): Promise<void> {
    const { look, title } = this.listing
    if (look?.enable === undefined)
      throw new HooklineError("usage", `${title} has no request that enables an endpoint; use its page`)
    await this.#ask(this.#url(look.path), json("PATCH", look.enable))
  }

  #values(more: TemplateValues = {}): TemplateValues {
    const { endpoint = "" } = this.#access
    return { endpoint, types: endpoint.replaceAll(/\s/g, ""), ...more }
  }

  #url(path: string, values = this.#values(), query = new URLSearchParams()): string {
    const text = query.toString()
    return this.#base + filled(path, values) + (text && `?${text}`)
  }

  /** A URL that an answer named gets the credentials: it must be the API's. */
  #checked(url: string): string {
    if (URL.canParse(url, this.#base) && new URL(url, this.#base).origin === new URL(this.#base).origin)
      return new URL(url, this.#base).href
    throw new HooklineError("refused", `${this.listing.title} names a next page at another host`)
  }

  /** @param isOnce the request is not repeated if it may have been received */
  async #ask(url: string, init: RequestInit = {}, isOnce = false): Promise<Answer> {
    let why = ""
    for (let tried = 0; tried < TRIES; tried++) {
      await this.#wait(this.#requests)
      const answer = await this.#fetch(url, init, isOnce)
      const { status = 0 } = typeof answer === "string" ? {} : answer
      if (typeof answer !== "string" && status < 300) return answer
      const waitMs = typeof answer === "string" ? undefined : retryAfterMs(answer, this.nowMs())
      why = typeof answer === "string" ? answer : describe(answer)
      if (isOnce && LOST.includes(status))
        throw new LostAnswer("unavailable", `${this.listing.title}'s API: ${why}`)
      if (status === 401) this.#authorization.refused()
      const mayPass = status === 0 || status >= 500 || waitMs !== undefined || (status === 401 && tried === 0)
      if (!mayPass) throw new SenderRefusal(status, `${this.listing.title}'s API: ${why}`)
      if ((waitMs ?? 0) > MOST_WAIT_MS) break
      await pause(waitMs ?? doubled(this.#pauses, tried), this.#signal)
    }
    throw new HooklineError("unavailable", `${this.listing.title}'s API: ${why}`)
  }

  /** @returns text: why there is no answer */
  async #fetch(url: string, init: RequestInit, isOnce: boolean): Promise<Answer | string> {
    let isSent = false
    try {
      const headers = {
        ...this.listing.headers,
        ...(await this.#authorization.headers(this.nowMs())),
        ...init.headers,
      }
      isSent = true
      const answer = await this.#send(url, { ...init, headers })
      const aheadMs = Date.parse(answer.headers.get("date") ?? "") - Date.now()
      if (!Number.isNaN(aheadMs)) this.#aheadMs = Math.abs(aheadMs) > SAME_CLOCK_MS ? aheadMs : 0
      return answer
    } catch (error) {
      if (error instanceof HooklineError) throw error
      this.#signal.throwIfAborted()
      const why = fetchFailure(error)
      if (isOnce && isSent && !isUnsent(error))
        throw new LostAnswer("unavailable", `${this.listing.title}'s API: ${why}`)
      return why
    }
  }

  async #wait(limit: () => number): Promise<void> {
    for (let waitS = limit(); waitS > 0; waitS = limit()) await pause(waitS * 1000, this.#signal)
    this.#signal.throwIfAborted()
  }
}

const filled = (template: string, values: TemplateValues): string =>
  template.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "")

/** Of a template that is `{types}` alone there is one for each type. */
const parameters = (templates: TemplateValues, values: TemplateValues): URLSearchParams =>
  new URLSearchParams(
    Object.entries(templates).flatMap(([name, template]) =>
      (template === "{types}" ? values["types"]!.split(",") : [filled(template, values)]).map(
        (it): [string, string] => [name, it],
      ),
    ),
  )

const json = (method: string, body: object): RequestInit => ({
  method,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
})

function describe(answer: Answer): string {
  const found = readJson(answer.bytes)
  const text = ["/message", "/error/message", "/error/detail", "/errors/0/detail"].map((it) =>
    textAt(found, it),
  )
  const said = text.find((it) => it !== undefined)?.slice(0, 200)
  return `HTTP ${answer.status}${said === undefined ? "" : `, ${said}`}`
}

/** How long a sender asks to be left alone, in milliseconds; undefined: it does not. */
function retryAfterMs(answer: Answer, nowMs: number): number | undefined {
  const { status, headers } = answer
  const askedMs = readRetryAfter(headers, Number.POSITIVE_INFINITY, nowMs)
  if (askedMs !== undefined) return askedMs
  // GitHub's primary limit: 403 without Retry-After
  const reset = Number(headers.get("x-ratelimit-reset") ?? Number.NaN)
  if (headers.get("x-ratelimit-remaining") === "0" && reset > 0)
    return Math.max(0, reset * 1000 - nowMs) + 1000
  // its secondary limits may have neither
  return status === 429 || (status === 403 && /rate limit/i.test(describe(answer))) ? 60_000 : undefined
}
