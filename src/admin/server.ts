import { createHash, timingSafeEqual } from "node:crypto"
import type { SpoolState } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"
import type { Exposition } from "../telemetry/exposition.ts"
import { hostTest } from "./host.ts"

/** What the admin listener tells of the application. */
export interface Status {
  readiness(): Readiness | Promise<Readiness>
  metrics(): Promise<Exposition>
}

/** By name; undefined for what can be used now. */
export type Problems = Iterable<readonly [name: string, problem: string | undefined]>

/** Whether events can be taken now, and if not, why. */
export interface Readiness {
  /** `partly ready`: some events are taken, and of some that is known that they are not. */
  readonly state: "ready" | "partly ready" | "not ready" | "draining"
  /** Why a pipeline can't take events now, by connection id. */
  readonly connections: Problems
  /** What of its topics can't be published to, by connection id. */
  readonly impaired: Iterable<readonly [id: string, problems: readonly string[]]>
  /** The same of the Deduplicators' stores, by their names. */
  readonly stores: Problems
  /** Why no connections of senders are accepted. */
  readonly listeners?: Problems
  /** What waits in the spools, by connection id. */
  readonly spools: Iterable<readonly [id: string, state: SpoolState]>
  /** The same of the processes that share the load, by their numbers, where there are several. */
  readonly workers?: Problems
}

/** Who may call. */
export interface Access {
  /** What callers must present; undefined: nothing. */
  readonly token?: string | undefined
  /** Names that the listener is called by, beside `localhost`, addresses and the one it listens on. */
  readonly hosts?: readonly string[] | undefined
}

export interface AdminServer {
  readonly url: string
  /** Takes other rules, from now on. */
  setAccess(access: Access): void
  close(): Promise<void>
}

/**
 * Listens for operators and their probes: `/healthz` (the process lives), `/readyz` (events can be taken),
 * `/metrics` (Prometheus). With a token, metrics and the reasons in `/readyz` want it as `Authorization: Bearer`; the
 * two probes answer their status without it, since load balancers and kubelets send none. Requests that name another host
 * than its own get 421.
 *
 * @throws HooklineError `listen`
 */
export function openAdmin(
  listen: { host: string; port: number },
  access: Access,
  status: Status,
): AdminServer {
  let admits = tokenTest(access.token)
  const ownHost = ({ hosts = [] }: Access): ReturnType<typeof hostTest> => hostTest([listen.host, ...hosts])
  let isOwnHost = ownHost(access)
  const routes: { [path: string]: (request: Request) => Response | Promise<Response> } = {
    "/healthz": () => text(200, "ok\n"),
    "/readyz": async (request) => answer(await status.readiness(), admits(request)),
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
        if (!isOwnHost(request)) return text(421, "the name in Host is not in [admin] hosts\n")
        const route = routes[new URL(request.url).pathname]
        if (route === undefined) return text(404, "/healthz, /readyz and /metrics are here\n")
        if (request.method !== "GET" && request.method !== "HEAD")
          return text(405, "", { Allow: "GET, HEAD" })
        return route(request)
      },
    })
    return {
      url: server.url.origin,
      setAccess(next) {
        admits = tokenTest(next.token)
        isOwnHost = ownHost(next)
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

function answer(
  { state, connections, impaired, stores, listeners, spools, workers }: Readiness,
  withReasons: boolean,
): Response {
  const told = {
    connections: tell(connections),
    ...ifAny(
      "impaired",
      [...impaired]
        .filter(([, problems]) => problems.length > 0)
        .map(([id, problems]) => [id, some(problems)]),
    ),
    ...ifAny(
      "spools",
      [...spools].map(([id, spool]) => [id, describe(spool)] as const),
    ),
    ...ifAny("deduplicator_stores", Object.entries(tell(stores))),
    ...ifAny("listeners", Object.entries(tell(listeners ?? []))),
    ...ifAny("workers", Object.entries(tell(workers ?? []))),
  }
  return Response.json(withReasons ? { status: state, ...told } : { status: state }, {
    status: state === "ready" || state === "partly ready" ? 200 : 503,
  })
}

const tell = (parts: Problems): { [name: string]: string } =>
  Object.fromEntries([...parts].map(([name, problem]) => [name, problem ?? "ready"]))

/** Beyond so many, impaired topics are counted. */
const LISTED = 100

function some(problems: readonly string[]): readonly string[] {
  const rest = problems.length - LISTED
  return rest <= 0 ? problems : [...problems.slice(0, LISTED), `and ${rest} more`]
}

const ifAny = (name: string, told: readonly (readonly [string, unknown])[]): object =>
  told.length === 0 ? {} : { [name]: Object.fromEntries(told) }

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
