import { isIP } from "node:net"

/**
 * Whether a request names a host that this listener may be called by. A web page whose own name is made to lead to a
 * loopback address (DNS rebinding) reads what is served there as its own; its requests then carry that name. Addresses can't
 * be rebound, `localhost` is nobody else's, and requests without a Host come from no browser.
 *
 * @param names others, without ports
 */
export function hostTest(names: readonly string[]): (request: Request) => boolean {
  const own = new Set(names.map((name) => name.toLowerCase()))
  return ({ headers }) => {
    const host = headers.get("host")
    if (host === null) return true
    const [, v6, name] = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d*)?$/.exec(host) ?? []
    if (v6 !== undefined) return isIP(v6) === 6
    // a name may have the dot that ends a full one
    const bare = (name ?? "").toLowerCase().replace(/\.$/, "")
    return isIP(bare) === 4 || bare === "localhost" || bare.endsWith(".localhost") || own.has(bare)
  }
}
