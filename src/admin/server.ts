import { createHash, timingSafeEqual } from "node:crypto"
import type { SpoolState } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"

/** What the admin listener tells of the application. */
export interface Status {
  /** Why a pipeline can't take events now, by connection id; undefined for one that can. */
  connections(): Iterable<readonly [id: string, problem: string | undefined]>
  /** The same of the Deduplicators' stores, by their names. */
  stores(): Iterable<readonly [name: string, problem: string | undefined]>
  /** What waits in the spools, by connection id. */
  spools(): Iterable<readonly [id: string, state: SpoolState]>
  draining(): boolean
  metrics(): Promise<{ text: string; contentType: string }>
}

export interface AdminServer {
  readonly url: string
  /** What callers must present from now on; undefined: nothing. */
  setToken(token: string | undefined): void
  close(): Promise<void>
}

/**
 * Listens for operators and their probes: `/healthz` (the process lives), `/readyz` (events can be taken),
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
  let admits = tokenTest(token)
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
    return {
      url: server.url.origin,
      setToken(next) {
        admits = tokenTest(next)
      },
      close: () => server.stop(true),
    }
  } catch (error) {
    throw new HooklineError(
      "listen",
      `[admin] listen: can't listen on ${where} (${(error as { code?: string }).code ?? (error as Error).message}); free it, choose another, or write listen = off`,
      { cause: error },
    )
  }
}

function readiness(status: Status, withReasons: boolean): Response {
  const connections = new Map(status.connections())
  const stores = new Map(status.stores())
  const problems = [...connections.values(), ...stores.values()].filter((problem) => problem !== undefined)
  const ready = !status.draining() && problems.length === 0
  const state = status.draining() ? "draining" : ready ? "ready" : "not ready"
  const spools = [...status.spools()].map(([id, spool]) => [id, describe(spool)] as const)
  const told = {
    connections: tell(connections),
    ...(spools.length === 0 ? {} : { spools: Object.fromEntries(spools) }),
    ...(stores.size === 0 ? {} : { deduplicator_stores: tell(stores) }),
  }
  return Response.json(withReasons ? { status: state, ...told } : { status: state }, {
    status: ready ? 200 : 503,
  })
}

const tell = (parts: ReadonlyMap<string, string | undefined>): { [name: string]: string } =>
  Object.fromEntries([...parts].map(([name, problem]) => [name, problem ?? "ready"]))

/** A spool as `/readyz` shows it. `broker` says whether events go there or wait. */
function describe({ outage, problem, records, bytes, oldestMs, setAside }: SpoolState): object {
  return {
    broker: outage ?? "ready",
    spool: problem ?? "ready",
    records,
    bytes,
    oldest_age_seconds: oldestMs === undefined ? 0 : Math.max(0, Date.now() - oldestMs) / 1000,
    set_aside: setAside,
  }
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
