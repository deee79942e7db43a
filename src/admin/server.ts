import { listenFailure, type EndpointOptions } from "../config/sections/endpoint.ts"
import type { SpoolState } from "../brokers/broker.ts"
import { whenScarce } from "../process/descriptors.ts"
import { HooklineError } from "../errors.ts"
import { routesFor, targetOf, type Endpoint } from "../http/routes.ts"
import type { Logger } from "../telemetry/log.ts"
import { admissionBy, type Access, type AdminAccess } from "./access.ts"
import { makeApi } from "./api/api.ts"
import { problem, problemOf } from "./api/problem.ts"
import { tooManyWrong } from "./api/session.ts"
import { answerWithPage } from "./page-files.ts"
import { Sampler } from "./sampler.ts"
import type { ComponentProblems, Readiness, Service } from "./service.ts"
import { wrongTokenCounter } from "./wrong-tokens.ts"

export type AdminServer = ReturnType<typeof openAdmin>

export interface AdminDeps {
  readonly service: Service
  /** Called with a fault, which is answered 500. */
  readonly failed: (error: unknown) => void
  readonly log: Pick<Logger, "warn">
}

/**
 * Opens the admin listener: `/healthz` (liveness), `/readyz` (readiness), `/metrics` (Prometheus, or OpenMetrics where Accept
 * asks for it), `/api/` and the page. With a token, metrics, the API and the reasons in `/readyz` require it; the probes'
 * status does not, since load balancers and
 * kubelets send no token. Requests for another host get 421. Paths that were not sent in their normal form get 404: a
 * proxy may pass `/metrics/../api/send` by a rule for `/metrics`.
 *
 * @throws HooklineError `listen`
 */
export function openAdmin(listen: EndpointOptions, access: Access, deps: AdminDeps) {
  const { service, failed } = deps
  let admission = admissionBy(access, listen.host)
  const routes = probes(service, () => admission)
  const wrongTokens = wrongTokenCounter(deps.log)
  const sampler = new Sampler(service, failed)
  const api = makeApi({ service, sampler, admission: () => admission, wrongTokens, failed })
  const endpoint: Endpoint = async (request, server, { path }) => {
    if (!admission.isOwnHost(request)) return text(421, "Host is not listed in [admin] hosts\n")
    if (isBearer(request) && !admission.hasToken(request)) {
      const waitS = await wrongTokens.count(server.requestIP(request)?.address ?? "")
      if (waitS > 0) return problemOf(tooManyWrong(waitS))!
    }
    if (path.startsWith("/api/")) return api.answer(request, server)
    const route = routes[path] ?? ((it) => answerWithPage(path, it))
    if (request.method !== "GET" && request.method !== "HEAD") return text(405, "", { Allow: "GET, HEAD" })
    return (await route(request)) ?? notFound()
  }
  try {
    const serve = (port: number): Bun.Server<undefined> =>
      Bun.serve({
        hostname: listen.host,
        port,
        routes: routesFor(ALL_PATHS, endpoint, refuse),
        fetch: (request, server) => refuse(request, server, targetOf(request.url)),
        // Bun's own page shows the source
        error(error) {
          failed(error)
          return text(500, "internal error\n")
        },
      })
    const listener = keepServing(serve, listen.port, deps)
    return {
      url: listener.url,
      setAccess(next: Access) {
        if (next.token !== admission.token) api.endSessions()
        admission = admissionBy(next, listen.host)
      },
      async close() {
        sampler.close()
        api.close()
        wrongTokens.close()
        await listener.close()
      },
    }
  } catch (error) {
    sampler.close()
    throw new HooklineError(
      "listen",
      `[admin] listen: ${listenFailure(listen, error as NodeJS.ErrnoException)}, or set listen = off`,
      { cause: error },
    )
  }
}

/** Listens until it is closed. Where file descriptors become scarce, all connections are closed, and the port is opened again. */
function keepServing(
  serve: (port: number) => Bun.Server<undefined>,
  firstPort: number,
  { failed, log }: Pick<AdminDeps, "failed" | "log">,
): { readonly url: string; close(): Promise<void> } {
  let server = serve(firstPort)
  const { url, port } = server
  const endWatch = whenScarce(() => {
    try {
      void server.stop(true)
      server = serve(port!)
      log.warn(
        "admin connections closed: file descriptors had become scarce; raise the limit (ulimit -n, LimitNOFILE), and see who connects to the admin port",
      )
    } catch (error) {
      // tried again by the next check
      failed(error)
    }
  })
  return {
    url: url.origin,
    close() {
      endWatch()
      return server.stop(true)
    },
  }
}

type Probe = (request: Request) => Response | Promise<Response | undefined>

const probes = (service: Service, admission: () => AdminAccess): { readonly [path: string]: Probe } => ({
  "/healthz": () => text(200, "ok\n"),
  "/readyz": async (request) => answer(await service.readiness(), admission().hasToken(request)),
  "/metrics": async (request) => {
    if (!admission().hasToken(request))
      return text(401, "bearer token required\n", { "WWW-Authenticate": "Bearer" })
    const { text: body, contentType } = await service.metrics(request.headers.get("accept"))
    return new Response(body, { headers: { "Content-Type": contentType } })
  },
})

const isBearer = ({ headers }: Request): boolean => /^bearer /i.test(headers.get("authorization") ?? "")

const ALL_PATHS = { exactPaths: [], hasPrefixes: true }

const refuse: Endpoint = (_request, _server, { path }) =>
  path.startsWith("/api/")
    ? problem(404, "no such path in this spelling; send it in its normal form")
    : notFound()

const notFound = (): Response => text(404, "not found; try /, /healthz, /readyz or /metrics\n")

function answer(
  { state, pipelines, connections, impaired, stores, listeners, spools, workers }: Readiness,
  withReasons: boolean,
): Response {
  const reasons = {
    pipelines: problemsOf(Iterator.from(pipelines).take(MAX_LISTED)),
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

function text(status: number, body: string, headers: { [name: string]: string } = {}): Response {
  return new Response(body, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } })
}
