import { createPrivateKey } from "node:crypto"
import { SignJWT } from "jose"
import { pause, steadyMs } from "../clock/clock.ts"
import { doubled } from "../clock/backoff.ts"
import { HooklineError } from "../errors.ts"
import { tokenBucket, type RateLimit } from "../http/admission/rate-limit.ts"
import { fetchBounded } from "../outgoing/fetch-bounded.ts"
import { fetchFailure, proxiedFetch } from "../outgoing/proxied-fetch.ts"
import { textAt, valueAt, type Listing, type TemplateValues } from "./listing.ts"

const BOUNDS = { mostBytes: 4 * 1024 * 1024, timeoutMs: 30_000 }
const TRIES = 5
const PAUSES = { first: 1000, longest: 30_000 }
/** A longer Retry-After ends the pass; the next one begins where it was. */
const MOST_WAIT_MS = 15 * 60_000
/** `Date` has whole seconds, and a request takes a while. */
const SAME_CLOCK_MS = 2000
/** A token is renewed so long before it expires. */
const TOKEN_MARGIN_MS = 60_000

export interface SenderAccess {
  readonly credentials: string
  /** Base URL in place of the row's. */
  readonly api?: string | undefined
  readonly endpoint?: string | undefined
}

/** The endpoint as the sender has it. */
export interface EndpointState {
  readonly isActive: boolean
  readonly url: string | undefined
  readonly events: string | undefined
  readonly last: string | undefined
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
}

/**
 * A sender's API: asked within its limits, slowly, with bounds on time and size. Errors are HooklineError `unavailable`,
 * or `refused` where asking again would not help.
 */
export class SenderApi {
  readonly listing: Listing
  readonly #access: SenderAccess
  readonly #base: string
  readonly #signal: AbortSignal
  readonly #requests: RateLimit
  readonly #redeliveries: RateLimit
  readonly #pauses: typeof PAUSES
  #token: { readonly text: string; readonly untilMs: number } | undefined
  /** Between the sender's clock and this machine's, by the last answer. */
  #aheadMs = 0

  constructor(listing: Listing, access: SenderAccess, signal: AbortSignal, pauses = PAUSES) {
    this.listing = listing
    this.#access = access
    this.#base = (access.api ?? listing.api).replace(/\/$/, "")
    this.#signal = signal
    this.#pauses = pauses
    const { perHour, redeliver } = listing
    this.#requests = tokenBucket({ perSecond: perHour / 3600, burst: perHour / 6 })
    const perMinute = redeliver?.perMinute ?? 60
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
    const first = this.#url(filled(list.path, values), parameters(query, values))
    const { bytes, headers } = await this.#ask(isUrl && next !== undefined ? this.#checked(next) : first, {
      ...(list.body !== undefined && json("POST", { ...list.body(values), ...cursor })),
    })
    return { bytes, link: headers.get("link") }
  }

  /** Asks for another delivery. */
  async redeliver(delivery: string): Promise<void> {
    await this.#wait(this.#redeliveries)
    const path = filled(
      this.listing.redeliver!.path,
      this.#values({ delivery: encodeURIComponent(delivery) }),
    )
    await this.#ask(this.#url(path), { method: "POST" })
  }

  /** undefined: it can't be looked at. */
  async endpoint(): Promise<EndpointState | undefined> {
    const { look } = this.listing
    if (look === undefined || this.#lacksEndpoint(look.path)) return undefined
    const found = parsed(await this.#ask(this.#url(filled(look.path, this.#values({})))))
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
    if (look?.enable === undefined || this.#lacksEndpoint(look.path))
      throw new HooklineError("usage", `${title} has no request that enables an endpoint; use its page`)
    const { method, body, isForm } = look.enable
    const init = isForm
      ? { method, body: new URLSearchParams(body as { [name: string]: string }) }
      : json(method, body)
    await this.#ask(this.#url(filled(look.path, this.#values({}))), init)
  }

  #lacksEndpoint(path: string): boolean {
    return path.includes("{endpoint}") && this.#access.endpoint === undefined
  }

  #values(more: TemplateValues): TemplateValues {
    const { endpoint = "" } = this.#access
    return { endpoint, types: endpoint.replaceAll(/\s/g, ""), ...more }
  }

  #url(path: string, query: URLSearchParams = new URLSearchParams()): string {
    const text = query.toString()
    return this.#base + path + (text && `?${text}`)
  }

  /** A URL that an answer named gets the credentials: it must be the API's. */
  #checked(url: string): string {
    if (URL.canParse(url, this.#base) && new URL(url, this.#base).origin === new URL(this.#base).origin)
      return new URL(url, this.#base).href
    throw new HooklineError("refused", `${this.listing.title} names a next page at another host`)
  }

  async #ask(url: string, init: RequestInit = {}): Promise<Answer> {
    let why = ""
    for (let tried = 0; tried < TRIES; tried++) {
      await this.#wait(this.#requests)
      const answer = await this.#fetch(url, init)
      const { status = 0 } = typeof answer === "string" ? {} : answer
      if (typeof answer !== "string" && status < 300) return answer
      const waitMs = typeof answer === "string" ? undefined : retryAfterMs(answer, this.nowMs())
      why = typeof answer === "string" ? answer : describe(answer)
      if (status === 401) this.#token = undefined
      const mayPass = status === 0 || status >= 500 || waitMs !== undefined || (status === 401 && tried === 0)
      if (!mayPass) throw new HooklineError("refused", `${this.listing.title}'s API: ${why}`)
      if ((waitMs ?? 0) > MOST_WAIT_MS) break
      await pause(waitMs ?? doubled(this.#pauses, tried), this.#signal)
    }
    throw new HooklineError("unavailable", `${this.listing.title}'s API: ${why}`)
  }

  /** @returns text: why there is no answer */
  async #fetch(url: string, init: RequestInit): Promise<Answer | string> {
    try {
      const headers = { ...this.listing.headers, ...(await this.#authorization()), ...init.headers }
      const answer = await fetchBounded({ fetch: proxiedFetch }, url, {
        ...init,
        ...BOUNDS,
        headers,
        signal: this.#signal,
      })
      const aheadMs = Date.parse(answer.headers.get("date") ?? "") - Date.now()
      if (!Number.isNaN(aheadMs)) this.#aheadMs = Math.abs(aheadMs) > SAME_CLOCK_MS ? aheadMs : 0
      return answer
    } catch (error) {
      if (error instanceof HooklineError) throw error
      this.#signal.throwIfAborted()
      return fetchFailure(error)
    }
  }

  async #authorization(): Promise<{ readonly [name: string]: string }> {
    const { auth } = this.listing
    const { credentials } = this.#access
    if (auth.kind === "header") return { [auth.name]: credentials }
    if (auth.kind === "basic") return { Authorization: basic(`${credentials}:`) }
    if (auth.kind === "oauth") return { Authorization: `Bearer ${await this.#exchanged(auth.path)}` }
    const [, app, key] = /^([\w.]+):\s*(-----BEGIN [^]+)$/.exec(credentials) ?? []
    if (auth.kind === "bearer" || app === undefined) return { Authorization: `Bearer ${credentials}` }
    const nowS = Math.floor(this.nowMs() / 1000)
    // GitHub allows ten minutes, and for clocks that are ahead
    const jwt = new SignJWT({ iss: app, iat: nowS - 60, exp: nowS + 480 }).setProtectedHeader({
      alg: "RS256",
    })
    return { Authorization: `Bearer ${await jwt.sign(createPrivateKey(key!))}` }
  }

  async #exchanged(path: string): Promise<string> {
    if (this.#token !== undefined && steadyMs() < this.#token.untilMs) return this.#token.text
    const headers = {
      Authorization: basic(this.#access.credentials),
      "Content-Type": "application/x-www-form-urlencoded",
    }
    const body = "grant_type=client_credentials"
    const answer = await fetchBounded({ fetch: proxiedFetch }, this.#base + path, {
      ...BOUNDS,
      method: "POST",
      headers,
      body,
      signal: this.#signal,
    })
    // the request is made again
    if (answer.status === 429 || answer.status >= 500) throw new Error(`no token, HTTP ${answer.status}`)
    const text = textAt(parsed(answer), "/access_token")
    if (text === undefined)
      throw new HooklineError("refused", `${this.listing.title} gives no token: HTTP ${answer.status}`)
    const lifeMs = Number(textAt(parsed(answer), "/expires_in") ?? 0) * 1000
    this.#token = { text, untilMs: steadyMs() + lifeMs - TOKEN_MARGIN_MS }
    return text
  }

  async #wait(limit: RateLimit): Promise<void> {
    for (let waitS = limit(); waitS > 0; waitS = limit()) await pause(waitS * 1000, this.#signal)
    this.#signal.throwIfAborted()
  }
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`

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

function parsed({ bytes }: Answer): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

function describe(answer: Answer): string {
  const found = parsed(answer)
  const text = ["/message", "/error/message", "/error/detail", "/errors/0/detail"].map((it) =>
    textAt(found, it),
  )
  const said = text.find((it) => it !== undefined)?.slice(0, 200)
  return `HTTP ${answer.status}${said === undefined ? "" : `, ${said}`}`
}

/** How long a sender asks to be left alone, in milliseconds; undefined: it does not. */
function retryAfterMs({ status, headers }: Answer, nowMs: number): number | undefined {
  const after = headers.get("retry-after") ?? ""
  if (/^\d+$/.test(after)) return Number(after) * 1000
  if (after !== "" && !Number.isNaN(Date.parse(after))) return Math.max(0, Date.parse(after) - nowMs)
  // GitHub's primary limit: 403 without Retry-After
  const reset = Number(headers.get("x-ratelimit-reset") ?? Number.NaN)
  if (headers.get("x-ratelimit-remaining") === "0" && reset > 0)
    return Math.max(0, reset * 1000 - nowMs) + 1000
  return status === 429 ? 60_000 : undefined
}
