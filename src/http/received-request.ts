// Hot path: made for every event; members that are not read cost nothing.
import { steadyMs } from "../clock/clock.ts"
import type { RequestInfo } from "../pipeline/event.ts"
import type { Rejected } from "../pipeline/outcome.ts"
import type { Trace } from "../telemetry/traces/trace.ts"
import { publicUrl } from "./public-url.ts"
import { senderBehind, type Sender } from "../addresses/addresses.ts"
import { newRequestId, proxyRequestId } from "./request-id.ts"
import type { Route } from "./route.ts"
import type { Peer } from "./peer.ts"
import type { RequestTarget } from "./routes.ts"

/** How to identify a sender; undefined: the request is for no pipeline. */
type Origin = Pick<Route, "trustsProxy" | "publicUrl" | "tls"> | undefined

/** A request as processors see it. */
export class ReceivedRequest implements RequestInfo {
  readonly path: string
  readonly query: string
  /** When its header section had arrived, by the steady clock. */
  readonly startedMs = steadyMs()
  isVerified = false
  failedVerification = false
  /** Whether its body is compressed. */
  isEncoded = false
  /** What it is answered unless it is verified: its sender has sent too many that were not. */
  overLimit: Rejected | undefined
  readonly firstCameAtMs: number | undefined
  readonly isInjected: boolean
  trace: Trace | undefined
  readonly #request: Request
  readonly #server: Peer
  readonly #route: Origin
  #id: string | undefined
  #remoteAddress: string | undefined

  /** @param firstCameAtMs undefined: it comes now */
  constructor(
    request: Request,
    server: Peer,
    { path, query }: RequestTarget,
    route: Origin,
    firstCameAtMs?: number | undefined,
    isInjected = false,
  ) {
    this.path = path
    this.query = query
    this.#request = request
    this.#server = server
    this.#route = route
    this.firstCameAtMs = firstCameAtMs
    this.isInjected = isInjected
  }

  get id(): string {
    return (this.#id ??= this.#proxyId() ?? newRequestId())
  }

  get method(): string {
    return this.#request.method
  }

  get headers(): Headers {
    return this.#request.headers
  }

  get url(): string {
    const { publicUrl: configured, tls } = this.#route ?? {}
    return publicUrl({ configured, isTls: tls !== undefined, proxies: this.#findSender().proxies }, this)
  }

  get remoteAddress(): string {
    return (this.#remoteAddress ??= this.#findSender().address)
  }

  get peerAddress(): string | undefined {
    return this.#server.requestIP(this.#request)?.address
  }

  /** The connection's address where it is not a trusted proxy's; undefined: it is, or is unknown. */
  get untrustedPeer(): string | undefined {
    const peer = this.peerAddress
    return peer !== undefined && this.#route?.trustsProxy?.(peer) !== true ? peer : undefined
  }

  /** Whether its connection was closed, or its sending side: Bun sends no answer then. */
  get isClosed(): boolean {
    return this.#request.signal.aborted
  }

  /** Taken from a trusted proxy only: a sender could choose the id of another's request. */
  #proxyId(): string | undefined {
    const trustsProxy = this.#route?.trustsProxy
    const peer = trustsProxy && this.peerAddress
    return peer !== undefined && trustsProxy!(peer) ? proxyRequestId(this.headers) : undefined
  }

  #findSender(): Sender {
    const peer = this.peerAddress
    const trustsProxy = this.#route?.trustsProxy
    return peer === undefined || trustsProxy === undefined
      ? { address: peer ?? "unknown", proxies: 0 }
      : senderBehind(peer, this.headers.get("x-forwarded-for"), trustsProxy)
  }
}
