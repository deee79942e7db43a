import { isIP } from "node:net"

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
