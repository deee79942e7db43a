import type { Event, RequestInfo } from "../../pipeline/event.ts"
import type { Answered, Rejected } from "../../pipeline/outcome.ts"

/** An answer; undefined: the request is no handshake. */
export type HandshakeAnswer = Answered | Rejected | undefined

export interface Handshake {
  readonly methods?: readonly string[]
  /** Answers unsigned requests before the body is read. */
  readonly byHeaders?: (request: RequestInfo) => HandshakeAnswer
  /** Answers unsigned requests by the body. */
  readonly unsigned?: (event: Event) => HandshakeAnswer
  /** Answers verified requests; `secret` is the index of the matching one. */
  readonly verified?: (event: Event, secret: number) => HandshakeAnswer | Promise<HandshakeAnswer>
  /** The response to accepted events. */
  readonly response?: { readonly body: string; readonly contentType: string }
  /** Whether a 401 must have no body. */
  readonly bodilessRefusal?: boolean
}

export interface HandshakeContext {
  /** Signs a challenge by the secret of this index, default: the first. Only for schemes with `signsChallenges`. */
  readonly sign: (challenge: string, encoding: "hex" | "base64", secret?: number) => string
  readonly verifyTokens: readonly string[]
  /** Whether to fetch confirmation URLs. */
  readonly confirms: boolean
  /** Stores a secret issued by the provider in this request; false if one is already known. */
  readonly learn: (secret: string, request: Pick<RequestInfo, "id">) => boolean
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
}
