import { createHash, timingSafeEqual } from "node:crypto"
import { isIP } from "node:net"

export interface Access {
  /** The bearer token that callers must present; undefined: none. */
  readonly token?: string | undefined
  /** Accepted values of Host, in addition to `localhost`, IP addresses and the host that it listens on. */
  readonly hosts?: readonly string[] | undefined
}

/** Whether a request presents the token, as `Authorization: Bearer`; without a token every request does. */
export type TokenTest = (request: Request) => boolean

/** Compares digests in constant time, so that timing reveals neither the token's length nor a prefix. */
export function tokenTest(token: string | undefined): TokenTest {
  const isToken = token === undefined ? undefined : sameAs(`Bearer ${token}`)
  return isToken === undefined ? () => true : (request) => isToken(request.headers.get("authorization") ?? "")
}

/** Whether a text is the secret one, in constant time. */
export function sameAs(secret: string): (text: string) => boolean {
  const digest = (value: string): Buffer => createHash("sha256").update(value).digest()
  const expected = digest(secret)
  return (text) => timingSafeEqual(digest(text), expected)
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
