import type { SignedRequest } from "../verifier.ts"

/** A request to a URL, with the URL's parts as they are spelled; undefined: it is none of http or https. */
export function requestTo(
  url: string,
  {
    method = "POST",
    ...rest
  }: Pick<SignedRequest, "headers" | "body"> & { readonly method?: string | undefined },
): SignedRequest | undefined {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return undefined
  const [, path = "", query = ""] = /^[^/]*\/\/[^/?#]*([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  return { ...rest, method: method.toUpperCase(), url, path: path || "/", query }
}

/** The URL of a request whose first line has a path only. */
export const withHost = (url: string, headers: Headers): string =>
  url.startsWith("/") ? `http://${headers.get("Host") ?? "localhost"}${url}` : url
