import { Buffer } from "node:buffer"
import { WrongSetting, textOf, type VerifierSettings } from "./family.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import { fetchFailure } from "../../outgoing/proxied-fetch.ts"
import { member } from "./json-body.ts"
import { readJson } from "../../json/read.ts"
import { Refused } from "../verifier.ts"

const BASES: { readonly [api: string]: string } = {
  live: "https://api-m.paypal.com",
  sandbox: "https://api-m.sandbox.paypal.com",
}
const BOUNDS = { mostBytes: 65_536, timeoutMs: 5000 }
/** Concurrent requests; beyond them events get 503. */
const MOST_REQUESTS = 32
/** A token is renewed so long before it expires. */
const TOKEN_MARGIN_MS = 60_000

/** The headers of a delivery. */
export interface Transmission {
  readonly id: string
  readonly time: string
  readonly signature: string
  readonly certificate: string
  readonly algorithm: string
}

/**
 * PayPal's API for verifying webhooks, with a cached access token (OAuth 2.0, client credentials).
 *
 * @see https://docs.paypal.ai/reference/api/rest/verify-webhook-signature/verify-webhook-signature
 * @see https://developer.paypal.com/api/rest/authentication/
 */
export class PayPalApi {
  readonly #fetcher: Pick<Fetcher, "fetch">
  readonly #base: string
  readonly #credentials: string
  #token: { readonly text: string; readonly untilMs: number } | undefined
  #exchange: Promise<string> | undefined
  #requests = 0

  /** @throws WrongSetting */
  constructor(settings: VerifierSettings, fetcher: Pick<Fetcher, "fetch">) {
    this.#fetcher = fetcher
    this.#base = baseOf(settings.api ?? "live")
    const [id, secret] = [textOf(settings, "client_id"), textOf(settings, "client_secret")]
    this.#credentials = `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`
  }

  /**
   * Verifies that PayPal sent an event.
   *
   * @param event a valid JSON object without duplicate names, embedded in the request byte for byte
   * @returns undefined if it did
   */
  async verify(
    { id, time, signature, certificate, algorithm }: Transmission,
    webhookId: string,
    event: Uint8Array,
    nowMs: number,
  ): Promise<Refused | undefined> {
    if (this.#requests >= MOST_REQUESTS) return unavailable("too many requests in progress")
    this.#requests++
    try {
      const members = JSON.stringify({
        auth_algo: algorithm,
        cert_url: certificate,
        transmission_id: id,
        transmission_sig: signature,
        transmission_time: time,
        webhook_id: webhookId,
      })
      const request = Buffer.concat([
        Buffer.from(`${members.slice(0, -1)},"webhook_event":`),
        event,
        Buffer.from("}"),
      ])
      const status = member(await this.#postVerification(request, nowMs), "verification_status")
      if (status === "SUCCESS") return undefined
      if (status === "FAILURE") return new Refused("no_match", "PayPal's API did not verify the event")
      return unavailable("response without verification_status")
    } catch (error) {
      return unavailable(fetchFailure(error))
    } finally {
      this.#requests--
    }
  }

  /** @throws Error */
  async #postVerification(request: Uint8Array<ArrayBuffer>, nowMs: number): Promise<unknown> {
    const path = "/v1/notifications/verify-webhook-signature"
    const post = async (): Promise<readonly [status: number, answer: unknown]> =>
      this.#post(path, request, "application/json", `Bearer ${await this.#tokenAt(nowMs)}`)
    let [status, answer] = await post()
    if (status === 401) {
      // revoked early; a new one shows whether the credentials are valid
      this.#token = undefined
      ;[status, answer] = await post()
    }
    if (status !== 200) throw new Error(`HTTP ${status}`)
    return answer
  }

  /** The token; concurrent callers share one exchange. */
  #tokenAt(nowMs: number): string | Promise<string> {
    if (this.#token !== undefined && nowMs < this.#token.untilMs) return this.#token.text
    return (this.#exchange ??= this.#exchangeAt(nowMs).finally(() => (this.#exchange = undefined)))
  }

  async #exchangeAt(nowMs: number): Promise<string> {
    const form = Buffer.from("grant_type=client_credentials")
    const type = "application/x-www-form-urlencoded"
    const [status, answer] = await this.#post("/v1/oauth2/token", form, type, this.#credentials)
    const text = member(answer, "access_token")
    if (status !== 200 || typeof text !== "string")
      throw new Error(`no access token (HTTP ${status}); check client_id, client_secret and api`)
    const lifeS = Number(member(answer, "expires_in"))
    const lifeMs = Number.isFinite(lifeS) ? lifeS * 1000 - TOKEN_MARGIN_MS : 0
    this.#token = { text, untilMs: nowMs + lifeMs }
    return text
  }

  async #post(
    path: string,
    body: Uint8Array<ArrayBuffer>,
    type: string,
    authorization: string,
  ): Promise<readonly [status: number, answer: unknown]> {
    const headers = { "Content-Type": type, Accept: "application/json", Authorization: authorization }
    const { status, bytes } = await fetchBounded(this.#fetcher, this.#base + path, {
      ...BOUNDS,
      method: "POST",
      headers,
      body,
    })
    return [status, readJson(bytes)]
  }
}

const unavailable = (problem: string): Refused =>
  new Refused("keys_unavailable", `PayPal's API is unavailable: ${problem}`)

/** @throws WrongSetting */
function baseOf(api: string): string {
  if (Object.hasOwn(BASES, api)) return BASES[api]!
  const url = URL.canParse(api) ? new URL(api) : undefined
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url?.hostname ?? "")
  if (url?.protocol !== "https:" && !(url?.protocol === "http:" && isLocal))
    throw new WrongSetting("api", "is not live, sandbox or an https:// URL")
  return url.origin
}
