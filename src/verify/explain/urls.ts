import type { SignedRequest } from "../verifier.ts"
import type { Candidate } from "./inquiry.ts"

/**
 * The URLs that may be registered with a provider for the one requested: other schemes, proxy hosts, ports, slashes and
 * queries.
 */
export function otherUrls(request: SignedRequest): readonly Candidate[] {
  const { url, headers } = request
  const [, host = "", path = "", query = ""] = /^https?:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/i.exec(url) ?? []
  const name = host.replace(/:\d+$/, "")
  const forwarded = headers.get("X-Forwarded-Host")?.split(",", 1)[0]?.trim()
  const hosts = [host, name, headers.get("Host"), forwarded].filter((it) => it !== undefined && it !== null)
  const bare = path.replace(/\/$/, "")
  const spellings = ["https", "http"].flatMap((scheme) =>
    [...hosts, `${name}:${scheme === "https" ? 443 : 80}`].flatMap((it) =>
      [path, bare, `${bare}/`].flatMap((path) =>
        [query, ""].map((query) => `${scheme}://${it}${path}${query}`),
      ),
    ),
  )
  const others = [...new Set(spellings)].filter((it) => it !== url)
  return others.map((other) => {
    // path and query as requested follow an origin by themselves
    const origin = other.endsWith(path + query) ? other.slice(0, other.length - (path + query).length) : other
    const mistake = { kind: "url_other", detail: other, options: { public_url: origin } } as const
    return { mistake, request: { ...request, url: other } }
  })
}
