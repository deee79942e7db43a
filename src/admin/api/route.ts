import { misfit, type ObjectShape, type Shape, type Static } from "./shape.ts"
import type { Peer } from "../../http/peer.ts"
import { readUpTo } from "../../outgoing/fetch-bounded.ts"
import type { TokenName } from "../access.ts"
import type { Act, ActFields } from "../audit.ts"
import { ApiError, problemOf } from "./problem.ts"

/** A request whose parts are as the route declares them. */
export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly request: Request
  /** The server of the request. */
  readonly connection: Peer
  /** Of the caller. */
  readonly token: TokenName
  /** Adds fields to the audit of the request; a GET is audited only if it calls this. */
  note(fields: ActFields): void
}

type Method = "GET" | "POST" | "PUT" | "DELETE"

interface Declared<P extends ObjectShape, Q extends ObjectShape, B extends Shape, R extends Shape> {
  readonly summary: string
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** The schema of a JSON answer; undefined: 204. */
  readonly response?: R
  /** The events of an answer that is a stream of them, by name. */
  readonly events?: { readonly [name: string]: Shape }
  /** Whether callers need no token. */
  readonly isOpen?: boolean
  /** Whether it changes nothing although it is not a GET, so that `read_token` is enough. */
  readonly isReadOnly?: boolean
  readonly answer: (
    asked: Asked<Static<P>, Static<Q>, Static<B>>,
  ) => Static<R> | Response | Promise<Static<R> | Response>
}

/** A route, declared once: router, validation and OpenAPI description are made from it. */
export type ApiRoute = Omit<Declared<ObjectShape, ObjectShape, Shape, Shape>, "answer"> & {
  readonly method: Method
  readonly path: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly answer: (asked: Asked<any, any, any>) => unknown
}

/** @param place `GET /api/captures/:id`, with parameters as `:name` */
export function route<P extends ObjectShape, Q extends ObjectShape, B extends Shape, R extends Shape>(
  place: `${Method} /api/${string}`,
  declared: Declared<P, Q, B, R>,
): ApiRoute {
  const [method, path] = place.split(" ") as [Method, string]
  return { ...declared, method, path } as ApiRoute
}

/** Texts of a path or query as the schema wants them. @throws ApiError 400 */
export function readTexts(
  texts: Iterable<readonly [name: string, text: string]>,
  schema: ObjectShape | undefined,
  where: string,
): { readonly [name: string]: unknown } {
  const values: { [name: string]: unknown } = Object.create(null)
  for (const [name, text] of texts) {
    const known = schema !== undefined && Object.hasOwn(schema.properties, name)
    if (!known) throw new ApiError(400, `${where}: unknown parameter ${JSON.stringify(name.slice(0, 100))}`)
    if (name in values) throw new ApiError(400, `${where}: ${name} is there twice`)
    values[name] = toValue(text, schema.properties[name] as { type?: string })
  }
  if (schema !== undefined) check(values, schema, where)
  return values
}

function toValue(text: string, { type }: { type?: string }): unknown {
  if ((type === "integer" || type === "number") && /^-?\d{1,300}(\.\d{1,300})?(e[+-]?\d{1,3})?$/i.test(text))
    return Number(text)
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true"
  return text
}

/** @throws ApiError 400 naming the first place that does not fit */
export function check(value: unknown, shape: Shape, where: string): void {
  const problem = misfit(value, shape)
  if (problem !== undefined) throw new ApiError(400, where + problem)
}

/** The largest body of a request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024

/** Checks who asks. @returns the caller's token. @throws ApiError 401, 403, 415 */
export type Admit = (request: Request, route: ApiRoute) => TokenName

/** The refusal of an action to `read_token`. */
export const needsToken = (): ApiError =>
  new ApiError(403, "read_token is read-only; this needs the token that [admin] has as token")

/**
 * Answers requests by their routes, whose paths were sent in normal form; every error is a problem document. Rejects with a
 * fault.
 *
 * @param audit is called with each action once it has ended
 */
export function answerBy(routes: readonly ApiRoute[], admit: Admit, audit: (act: Act) => void) {
  const matched = routes
    // a fixed segment wins over a parameter
    .toSorted((a, b) => rank(a) - rank(b))
    .map((route) => ({ route, pattern: new URLPattern({ pathname: route.path }) }))

  const answer = async (request: Request, connection: Peer): Promise<Response> => {
    // without a Host header a request's URL is a path
    const url = new URL(request.url, "http://localhost")
    const method = request.method === "HEAD" ? "GET" : request.method
    const { route, pattern } = findRoute(matched, method, url)
    const token = admit(request, route)
    let noted: ActFields | undefined = acts(route) ? {} : undefined
    const note = (fields: ActFields): void => void (noted = { ...noted, ...fields })
    const ended = (status: number, outcome: { readonly reason?: string } = {}): void => {
      if (noted === undefined) return
      const remote_address = connection.requestIP(request)?.address ?? ""
      audit({ action: `${method} ${url.pathname}`, token, remote_address, ...noted, status, ...outcome })
    }
    try {
      if (noted !== undefined && token === "read_token") throw needsToken()
      const { groups } = pattern.exec(url)!.pathname
      const params = Object.entries(groups).map(([name, text]) => [name, decodeURIComponent(text!)] as const)
      const asked: Asked<unknown, unknown, unknown> = {
        params: readTexts(params, route.params, "path"),
        query: readTexts(url.searchParams, route.query, "query"),
        body: await readBody(request, route),
        request,
        connection,
        token,
        note,
      }
      const response = toResponse(await route.answer(asked))
      ended(response.status)
      return response
    } catch (error) {
      const { status } = problemOf(error) ?? { status: 500 }
      ended(status, { reason: status === 500 ? "internal error" : (error as Error).message })
      throw error
    }
  }

  return (request: Request, connection: Peer): Promise<Response> =>
    answer(request, connection).catch((error: unknown) => {
      const response = problemOf(error)
      if (response === undefined) throw error
      for (const [name, value] of Object.entries(HEADERS)) response.headers.set(name, value)
      return response
    })
}

interface MatchedRoute {
  readonly route: ApiRoute
  readonly pattern: URLPattern
}

/** @throws ApiError 404, 405 */
function findRoute(matched: readonly MatchedRoute[], method: string, url: URL): MatchedRoute {
  const fitting = matched.find(({ pattern }) => pattern.test(url))
  if (fitting === undefined) throw new ApiError(404, "no such route; GET /api/openapi.json lists them")
  const here = matched.filter(({ route }) => route.path === fitting.route.path)
  const found = here.find(({ route }) => route.method === method)
  if (found !== undefined) return found
  const methods = here.map(({ route }) => route.method)
  const allowed = methods.flatMap((it) => (it === "GET" ? ["GET", "HEAD"] : [it])).join(", ")
  throw new ApiError(405, `allowed here: ${allowed}`, { Allow: allowed })
}

const acts = ({ method, isOpen, isReadOnly }: ApiRoute): boolean =>
  method !== "GET" && isOpen !== true && isReadOnly !== true

function toResponse(answered: unknown): Response {
  if (answered instanceof Response) return answered
  return answered === undefined
    ? new Response(null, { status: 204, headers: HEADERS })
    : Response.json(answered, { headers: HEADERS })
}

const HEADERS = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" }

const rank = ({ path }: ApiRoute): number => path.split(":").length

async function readBody(request: Request, { body: schema, method }: ApiRoute): Promise<unknown> {
  if (schema === undefined) return undefined
  const bytes = await readUpTo(request, MAX_BODY_BYTES)
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
