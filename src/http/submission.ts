import type { Peer } from "./peer.ts"
import type { RequestTarget } from "./routes.ts"

/** A request that this program itself makes, or makes again. */
export interface Submission extends RequestTarget {
  readonly method: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Decompressed. */
  readonly body: Uint8Array
  /** The connection's address; undefined: unknown. */
  readonly peerAddress?: string | undefined
  /** When it first came, in milliseconds since 1970; undefined: it comes now. */
  readonly firstCameAtMs?: number | undefined
  /** Whether it is this program's own, which comes from no address that must be allowed. */
  readonly isOwn: boolean
  /** Whether it is an event as its sender's API lists it, which is not signed. */
  readonly isInjected?: boolean
}

/** The headers of the connection, and of a body that is decompressed and whole here. */
export const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

/** A submission as an endpoint takes it. */
export function toRequest({ method, path, query, headers, body, peerAddress }: Submission): {
  readonly request: Request
  readonly peer: Peer
} {
  const url = `http://localhost${path}${query === "" ? "" : `?${query}`}`
  const kept = headers.filter(([name]) => !OF_THE_CONNECTION.has(name.toLowerCase()))
  const hasBody = method !== "GET" && method !== "HEAD"
  const request = new Request(url, {
    method,
    headers: kept.map(([name, value]): [string, string] => [name, value]),
    ...(hasBody && { body: new Uint8Array(body) }),
  })
  const peer = {
    requestIP: () => (peerAddress === undefined ? null : { address: peerAddress }),
    timeout() {},
  }
  return { request, peer }
}
