import type { Peer } from "../../http/routes.ts"
import { readUpTo } from "../../outgoing/fetch-bounded.ts"
import { ApiError, problemOf } from "./problem.ts"
import { check, readTexts, type Asked, type ApiRoute } from "./route.ts"

/** The largest body of a request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** Checks who asks. @throws ApiError 401, 403, 415 */
export type Admit = (request: Request, route: ApiRoute) => void

/**
 * Answers requests by their routes, whose paths were sent in normal form; every error is a problem document. Rejects with a
 * fault.
 */
export function answerBy(routes: readonly ApiRoute[], admit: Admit) {
  const matched = routes
    // a fixed segment wins over a parameter
    .toSorted((a, b) => rank(a) - rank(b))
    .map((route) => ({ route, pattern: new URLPattern({ pathname: route.path }) }))

  const answer = async (request: Request, connection: Peer): Promise<Response> => {
    // without a Host header a request's URL is a path
    const url = new URL(request.url, "http://localhost")
    const method = request.method === "HEAD" ? "GET" : request.method
    const fitting = matched.find(({ pattern }) => pattern.test(url))
    if (fitting === undefined) throw new ApiError(404, "no such route; GET /api/openapi.json lists them")
    const here = matched.filter(({ route }) => route.path === fitting.route.path)
    const found = here.find(({ route }) => route.method === method)
    if (found === undefined) {
      const methods = here.map(({ route }) => route.method)
      const allowed = methods.flatMap((it) => (it === "GET" ? ["GET", "HEAD"] : [it])).join(", ")
      throw new ApiError(405, `allowed here: ${allowed}`, { Allow: allowed })
    }
    const { route, pattern } = found
    admit(request, route)
    const { groups } = pattern.exec(url)!.pathname
    const params = Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text!)] as const)
    const asked: Asked<unknown, unknown, unknown> = {
      params: readTexts(params, route.params, "path"),
      query: readTexts(url.searchParams, route.query, "query"),
      body: await readBody(request, route),
      request,
      connection,
    }
    const answered = await route.answer(asked)
    if (answered instanceof Response) return answered
    return answered === undefined
      ? new Response(null, { status: 204, headers: HEADERS })
      : Response.json(answered, { headers: HEADERS })
  }

  return (request: Request, connection: Peer): Promise<Response> =>
    answer(request, connection).catch((error: unknown) => {
      const response = problemOf(error)
      if (response === undefined) throw error
      for (const [name, value] of Object.entries(HEADERS)) response.headers.set(name, value)
      return response
    })
}

const HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" }

const rank = ({ path }: ApiRoute): number => path.split(":").length

async function readBody(request: Request, { body: schema, method }: ApiRoute): Promise<unknown> {
  if (schema === undefined) return undefined
  const isTooLarge = Number(request.headers.get("content-length") ?? 0) > MAX_BODY_BYTES
  const bytes = isTooLarge ? undefined : await readUpTo(request, MAX_BODY_BYTES)
  if (bytes === undefined) throw new ApiError(413, `the body is larger than ${MAX_BODY_BYTES} bytes`)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  } catch {
    throw new ApiError(400, `${method} needs a body of JSON in UTF-8`)
  }
  check(value, schema, "body")
  return value
}
