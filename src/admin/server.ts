import { createHash, timingSafeEqual } from "node:crypto"
import type { SpoolState } from "../brokers/broker.ts"
import { formatEndpoint, type EndpointOptions } from "../config/sections/endpoint.ts"
import { HooklineError } from "../errors.ts"
import type { Exposition } from "../telemetry/exposition.ts"
import { hostTest } from "./host.ts"

/** The application as the admin listener sees it. */
export interface Status {
  readiness(): Readiness | Promise<Readiness>
  /** @param accept of the request: the format */
  metrics(accept: string | null): Promise<Exposition>
}

/** The problem of each component, by name; undefined: it is ready. */
export type ComponentProblems = Iterable<readonly [name: string, problem: string | undefined]>

/** Whether events are accepted now, and if not, why. */
export interface Readiness {
  /** `partly ready`: some pipelines or topics accept events, others do not. */
  readonly state: "ready" | "partly ready" | "not ready" | "draining"
  /** By connection id. */
  readonly connections: ComponentProblems
  /** Problems of single topics, by connection id. */
  readonly impaired: Iterable<readonly [id: string, problems: readonly string[]]>
  readonly stores: ComponentProblems
  readonly listeners?: ComponentProblems
  /** By connection id. */
  readonly spools: Iterable<readonly [id: string, state: SpoolState]>
  /** By worker number, where there are several. */
  readonly workers?: ComponentProblems
}

export interface Access {
  /** The bearer token that callers must present; undefined: none. */
  readonly token?: string | undefined
  /** Accepted values of Host, beside `localhost`, IP addresses and the host that it listens on. */
  readonly hosts?: readonly string[] | undefined
}

export interface AdminServer {
  readonly url: string
  setAccess(access: Access): void
  close(): Promise<void>
}

/**
 * Opens the admin listener: `/healthz` (liveness), `/readyz` (readiness), `/metrics` (Prometheus, or OpenMetrics where Accept asks for it). With a token, metrics
 * and the reasons in `/readyz` require `Authorization: Bearer`; the probes' status does not, since load balancers and
 * kubelets send no token. Requests for another host get 421.
 *
 * @param failed called with a fault, which is answered 500
 * @throws HooklineError `listen`
 */
export function openAdmin(
  listen: EndpointOptions,
  access: Access,
  status: Status,
  failed: (error: unknown) => void,
): AdminServer {
  let admits = tokenTest(access.token)
  const ownHost = ({ hosts = [] }: Access): ReturnType<typeof hostTest> => hostTest([listen.host, ...hosts])
  let isOwnHost = ownHost(access)
  const routes: { [path: string]: (request: Request) => Response | Promise<Response> } = {
    "/healthz": () => text(200, "ok\n"),
    "/readyz": async (request) => answer(await status.readiness(), admits(request)),
    "/metrics": async (request) => {
      if (!admits(request)) return text(401, "bearer token required\n", { "WWW-Authenticate": "Bearer" })
      const { text: body, contentType } = await status.metrics(request.headers.get("accept"))
      return new Response(body, { headers: { "Content-Type": contentType } })
    },
  }
  try {
    const server = Bun.serve({
      hostname: listen.host,
      port: listen.port,
      fetch(request) {
        if (!isOwnHost(request)) return text(421, "Host is not listed in [admin] hosts\n")
        const route = routes[new URL(request.url).pathname]
        if (route === undefined) return text(404, "not found; try /healthz, /readyz or /metrics\n")
        if (request.method !== "GET" && request.method !== "HEAD")
          return text(405, "", { Allow: "GET, HEAD" })
        return route(request)
      },
      // Bun's own page shows the source
      error(error) {
        failed(error)
        return text(500, "internal error\n")
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
      `[admin] listen: can't listen on ${formatEndpoint(listen)} (${(error as { code?: string }).code ?? (error as Error).message}); free it, choose another, or set listen = off`,
      { cause: error },
    )
  }
}

function answer(
  { state, connections, impaired, stores, listeners, spools, workers }: Readiness,
  withReasons: boolean,
): Response {
  const reasons = {
    connections: problemsOf(connections),
    impaired: Object.fromEntries(
      [...impaired].flatMap(([id, problems]) => (problems.length === 0 ? [] : [[id, some(problems)]])),
    ),
    spools: Object.fromEntries([...spools].map(([id, spool]) => [id, describe(spool)])),
    deduplicator_stores: problemsOf(stores),
    listeners: problemsOf(listeners),
    workers: problemsOf(workers),
  }
  const shown = Object.entries(reasons).filter(([name, of]) => name === "connections" || !isEmpty(of))
  const status = state === "ready" || state === "partly ready" ? 200 : 503
  return Response.json({ status: state, ...(withReasons && Object.fromEntries(shown)) }, { status })
}

const isEmpty = (object: object): boolean => Object.keys(object).length === 0

const problemsOf = (components: ComponentProblems = []): { [name: string]: string } =>
  Object.fromEntries([...components].map(([name, problem]) => [name, problem ?? "ready"]))

const MAX_LISTED = 100

function some(problems: readonly string[]): readonly string[] {
  const rest = problems.length - MAX_LISTED
  return rest <= 0 ? problems : [...problems.slice(0, MAX_LISTED), `and ${rest} more`]
}

/** A spool as `/readyz` shows it; `broker` says whether events are forwarded or kept. */
function describe({ outage, problem, records, bytes, oldestMs, quarantined }: SpoolState): object {
  return {
    broker: outage ?? "ready",
    spool: problem ?? "ready",
    records,
    bytes,
    oldest_age_seconds: oldestMs === undefined ? 0 : Math.max(0, Date.now() - oldestMs) / 1000,
    quarantined,
  }
}

/** Compares digests in constant time, so that timing reveals neither the token's length nor a prefix. */
function tokenTest(token: string | undefined): (request: Request) => boolean {
  if (token === undefined) return () => true
  const digest = (value: string): Buffer => createHash("sha256").update(value).digest()
  const expected = digest(`Bearer ${token}`)
  return (request) => timingSafeEqual(digest(request.headers.get("authorization") ?? ""), expected)
}

function text(status: number, body: string, headers: { [name: string]: string } = {}): Response {
  return new Response(body, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } })
}
