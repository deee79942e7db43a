import { isIP } from "node:net"
import { secretTest } from "../verify/schemes/constant-time.ts"

export interface Access {
  /** The bearer token that callers must present; undefined: none. */
  readonly token?: string | undefined
  /** Accepted values of Host, in addition to `localhost`, IP addresses and the host that it listens on. */
  readonly hosts?: readonly string[] | undefined
}

/** Who is admitted. */
export interface AdminAccess {
  readonly token: string | undefined
  /** Whether a text is the token; without a token every text is. */
  isToken(text: string): boolean
  /** Whether a request presents the token, as `Authorization: Bearer`; without a token every request does. */
  hasToken(request: Request): boolean
  isOwnHost(request: Request): boolean
}

/** @param host that it listens on */
export function admissionBy({ token, hosts = [] }: Access, host: string): AdminAccess {
  const isHeader = token === undefined ? () => true : secretTest(`Bearer ${token}`)
  return {
    token,
    isToken: token === undefined ? () => true : secretTest(token),
    hasToken: ({ headers }) => isHeader(headers.get("authorization") ?? ""),
    isOwnHost: hostTest([host, ...hosts]),
  }
}

/**
 * Whether a request's Host is one that this listener answers to: protection against DNS rebinding, where a web page's own
 * name resolves to a loopback address, and its requests carry that name. IP addresses and `localhost` can't be rebound,
 * and browsers always send a Host.
 *
 * @param names further ones, without ports
 */
export function hostTest(names: readonly string[]): (request: Request) => boolean {
  const own = new Set(names.map((name) => name.toLowerCase()))
  return ({ headers }) => {
    const host = headers.get("host")
    if (host === null) return true
    const [, v6, name, port] = /^(?:\[([^\]]*)\]|([\w.-]*))(?::(\d*))?$/.exec(host) ?? []
    if (Number(port ?? 0) > 65_535) return false
    if (v6 !== undefined) return isIP(v6) === 6
    // a fully qualified name may end in a dot
    const bare = (name ?? "").toLowerCase().replace(/\.$/, "")
    return isIP(bare) === 4 || bare === "localhost" || bare.endsWith(".localhost") || own.has(bare)
  }
}
