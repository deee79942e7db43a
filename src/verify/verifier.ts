/**
 * Verification of webhooks: a `Verifier` is made once from settings (`makeVerifier` in presets/providers.ts) and verifies
 * each request; a `Signer` signs as the provider would.
 */

/** A webhook call as verifiers see it. */
export interface SignedRequest {
  readonly method: string
  /** Path of the request target, as sent, without the query. */
  readonly path: string
  /** Query of the request target, as sent, without the `?`; empty if none. */
  readonly query: string
  readonly headers: Headers
  /** The URL as the provider knows it, see http/public-url.ts. May be empty for verifiers without `signsUrl`. */
  readonly url: string
  /** As received, decompressed, unparsed. Empty for verifiers that need no body. */
  readonly body: Uint8Array
}

/** What the scheme covers of the request is authentic. */
export class Verified {
  readonly kind = "verified"
  /** The signed time, in milliseconds since 1970. */
  readonly timestampMs: number | undefined
  /** The signed id, to detect replays by. */
  readonly id: string | undefined
  /** The index of the matching secret or key. */
  readonly key: number
  /** Whether only form parameters are signed: the body must be read as a form. */
  readonly isForm: boolean

  constructor(timestampMs?: number, id?: string, key = 0, isForm = false) {
    this.timestampMs = timestampMs
    this.id = id
    this.key = key
    this.isForm = isForm
  }
}

/** Why a request was refused, in words; never sent to the sender. */
export const REASON_WORDS = {
  missing_header: "the signature, token, timestamp or id is missing or empty",
  malformed: "a header or member is malformed",
  stale: "the timestamp is older than the tolerance",
  future: "the timestamp is further ahead than the tolerance",
  no_match: "no secret or key matches",
  wrong_claim: "it was signed by or for someone else",
  // 400 rather than 401
  duplicate_member: "an object in the body has duplicate members, and consumers may read the other one",
  replayed: "its signed id was used before, with another body",
  // 503 rather than 401, so that the sender retries
  keys_unavailable: "fetching the provider's keys failed, so the signature could not be checked",
}

/** For logs and metrics. */
export type RefusedReason = keyof typeof REASON_WORDS
export const REFUSED_REASONS = /* @__PURE__ */ Object.keys(REASON_WORDS) as RefusedReason[]

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

export type VerificationResult = Verified | Refused

/** A result with its evidence, for `hookline verify`. Holds expected signatures: never log it. */
export interface Explanation {
  readonly result: VerificationResult
  /** The signed bytes; undefined if the scheme signs none or the request lacks a part. */
  readonly signed: Uint8Array | undefined
  /** The request's signatures or tokens. */
  readonly received: readonly string[]
  /** The signature by each secret, in order; empty for public keys. */
  readonly expected: readonly string[]
  /** The request's timestamp, in milliseconds since 1970. */
  readonly timestampMs: number | undefined
  /** Milliseconds that the time may be off, either way; 0: unchecked. */
  readonly toleranceMs: number
}

/** Verifies requests: synchronously, unless keys may have to be fetched. */
export interface Verifier {
  /** Whether it needs the body or headers only. */
  readonly needs: "headers" | "body"
  /** Whether it takes neither public-key work nor the network to refuse a request. */
  readonly isQuick: boolean
  /** Whether it reads `SignedRequest.url`. */
  readonly signsUrl: boolean
  /** Milliseconds that a signed time may be off, either way; 0: unchecked. */
  readonly toleranceMs: number
  /** Never throws for any request. */
  verify(request: SignedRequest, nowMs: number): VerificationResult | Promise<VerificationResult>
  /** The same result with its evidence. */
  explain(request: SignedRequest, nowMs: number): Explanation | Promise<Explanation>
}

/** A request to sign. `url` is absolute. */
export interface UnsignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** Used by schemes that sign an id. */
  readonly id: string
}

/** A request as the provider would send it. */
export type Sendable = Pick<UnsignedRequest, "method" | "url" | "headers" | "body">

/** Signs as the provider would. Asymmetric schemes have the private key (PEM, PKCS #8) as their secret. */
export interface Signer {
  sign(request: UnsignedRequest, nowMs: number): Sendable | Promise<Sendable>
}
