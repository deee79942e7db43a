import type { Trace } from "../telemetry/traces/trace.ts"

/** A webhook request without its body. */
export interface RequestInfo {
  /** In log lines about the request and in refusals: Hookline's own, or the one that a trusted proxy gave. */
  readonly id: string
  readonly method: string
  /** Path of the request target, as sent, without the query. */
  readonly path: string
  /** Query of the request target, as sent, without the `?`; empty if none. */
  readonly query: string
  /** The URL that the sender used, by configuration and trusted proxies, see http/public-url.ts. */
  readonly url: string
  readonly headers: Headers
  /**
   * The sender's address: the connection's, or from a trusted proxy's header. `unknown` if the proxy names none, or if
   * first read after the sender has disconnected.
   */
  readonly remoteAddress: string
  /** True after the last verifying step; with `tls_client_ca` for all steps. */
  isVerified?: boolean
  /** @internal The connection's own address; undefined: unknown. */
  readonly peerAddress?: string | undefined
  /** @internal When it first came, in milliseconds since 1970: of a captured request that runs again, verified by that time. */
  readonly firstCameAtMs?: number | undefined
  /** @internal Whether it is an event as its sender's API lists it, fetched by this program: not signed. */
  readonly isInjected?: boolean
  /** Set by a Verifier in mode observe on an unverified request, which may be forged. */
  failedVerification?: boolean
  /** @internal undefined: not traced. */
  readonly trace?: Trace | undefined
}
