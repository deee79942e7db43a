import { WrongSetting, textOf, type Outside, type VerifierSettings } from "./family.ts"
import { fetchBounded } from "./fetch-bounded.ts"
import { member, readJson } from "./json-body.ts"
import { Refused } from "./verifier.ts"

const BASES: { readonly [api: string]: string } = {
  live: "https://api-m.paypal.com",
  sandbox: "https://api-m.sandbox.paypal.com",
}
const BOUNDS = { mostBytes: 65_536, timeoutMs: 5000 }
/** Questions at once: who asks more than PayPal answers gets 503. */
const MOST_QUESTIONS = 32
/** A token is asked for anew so long before it runs out. */
const TOKEN_MARGIN_MS = 60_000

/** What of a delivery PayPal is asked about, as the headers spell it. */
export interface Transmission {
  readonly id: string
  readonly time: string
  readonly signature: string
  readonly certificate: string
  readonly algorithm: string
}

/**
 * PayPal's own verification of a webhook. Its credentials are exchanged for a token (OAuth 2.0, client credentials), which
 * is kept while it is good.
 *
 * @see https://docs.paypal.ai/reference/api/rest/verify-webhook-signature/verify-webhook-signature
 * @see https://developer.paypal.com/api/rest/authentication/
 */
export class PayPalApi {
  readonly #outside: Pick<Outside, "fetch">
  readonly #base: string
  readonly #credentials: string
  #token: { readonly text: string; readonly untilMs: number } | undefined
  #exchange: Promise<string> | undefined
  #questions = 0

  /** @throws WrongSetting */
  constructor(settings: VerifierSettings, outside: Pick<Outside, "fetch">) {
    this.#outside = outside
    this.#base = baseOf(settings.api ?? "live")
    const [id, secret] = [textOf(settings, "client_id"), textOf(settings, "client_secret")]
    this.#credentials = `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`
  }

  /**
   * Asks whether PayPal sent this event.
   *
   * @param event a valid JSON object without duplicate names: it is put into the question byte for byte
   * @returns why not, or that nobody knows now; undefined: it did
   */
  async verify(
    { id, time, signature, certificate, algorithm }: Transmission,
    webhookId: string,
    event: Uint8Array,
    nowMs: number,
  ): Promise<Refused | undefined> {
    if (this.#questions >= MOST_QUESTIONS) return unavailable("too many events are being asked about")
    this.#questions++
    try {
      const members = JSON.stringify({
        auth_algo: algorithm,
        cert_url: certificate,
        transmission_id: id,
        transmission_sig: signature,
        transmission_time: time,
        webhook_id: webhookId,
      })
      const question = Buffer.concat([
        Buffer.from(`${members.slice(0, -1)},"webhook_event":`),
        event,
        Buffer.from("}"),
      ])
      const status = member(await this.#ask(question, nowMs), "verification_status")
      if (status === "SUCCESS") return undefined
      if (status === "FAILURE")
        return new Refused("no_match", "PayPal's API says that it did not send this event")
      return unavailable("it answered without a verification_status")
    } catch (error) {
      return unavailable((error as Error).message)
    } finally {
      this.#questions--
    }
  }

  /** @throws Error */
  async #ask(question: Uint8Array, nowMs: number): Promise<unknown> {
    const path = "/v1/notifications/verify-webhook-signature"
    const ask = async (): Promise<readonly [status: number, answer: unknown]> =>
      this.#post(path, question, "application/json", `Bearer ${await this.#tokenAt(nowMs)}`)
    let [status, answer] = await ask()
    if (status === 401) {
      // withdrawn before its time; a new one tells whether the credentials are right
      this.#token = undefined
      ;[status, answer] = await ask()
    }
    if (status !== 200) throw new Error(`it answered ${status}`)
    return answer
  }

  /** The token, asked for once for all who wait. */
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
      throw new Error(`it gave no token, and answered ${status}; see client_id, client_secret and api`)
    const lifeS = Number(member(answer, "expires_in"))
    const lifeMs = Number.isFinite(lifeS) ? lifeS * 1000 - TOKEN_MARGIN_MS : 0
    this.#token = { text, untilMs: nowMs + lifeMs }
    return text
  }

  async #post(
    path: string,
    body: Uint8Array,
    type: string,
    authorization: string,
  ): Promise<readonly [status: number, answer: unknown]> {
    const headers = { "Content-Type": type, Accept: "application/json", Authorization: authorization }
    const { status, bytes } = await fetchBounded(this.#outside, this.#base + path, {
      ...BOUNDS,
      method: "POST",
      headers,
      body,
    })
    return [status, readJson(bytes)]
  }
}

const unavailable = (problem: string): Refused =>
  new Refused("keys_unavailable", `PayPal's API could not be asked: ${problem}`)

/** @throws WrongSetting */
function baseOf(api: string): string {
  if (Object.hasOwn(BASES, api)) return BASES[api]!
  const url = URL.canParse(api) ? new URL(api) : undefined
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url?.hostname ?? "")
  if (url?.protocol !== "https:" && !(url?.protocol === "http:" && isLocal))
    throw new WrongSetting("api", "is neither live nor sandbox nor a URL that begins with https://")
  return url.origin
}
