/*
 * URLs as they are printed: without user information, and without the values of their query, any of which may be secret. They
 * are taken as text, since a URL that a provider signs is never normalised.
 */

/** `https://example.com/in?…` */
export function toShownUrl(url: string | URL): string {
  const { scheme, rest, query } = partsOf(String(url))
  return scheme + rest + (query.length < 2 ? "" : "?…")
}

/** `https://…@example.com/in?a=…&…`: what is left out is marked, and parameters have their names, so that URLs can be told apart. */
export const toOutline = (url: string): string => maskedUrl(url, outlineOfQuery)

/** A URL whose user information is replaced by `…`, and its query by what `mask` makes of it. */
export function maskedUrl(url: string, mask: (query: string) => string): string {
  const { scheme, userinfo, rest, query, fragment } = partsOf(url)
  const shownQuery = query === "" ? "" : `?${mask(query.slice(1))}`
  return scheme + (userinfo === "" ? "" : "…@") + rest + shownQuery + fragment
}

export const outlineOfQuery = (query: string): string =>
  query.replace(/[^&]+/g, (parameter) => {
    const end = parameter.indexOf("=")
    return end < 0 ? "…" : `${parameter.slice(0, end)}=…`
  })

/** Everything from a part's first character up to the next part's; a query has its question mark. */
function partsOf(url: string) {
  const [, scheme = "", userinfo = "", rest = "", query = "", fragment = ""] =
    /^([a-z][a-z\d+.-]*:\/\/(?=[^/?#]))?([^/?#]*@)?([^?#]*)(\?[^#]*)?(#[^]*)?$/i.exec(url) ?? []
  return { scheme, userinfo, rest, query, fragment }
}
