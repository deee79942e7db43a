// Hot path: every request passes here.
import { pathKey } from "../addresses/endpoint.ts"
import type { Peer } from "./peer.ts"

export type Endpoint = (request: Request, server: Peer, target: RequestTarget) => Response | Promise<Response>

/**
 * A request target's path and query as the parser leaves them: dot segments resolved, non-ASCII escaped. Pipelines get
 * only paths that were sent in this form, see routesFor.
 */
export interface RequestTarget {
  readonly path: string
  readonly query: string
}

/** Splits a request's URL: `http://host/path?query`, or `/path?query` if the Host header is missing or invalid. */
export function targetOf(url: string): RequestTarget {
  const start = url.charCodeAt(0) === SLASH ? 0 : url.indexOf("/", "https://".length)
  const mark = url.indexOf("?", start)
  return mark === -1
    ? { path: url.slice(start), query: "" }
    : { path: url.slice(start, mark), query: url.slice(mark + 1) }
}

const SLASH = 47

/** Exact paths, and prefixes such as `/a/*`, which does not match `/a`. Lookup time is independent of their number. */
export class PathTable<T> {
  readonly #exact = new Map<string, T>()
  /** By the text before the `*`. */
  readonly #prefixes = new Map<string, T>()
  #longestPrefix = 0

  /** @returns false when the path is taken */
  add(path: string, value: T): boolean {
    const [table, key] = this.#placeOf(path)
    if (table.has(key)) return false
    table.set(key, value)
    if (table === this.#prefixes) this.#longestPrefix = Math.max(this.#longestPrefix, key.length)
    return true
  }

  /** What was added with a path. */
  get(path: string): T | undefined {
    const [table, key] = this.#placeOf(path)
    return table.get(key)
  }

  #placeOf(path: string): readonly [table: Map<string, T>, key: string] {
    const key = pathKey(path)
    return key.endsWith("/*") ? [this.#prefixes, key.slice(0, -1)] : [this.#exact, key]
  }

  /** The exact match, else the longest prefix. Examines no more of a path than the longest prefix. */
  find(path: string): T | undefined {
    const exact = this.#exact.get(path)
    if (exact !== undefined) return exact
    for (let length = this.#longestPrefix; length > 0; length--) {
      length = path.lastIndexOf("/", length - 1) + 1
      const found = this.#prefixes.get(path.slice(0, length))
      if (found !== undefined) return found
    }
    return undefined
  }

  get exactPaths(): readonly string[] {
    return [...this.#exact.keys()]
  }

  get hasPrefixes(): boolean {
    return this.#prefixes.size > 0
  }
}

/** What becomes of a listener's requests. */
export interface RequestHandlers {
  readonly endpoints: PathTable<{ readonly answer: Endpoint }>
  /** For paths without an endpoint. */
  readonly unknownPath: Endpoint
  /** For targets that are not normalised, but whose normal form has an endpoint. */
  readonly notNormal: Endpoint
  /** Receives what an endpoint throws. */
  readonly failed: (error: unknown, requestId: string) => void
}

export const dispatch =
  ({ endpoints, unknownPath }: RequestHandlers): Endpoint =>
  (request, server, target) =>
    endpoints.find(target.path)?.answer(request, server, target) ?? unknownPath(request, server, target)

/** Answers a request whose path was not sent in normal form. */
export const refuseSpelling =
  ({ endpoints, unknownPath, notNormal }: RequestHandlers): Endpoint =>
  (request, server, target) =>
    (endpoints.find(target.path) === undefined ? unknownPath : notNormal)(request, server, target)

type Routes = {
  readonly [pattern: string]: Bun.Serve.Handler<Bun.BunRequest, Bun.Server<undefined>, Response>
}

/** Bun tries routes one by one, at 3.5 ns each; parameters cost a request 0.5 us more. */
const MAX_EXACT_ROUTES = 32
/** Most segments of a path below a prefix. */
const MAX_SEGMENTS = 32

/**
 * The routes of a Bun server, for pipelines and for the admin listener: `take` handles requests whose path was sent in normal form, `refuse` the others, since a
 * proxy's rules may have passed a path that normalises to another one: `/x/../private`, `/hooks\..\private`,
 * `/%2e%2e/private`.
 *
 * Bun gives handlers only the normalised path. The path sent shows in two places: an exact route matches the bytes sent,
 * and a parameter `/:a` is a segment as sent, unescaped. (True of Bun 1.4.5; test/e2e/http-paths.test.ts guards it.)
 *
 *   few paths, all exact       a route each, nothing else is compared
 *   prefixes, or many paths    a route of parameters for each number of segments, compared with the normalised path's
 */
export function routesFor(
  { exactPaths, hasPrefixes }: Pick<PathTable<unknown>, "exactPaths" | "hasPrefixes">,
  take: Endpoint,
  refuse: Endpoint,
): Routes {
  const taken: Routes[string] = (request, server) => take(request, server, targetOf(request.url))
  // a segment that begins with a colon would be a parameter
  const canBeExact = (path: string): boolean => !path.includes("/:")
  const exact = exactPaths.length > MAX_EXACT_ROUTES ? [] : exactPaths.filter(canBeExact)
  const routes = Object.fromEntries(exact.map((path) => [path, taken] as const))
  if (!hasPrefixes && exact.length === exactPaths.length) return routes
  const compared =
    (names: readonly string[], end: "" | "/"): Routes[string] =>
    (request, server) => {
      const target = targetOf(request.url)
      const wasSent = isAsSent(names, request.params as Segments, target.path, end)
      return (wasSent ? take : refuse)(request, server, target)
    }
  const names: string[] = []
  for (let n = 0; n < MAX_SEGMENTS; n++) {
    names.push(`s${n}`)
    const pattern = names.map((name) => `/:${name}`).join("")
    routes[pattern] = compared([...names], "")
    routes[`${pattern}/`] = compared([...names], "/")
  }
  return { "/": taken, ...routes }
}

type Segments = { readonly [name: string]: string }

/** Whether a path was sent in its normal form: `sent` has the unescaped segments, by `names` in order, then `end`. */
export function isAsSent(names: readonly string[], sent: Segments, path: string, end: "" | "/"): boolean {
  // starts a fragment, which a target can't have
  if (path.includes("#")) return false
  let joined = ""
  for (const name of names) joined += `/${sent[name]}`
  if (joined + end === path) return true
  if (!path.includes("%") || !path.endsWith(end)) return false
  const segments = path.slice(1, path.length - end.length).split("/")
  return segments.length === names.length && names.every((name, at) => decoded(segments[at]!) === sent[name])
}

/** undefined: invalid escapes, or not UTF-8, which the normal form has as U+FFFD. */
function decoded(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    return text.includes("\ufffd") ? undefined : text
  } catch {
    return undefined
  }
}
