// Hot path: made for every event; what isn't asked for costs nothing.
import type { RequestInfo } from "../event.ts"
import { publicUrl } from "../verify/public-url.ts"
import { senderBehind, type Sender } from "./addresses.ts"
import type { Route } from "./route.ts"

/**
 * A request target's path and query, as the parser leaves them: dot segments are resolved, other than ASCII is escaped.
 * Pipelines see those alone whose path was sent so, see sent-paths.ts.
 */
export interface Target {
  readonly path: string
  readonly query: string
}

const SLASH = 47

/**
 * Takes a request's URL apart: `http://host/path?query`, or `/path?query` where the Host header is missing or is no
 * host's name.
 */
export function targetOf(url: string): Target {
  const start = url.charCodeAt(0) === SLASH ? 0 : url.indexOf("/", "https://".length)
  const mark = url.indexOf("?", start)
  return mark === -1
    ? { path: url.slice(start), query: "" }
    : { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

/** A request as the processors see it. */
export class ReceivedRequest implements RequestInfo {
  readonly path: string
  readonly query: string
  readonly #request: Request
  readonly #server: Bun.Server<undefined>
  readonly #route: Pick<Route, "trustsProxy" | "publicUrl" | "tls"> | undefined
  #remoteAddress: string | undefined

  constructor(
    request: Request,
    server: Bun.Server<undefined>,
    { path, query }: Target,
    route: Pick<Route, "trustsProxy" | "publicUrl" | "tls"> | undefined,
  ) {
    this.path = path
    this.query = query
    this.#request = request
    this.#server = server
    this.#route = route
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

  #findSender(): Sender {
    const peer = this.#server.requestIP(this.#request)?.address
    const trustsProxy = this.#route?.trustsProxy
    return peer === undefined || trustsProxy === undefined
      ? { address: peer ?? "unknown", proxies: 0 }
      : senderBehind(peer, this.headers.get("x-forwarded-for"), trustsProxy)
  }
}
