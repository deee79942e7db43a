import type { RequestInfo } from "../event.ts"

/**
 * What verification of webhooks offers to the rest: a `Verifier` is made once from options (`makeVerifier` in
 * providers.ts), then judges each request; a `Signer` does what the provider would.
 */

/** A webhook call as verifiers see it. */
export interface SignedRequest extends Pick<RequestInfo, "method" | "path" | "query" | "headers"> {
  /**
   * The URL that the provider sent the request to, see public-url.ts. Read only by verifiers with `signsUrl`; may be
   * empty for others.
   */
  readonly url: string
  /** As received, after decompression, before anything parsed it. Empty where the verifier needs no body. */
  readonly body: Uint8Array
}

/** The request is from the provider, as far as its scheme tells. */
export class Verified {
  readonly kind = "verified"
  /** What the scheme signed as the time of the request, in milliseconds since 1970. */
  readonly timestampMs: number | undefined
  /** What the scheme signed as the request's id; to be remembered, so that a replay is told. */
  readonly id: string | undefined
  /** Which of the secrets or keys matched, from 0. */
  readonly key: number
  /** Whether only a form's parameters were signed, so that the body must not be read as anything but a form. */
  readonly isForm: boolean

  constructor(timestampMs?: number, id?: string, key = 0, isForm = false) {
    this.timestampMs = timestampMs
    this.id = id
    this.key = key
    this.isForm = isForm
  }
}

/** Why a request was refused: the word that stands in logs and metrics. The sender hears none of them. */
export type RefusedReason =
  /** what carries the signature, the token, the timestamp or the id is not there or empty */
  | "missing_header"
  /** it is there and has not the scheme's form, is there twice, or has a version that is not known */
  | "malformed"
  /** the signed time is longer ago than the tolerance */
  | "stale"
  /** the signed time is further ahead than the tolerance */
  | "future"
  /** no secret or key gives this signature */
  | "no_match"
  /** it is signed, but by or for somebody else: issuer, audience, account, topic */
  | "wrong_claim"
  /** an object of the body has two members of one name, so that it is not sure what was signed: 400 rather than 401 */
  | "duplicate_member"
  /** the signed id was used before, with another body: the signature does not cover the body */
  | "replayed"
  /** the provider's keys can't be fetched now: the sender should try again, so 503 rather than 401 */
  | "keys_unavailable"

export class Refused {
  readonly kind = "refused"
  readonly reason: RefusedReason
  /** For the log: `timestamp 412 s old`. Holds no secret and no expected signature. */
  readonly detail: string

  constructor(reason: RefusedReason, detail: string) {
    this.reason = reason
    this.detail = detail
  }
}

export type Verdict = Verified | Refused

/** A verdict with all that leads to it, for `hookline verify`. Holds expected signatures: never to be logged. */
export interface Explanation {
  readonly verdict: Verdict
  /** The bytes that the scheme signs; undefined where it signs none or the request lacks a part. */
  readonly signed: Uint8Array | undefined
  /** What was presented, as the request spells it: signatures or tokens. */
  readonly received: readonly string[]
  /** What each secret would give, in their order; empty where only the provider's private key could tell. */
  readonly expected: readonly string[]
  /** What the request says of its own time; undefined where it says nothing. Milliseconds since 1970. */
  readonly timestampMs: number | undefined
  /** Milliseconds that the time may be off, both ways; 0: any, or the scheme has none. */
  readonly toleranceMs: number
}

/** Judges requests. Where the scheme allows, at once; JWKS and certificates have to be waited for the first time. */
export interface Verifier {
  /** Whether it can judge before the body is read. */
  readonly needs: "headers" | "body"
  /** Whether it reads `SignedRequest.url`. */
  readonly signsUrl: boolean
  /** Milliseconds that a signed time may be off, both ways; 0: any, or the scheme has none. */
  readonly toleranceMs: number
  /** Never throws for what a sender can write. */
  verify(request: SignedRequest, nowMs: number): Verdict | Promise<Verdict>
  /** The same verdict by the same parts, with what they saw. */
  explain(request: SignedRequest, nowMs: number): Explanation | Promise<Explanation>
}

/** A request that is to be signed. `url` is absolute. */
export interface UnsignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** For schemes that sign an id. */
  readonly id: string
}

/** A request as the provider would send it. */
export type Sendable = Pick<UnsignedRequest, "method" | "url" | "headers" | "body">

/** Signs as the provider would. Asymmetric schemes take the private key (PEM, PKCS #8) as their secret. */
export interface Signer {
  sign(request: UnsignedRequest, nowMs: number): Sendable | Promise<Sendable>
}
