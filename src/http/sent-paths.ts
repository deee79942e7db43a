// Hot path: every request passes here.
import { targetOf, type Target } from "./received-request.ts"

/*
 * Only requests whose path was sent as it is routed are let through, since a proxy in front may have let a path pass that
 * becomes another one when it is normalised: `/x/../private`, `/hooks\..\private`, `/%2e%2e/private`.
 *
 * Bun gives handlers the path in its normalised form alone. What was sent shows in two places: an exact route fits the
 * bytes that were sent, and a parameter `/:a` is the segment that was sent, with its escapes decoded. (Seen on Bun 1.4.5
 * by test/e2e/http-paths.test.ts, for a later Bun may normalise first.)
 *
 *   few paths, all of them exact    a route for each, nothing else is compared
 *   prefixes, or many paths         for each number of segments a route of parameters, which are compared with the
 *                                   segments of the normalised path
 */

/** Takes a request whose path was sent as it stands in the target, or refuses one. */
export type Handler = (
  request: Request,
  server: Bun.Server<undefined>,
  target: Target,
) => Response | Promise<Response>

/** What of a path table decides on routes. */
export interface Paths {
  readonly exactPaths: readonly string[]
  readonly hasPrefixes: boolean
}

export type Routes = {
  readonly [pattern: string]: Bun.Serve.Handler<Bun.BunRequest, Bun.Server<undefined>, Response>
}

/** Bun looks routes up one after the other, 3.5 ns each; with parameters a request costs 0.5 us more. */
const MOST_EXACT = 32
/** Paths below a prefix have as many segments at most. */
export const MOST_SEGMENTS = 32

/** The routes of a server whose requests `take` takes when their path was sent as it is, and `refuse` when it was not. */
export function routesFor({ exactPaths, hasPrefixes }: Paths, take: Handler, refuse: Handler): Routes {
  const taken: Routes[string] = (request, server) => take(request, server, targetOf(request.url))
  // a segment that begins with a colon would be a parameter
  const canBeExact = (path: string): boolean => !path.includes("/:")
  const exact = exactPaths.length > MOST_EXACT ? [] : exactPaths.filter(canBeExact)
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
  for (let n = 0; n < MOST_SEGMENTS; n++) {
    names.push(`s${n}`)
    const pattern = names.map((name) => `/:${name}`).join("")
    routes[pattern] = compared([...names], "")
    routes[`${pattern}/`] = compared([...names], "/")
  }
  return { "/": taken, ...routes }
}

type Segments = { readonly [name: string]: string }

/**
 * Whether a normalised path was sent so.
 *
 * @param sent the segments that were sent, their escapes decoded, by these names in their order
 * @param end what was sent behind them
 */
export function isAsSent(names: readonly string[], sent: Segments, path: string, end: "" | "/"): boolean {
  // the beginning of a fragment, which is no part of a target
  if (path.includes("#")) return false
  let joined = ""
  for (const name of names) joined += `/${sent[name]}`
  if (joined + end === path) return true
  if (!path.includes("%") || !path.endsWith(end)) return false
  const segments = path.slice(1, path.length - end.length).split("/")
  return segments.length === names.length && names.every((name, at) => decoded(segments[at]!) === sent[name])
}

/** undefined: its escapes are none, or not of UTF-8. Bytes that are not become U+FFFD in the normalised path. */
function decoded(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment)
    return text.includes("\ufffd") ? undefined : text
  } catch {
    return undefined
  }
}
