import type { RequestInfo } from "../event.ts"

/** What tells where the sender believes to have sent a request. */
export interface PublicUrlSource {
  /** The option `public_url`, as `parsePublicUrl` read it. */
  readonly configured: PublicUrl | undefined
  /** Whether the connection came in by TLS. */
  readonly isTls: boolean
  /** How many trusted proxies it came through: only then do X-Forwarded-Proto and -Host count. */
  readonly proxies: number
}

export interface PublicUrl {
  /** `https://hooks.example.com` */
  readonly origin: string
  /** undefined: the request's own path */
  readonly path: string | undefined
  /** undefined: the request's own query */
  readonly query: string | undefined
}

/**
 * Reads `public_url`: an origin alone stands before the request's own path and query; a path with it, or a query, is
 * taken in place of the request's.
 *
 * @returns undefined when it is no absolute http or https URL without a fragment
 */
export function parsePublicUrl(text: string): PublicUrl | undefined {
  const match = /^(https?:\/\/[^/?#\s]+)(\/[^?#\s]*)?(?:\?([^#\s]*))?$/i.exec(text)
  if (match === null || !URL.canParse(text)) return undefined
  const [, origin = "", path, query] = match
  return { origin, path: path === "/" ? undefined : path, query }
}

/**
 * The URL that the provider sent a request to, for schemes that sign it. Byte for byte: what the sender wrote is never
 * normalised.
 */
export function publicUrl(
  { configured, isTls, proxies }: PublicUrlSource,
  request: Pick<RequestInfo, "path" | "query" | "headers">,
): string {
  const path = configured?.path ?? request.path
  const query = configured?.query ?? request.query
  return (configured?.origin ?? originOf()) + path + (query === "" ? "" : `?${query}`)

  function originOf(): string {
    const { headers } = request
    // each proxy adds what it was sent itself; what stands before the outermost one's was written by the sender
    const forwarded = (name: string): string | undefined => {
      const values = proxies === 0 ? [] : (headers.get(name) ?? "").split(",").map((value) => value.trim())
      return values[Math.max(0, values.length - proxies)] || undefined
    }
    const scheme = forwarded("X-Forwarded-Proto")?.toLowerCase() ?? (isTls ? "https" : "http")
    return `${scheme}://${forwarded("X-Forwarded-Host") ?? headers.get("Host") ?? ""}`
  }
}
