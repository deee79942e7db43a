import { createPrivateKey } from "node:crypto"
import { steadyMs } from "../../clock/clock.ts"
import { HooklineError } from "../../errors.ts"
import { readJson } from "../../json/read.ts"
import type { fetchBounded } from "../../outgoing/fetch-bounded.ts"
import { textAt, type Listing } from "./listing.ts"

/** How long before its expiry a token is renewed. */
const MARGIN_MS = 60_000

export type Answer = Awaited<ReturnType<typeof fetchBounded>>

/** Headers that authorize requests to a sender's API, by the credentials of the configuration. */
export class Authorization {
  readonly #listing: Listing
  readonly #credentials: string
  readonly #fetch: (path: string, init: RequestInit) => Promise<Answer>
  #token: { readonly text: string; readonly untilMs: number } | undefined

  constructor(
    listing: Listing,
    credentials: string,
    fetch: (path: string, init: RequestInit) => Promise<Answer>,
  ) {
    this.#listing = listing
    this.#credentials = credentials
    this.#fetch = fetch
  }

  /** @param nowMs by the sender's clock, in milliseconds since 1970 @throws HooklineError `refused`; Error: there is none now */
  async headers(nowMs: number): Promise<{ readonly [name: string]: string }> {
    const { auth } = this.#listing
    const credentials = this.#credentials
    if (auth.kind === "header") return { [auth.name]: credentials }
    if (auth.kind === "basic") return { Authorization: basic(`${credentials}:`) }
    if (auth.kind === "oauth") return { Authorization: `Bearer ${await this.#exchanged(auth.path)}` }
    const [, app, key] = /^([\w.]+):\s*(-----BEGIN [^]+)$/.exec(credentials) ?? []
    if (app === undefined) return { Authorization: `Bearer ${credentials}` }
    const nowS = Math.floor(nowMs / 1000)
    const { SignJWT } = await import("jose")
    // GitHub allows ten minutes, and for clocks that are ahead
    const jwt = new SignJWT({ iss: app, iat: nowS - 60, exp: nowS + 480 }).setProtectedHeader({
      alg: "RS256",
    })
    return { Authorization: `Bearer ${await jwt.sign(createPrivateKey(key!))}` }
  }

  /** To be called when a request was answered 401: the token is exchanged again. */
  refused(): void {
    this.#token = undefined
  }

  async #exchanged(path: string): Promise<string> {
    if (this.#token !== undefined && steadyMs() < this.#token.untilMs) return this.#token.text
    const headers = {
      Authorization: basic(this.#credentials),
      "Content-Type": "application/x-www-form-urlencoded",
    }
    const body = "grant_type=client_credentials"
    const answer = await this.#fetch(path, { method: "POST", headers, body })
    // the request is made again
    if (answer.status === 429 || answer.status >= 500) throw new Error(`no token, HTTP ${answer.status}`)
    const found = readJson(answer.bytes)
    const text = textAt(found, "/access_token")
    if (text === undefined)
      throw new HooklineError("refused", `${this.#listing.title} gives no token: HTTP ${answer.status}`)
    const lifeMs = Number(textAt(found, "/expires_in") ?? 0) * 1000
    this.#token = { text, untilMs: steadyMs() + lifeMs - MARGIN_MS }
    return text
  }
}

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`
