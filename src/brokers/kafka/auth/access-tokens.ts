import { Backoff } from "../../../clock/backoff.ts"
import { steadyMs } from "../../../clock/clock.ts"
import type { CredentialTelemetry } from "./credential-telemetry.ts"
import { TOKEN_RENEWED_AT, TOKEN_RETRY_MS, UNAUTHORIZED_RETRY_MS } from "../timeouts.ts"

/** What brokers are shown instead of a password. */
export interface AccessToken {
  readonly value: string
  /** How long it is valid, from the moment at which it was asked for. */
  readonly lifetimeMs: number
}

/** Where tokens come from. */
export interface TokenIssuer {
  /** `token endpoint https://idp.example/token` */
  readonly name: string
  /** Rejects with a TokenFailure. */
  readonly issue: () => Promise<AccessToken>
}

/** No token was issued. The message has the issuer and its reason, without secrets. */
export class TokenFailure extends Error {}

/** A broker rejected the token. */
export class TokenRejected extends Error {}

/**
 * The access token of all connections to a cluster. Nothing is asked for before the first of them is opened.
 *
 *   none  -- get -->  asking  -->  current  -- TOKEN_RENEWED_AT of its lifetime -->  asking, still current
 *                        |                                                               |
 *                        +-- failed: the next attempt is after a pause, which doubles <--+
 *
 * Only one request is under way at a time. While a token is current a failure is logged, and costs nothing else; without one,
 * `get` fails at once until the pause is over.
 */
export class AccessTokens {
  readonly issuer: TokenIssuer
  readonly #telemetry: CredentialTelemetry | undefined
  #current: (AccessToken & { readonly askedMs: number }) | undefined
  #asking: Promise<void> | undefined
  #failure: { readonly error: unknown; readonly logged: string | undefined } | undefined
  readonly #pauses = new Backoff(TOKEN_RETRY_MS)
  #next: Timer | undefined
  #closed = false

  constructor(issuer: TokenIssuer, telemetry: CredentialTelemetry | undefined) {
    this.issuer = issuer
    this.#telemetry = telemetry
  }

  /** A token that has not expired. @throws TokenFailure */
  async get(): Promise<AccessToken> {
    if (this.#leftMs <= 0 && (this.#failure === undefined || this.#asking !== undefined)) await this.#ask()
    if (this.#leftMs > 0) return { value: this.#current!.value, lifetimeMs: this.#leftMs }
    throw (
      this.#failure?.error ?? new TokenFailure(`${this.issuer.name}: the token expired before it was used`)
    )
  }

  /** A broker rejected the token; the next one is asked for, unless this one is from just now. */
  rejected(value: string): void {
    const current = this.#current
    if (current?.value !== value) return
    if (steadyMs() - current.askedMs > UNAUTHORIZED_RETRY_MS) this.#current = undefined
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#next)
  }

  get #leftMs(): number {
    const current = this.#current
    return current === undefined ? 0 : current.askedMs + current.lifetimeMs - steadyMs()
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#request().finally(() => (this.#asking = undefined))
    return this.#asking
  }

  /** Never rejects. */
  async #request(): Promise<void> {
    const askedMs = steadyMs()
    let pauseMs
    try {
      const token = await this.issuer.issue()
      this.#current = { ...token, askedMs }
      if (this.#failure?.logged !== undefined) this.#telemetry?.log.info(this.#issued, "access token renewed")
      this.#failure = undefined
      this.#pauses.reset()
      const leftMs = askedMs + token.lifetimeMs * TOKEN_RENEWED_AT - steadyMs()
      pauseMs = Math.min(Math.max(leftMs, TOKEN_RETRY_MS.first), DAY_MS)
    } catch (error) {
      this.#failure = { error, logged: this.#logOnce((error as Error).message) }
      pauseMs = this.#pauses.failed()
    }
    clearTimeout(this.#next)
    if (!this.#closed) this.#next = setTimeout(() => void this.#ask(), pauseMs)
  }

  /** Without a token the connections' failures are logged, with the same reason. */
  #logOnce(reason: string): string | undefined {
    const leftMs = this.#leftMs
    if (leftMs <= 0 || this.#failure?.logged === reason) return this.#failure?.logged
    const expires_in_s = Math.floor(leftMs / 1000)
    this.#telemetry?.log.warn({ reason, expires_in_s }, "access token not renewed; retrying")
    this.#telemetry?.metrics.incident("access_token_not_renewed")
    return reason
  }

  get #issued() {
    return { issuer: this.issuer.name, expires_in_s: Math.floor(this.#leftMs / 1000) }
  }
}

/** Timers can't wait for a month. */
const DAY_MS = 86_400_000
