import type { Peer } from "../../http/peer.ts"
import { readUpTo } from "../../outgoing/fetch-bounded.ts"
import { ApiError, problemOf } from "./problem.ts"
import { check, readTexts, type Asked, type ApiRoute } from "./route.ts"

/** The largest body of a request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** What may be answered without being asked for by a person who is signed in, and by whom. */
export interface Gate {
  /** @throws ApiError 401, 403, 415 */
  admit(request: Request, route: ApiRoute): void
}

/** Answers requests by their routes, whose paths were sent in normal form; every error is a problem document. */
export class Router {
  readonly #routes: readonly { readonly route: ApiRoute; readonly segments: readonly string[] }[]
  readonly #gate: Gate

  constructor(routes: readonly ApiRoute[], gate: Gate) {
    // a fixed segment wins over a parameter
    this.#routes = routes
      .map((route) => ({ route, segments: route.path.split("/") }))
      .toSorted((a, b) => rank(a.segments) - rank(b.segments))
    this.#gate = gate
  }

  /** Rejects with a fault. */
  async answer(request: Request, connection: Peer): Promise<Response> {
    try {
      return await this.#answer(request, connection)
    } catch (error) {
      const response = problemOf(error)
      if (response === undefined) throw error
      for (const [name, value] of Object.entries(HEADERS)) response.headers.set(name, value)
      return response
    }
  }

  async #answer(request: Request, connection: Peer): Promise<Response> {
    const { pathname, searchParams } = pathAndQuery(request)
    const method = request.method === "HEAD" ? "GET" : request.method
    const segments = pathname.split("/")
    const fitting = this.#routes.find((it) => fits(it.segments, segments))
    if (fitting === undefined) throw new ApiError(404, "no such route; GET /api/openapi.json lists them")
    const here = this.#routes.filter(({ route }) => route.path === fitting.route.path)
    const found = here.find(({ route }) => route.method === method)
    if (found === undefined) {
      const methods = here.map(({ route }) => route.method)
      const allowed = methods.flatMap((it) => (it === "GET" ? ["GET", "HEAD"] : [it])).join(", ")
      throw new ApiError(405, `allowed here: ${allowed}`, { Allow: allowed })
    }
    const { route } = found
    this.#gate.admit(request, route)
    const asked: Asked<unknown, unknown, unknown> = {
      params: readTexts(paramsOf(found.segments, segments), route.params, "path"),
      query: readTexts(searchParams, route.query, "query"),
      body: await readBody(request, route),
      request,
      connection,
    }
    const answer = await route.answer(asked)
    if (answer instanceof Response) return answer
    return answer === undefined
      ? new Response(null, { status: 204, headers: HEADERS })
      : Response.json(answer, { headers: HEADERS })
  }
}

/** Without a Host header a request's URL is a path. */
const pathAndQuery = ({ url }: Request): URL => new URL(url, "http://localhost")

const HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" }

const rank = (segments: readonly string[]): number => segments.filter((it) => it.startsWith(":")).length

const fits = (pattern: readonly string[], segments: readonly string[]): boolean =>
  pattern.length === segments.length &&
  pattern.every((it, at) => (it.startsWith(":") ? segments[at] !== "" : it === segments[at]))

function* paramsOf(
  pattern: readonly string[],
  segments: readonly string[],
): Iterable<readonly [name: string, text: string]> {
  for (const [at, it] of pattern.entries())
    if (it.startsWith(":")) yield [it.slice(1), decodeURIComponent(segments[at]!)]
}

async function readBody(request: Request, { body: schema, method }: ApiRoute): Promise<unknown> {
  if (schema === undefined) return undefined
  if (Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const bytes = await readUpTo(request, MAX_BODY_BYTES)
  if (bytes === undefined) throw tooLarge()
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch {
    throw new ApiError(400, `${method} needs a body of JSON in UTF-8`)
  }
  check(value, schema, "body")
  return value
}

const tooLarge = (): ApiError => new ApiError(413, `the body is larger than ${MAX_BODY_BYTES} bytes`)
