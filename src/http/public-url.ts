import { headerText } from "../headers.ts"
import type { RequestInfo } from "../pipeline/event.ts"

export interface PublicUrl {
  /** `https://hooks.example.com` */
  readonly origin: string
  /** undefined: the request's own path */
  readonly path: string | undefined
  /** undefined: the request's own query */
  readonly query: string | undefined
}

/** Parses `public_url`: an http(s) origin, and optionally a path or query that replaces the request's. */
export function parsePublicUrl(text: string): PublicUrl | undefined {
  const match = /^(https?:\/\/[^/?#\s]+)(\/[^?#\s]*)?(?:\?([^#\s]*))?$/i.exec(text)
  if (match === null || !URL.canParse(text)) return undefined
  const [, origin = "", path, query] = match
  return { origin, path: path === "/" ? undefined : path, query }
}

/**
 * The URL that the provider sent a request to, for schemes that sign it; never normalised.
 *
 * @param configured the option `public_url`
 * @param proxies trusted proxies passed; X-Forwarded-Proto and -Host count only with some
 */
export function publicUrl(
  { configured, isTls, proxies }: { configured: PublicUrl | undefined; isTls: boolean; proxies: number },
  request: Pick<RequestInfo, "path" | "query" | "headers">,
): string {
  const path = configured?.path ?? request.path
  const query = configured?.query ?? request.query
  return (configured?.origin ?? originOf()) + path + (query === "" ? "" : `?${query}`)

  function originOf(): string {
    const { headers } = request
    // each trusted proxy appends a value; earlier ones are the sender's
    const forwarded = (name: string): string | undefined => {
      const values = proxies === 0 ? [] : (headers.get(name) ?? "").split(",").map((value) => value.trim())
      return headerText(values[Math.max(0, values.length - proxies)] ?? "") || undefined
    }
    const scheme = forwarded("X-Forwarded-Proto")?.toLowerCase() ?? (isTls ? "https" : "http")
    return `${scheme}://${forwarded("X-Forwarded-Host") ?? headerText(headers.get("Host") ?? "")}`
  }
}
