import { createHash, timingSafeEqual } from "node:crypto"
import { HooklineError } from "../errors.ts"

/** What the admin listener tells of the application. */
export interface Status {
  /** Why a pipeline can't take events now, by connection id; undefined for one that can. */
  connections(): Iterable<readonly [id: string, problem: string | undefined]>
  draining(): boolean
  metrics(): Promise<{ text: string; contentType: string }>
}

export interface AdminServer {
  readonly url: string
  close(): Promise<void>
}

/**
 * Listens for operators and their probes: `/healthz` (the process lives), `/readyz` (every connection takes records),
 * `/metrics` (Prometheus). With a token, metrics and the reasons in `/readyz` want it as `Authorization: Bearer`; the
 * two probes answer their status without it, since load balancers and kubelets send none.
 *
 * @throws HooklineError `listen`
 */
export function openAdmin(
  listen: { host: string; port: number },
  token: string | undefined,
  status: Status,
): AdminServer {
  const admits = tokenTest(token)
  const routes: { [path: string]: (request: Request) => Response | Promise<Response> } = {
    "/healthz": () => text(200, "ok\n"),
    "/readyz": (request) => readiness(status, admits(request)),
    "/metrics": async (request) => {
      if (!admits(request)) return text(401, "a bearer token is needed\n", { "WWW-Authenticate": "Bearer" })
      const { text: body, contentType } = await status.metrics()
      return new Response(body, { headers: { "Content-Type": contentType } })
    },
  }
  const where = `${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${listen.port}`
  try {
    const server = Bun.serve({
      hostname: listen.host,
      port: listen.port,
      fetch(request) {
        const route = routes[new URL(request.url).pathname]
        if (route === undefined) return text(404, "/healthz, /readyz and /metrics are here\n")
        if (request.method !== "GET" && request.method !== "HEAD")
          return text(405, "", { Allow: "GET, HEAD" })
        return route(request)
      },
    })
    return { url: server.url.origin, close: () => server.stop(true) }
  } catch (error) {
    throw new HooklineError(
      "listen",
      `[admin] listen: can't listen on ${where} (${(error as { code?: string }).code ?? (error as Error).message}); free it, choose another, or write listen = off`,
      { cause: error },
    )
  }
}

function readiness(status: Status, withReasons: boolean): Response {
  const connections: { [id: string]: string } = {}
  let ready = !status.draining()
  for (const [id, problem] of status.connections()) {
    connections[id] = problem ?? "ready"
    if (problem !== undefined) ready = false
  }
  const state = status.draining() ? "draining" : ready ? "ready" : "not ready"
  return Response.json(withReasons ? { status: state, connections } : { status: state }, {
    status: ready ? 200 : 503,
  })
}

/** Compares digests in constant time, so that neither the token's length nor its beginning can be timed. */
function tokenTest(token: string | undefined): (request: Request) => boolean {
  if (token === undefined) return () => true
  const digest = (value: string): Buffer => createHash("sha256").update(value).digest()
  const expected = digest(`Bearer ${token}`)
  return (request) => timingSafeEqual(digest(request.headers.get("authorization") ?? ""), expected)
}

function text(status: number, body: string, headers: { [name: string]: string } = {}): Response {
  return new Response(body, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } })
}
