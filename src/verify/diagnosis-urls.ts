/**
 * The URLs that a provider may have been given for the one that a request came to: other schemes, hosts of proxies,
 * ports, slashes and queries.
 */
export function otherUrls(url: string, headers: Headers): readonly string[] {
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
  return [...new Set(spellings)].filter((it) => it !== url)
}
