import { listenFailure, type EndpointOptions } from "../config/sections/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { routesFor, targetOf, type Endpoint } from "../http/routes.ts"
import { whenScarce } from "../process/descriptors.ts"
import type { Logger } from "../telemetry/log.ts"
import { admissionBy, type Access, wrongTokenCounter } from "./access.ts"
import { makeApi } from "./api/api.ts"
import { problem, problemOf } from "./api/route.ts"
import { tooManyWrong } from "./api/session.ts"
import { answerWithPage } from "./page-files.ts"
import { probes, text } from "./probes.ts"
import { Sampler } from "./sampler.ts"
import type { Service } from "./service.ts"

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

const isBearer = ({ headers }: Request): boolean => /^bearer /i.test(headers.get("authorization") ?? "")

const ALL_PATHS = { exactPaths: [], hasPrefixes: true }

const refuse: Endpoint = (_request, _server, { path }) =>
  path.startsWith("/api/")
    ? problem(404, "no such path in this spelling; send it in its normal form")
    : notFound()

const notFound = (): Response => text(404, "not found; try /, /healthz, /readyz or /metrics\n")
