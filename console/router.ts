import { signal } from "@preact/signals"

/** What the location's hash says: `#/events/kafka/payments/0/42?where=…`. */
export interface PageRoute {
  /** The view's id; empty: the first view. */
  readonly view: string
  /** What follows the view, decoded: `["kafka", "payments", "0", "42"]`. */
  readonly path: readonly string[]
  readonly query: { readonly [name: string]: string }
}

export const route = signal<PageRoute>({ view: "", path: [], query: {} })

export function parseRoute(hash: string): PageRoute {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2)
  const [view = "", ...rest] = path.split("/").map(decode)
  return {
    view,
    path: rest.filter((it) => it !== ""),
    query: Object.fromEntries(new URLSearchParams(query)),
  }
}

/** The link to a view; parts of the query that are empty or undefined are left out. */
export function hrefOf(
  view: string,
  path: readonly (string | number)[] = [],
  query: { readonly [name: string]: string | undefined } = {},
): string {
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== "")
  const search = new URLSearchParams(asked as [string, string][]).toString()
  return `#/${[view, ...path].map(encodeURIComponent).join("/")}${search && `?${search}`}`
}

/** Goes to a link of this page. `replace`: without an entry in the history, as a filter that is typed. */
export function navigate(href: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, "", href)
  else history.pushState(null, "", href)
  route.value = parseRoute(location.hash)
}

export function listenToLocation(): void {
  const read = (): void => {
    route.value = parseRoute(location.hash)
  }
  addEventListener("popstate", read)
  read()
}

/** A link that was cut or typed may have a stray `%`. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
