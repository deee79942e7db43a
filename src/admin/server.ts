import { listenFailure, type EndpointOptions } from "../addresses/endpoint.ts"
import { HooklineError } from "../errors.ts"
import { Listener } from "../http/listener.ts"
import { PathTable, type Endpoint, type RequestHandlers } from "../http/routes.ts"
import type { ListenerTls } from "../http/tls.ts"
import { whenScarce } from "../process/descriptors.ts"
import type { Logger } from "../telemetry/log.ts"
import { admissionBy, type Access, type AdminAccess, type WrongTokens, wrongTokenCounter } from "./access.ts"
import { auditBy, type AuditTopic } from "./audit.ts"
import { makeApi } from "./api/api.ts"
import { overviewShape } from "./api/overview-shape.ts"
import { problem, problemOf } from "./api/problem.ts"
import { tooManyWrong } from "./api/session.ts"
import { answerWithPage } from "./page-files.ts"
import { probes, text } from "./probes.ts"
import { Replicas, type ReplicaSettings } from "./replicas.ts"
import type { Sampler } from "./sampler.ts"
import type { Service } from "./service.ts"

export type AdminServer = ReturnType<typeof openAdmin>

export interface AdminDeps {
  readonly service: Service
  readonly sampler: Sampler
  /** Called with a fault, which is answered 500. */
  readonly failed: (error: unknown) => void
  readonly log: Pick<Logger, "info" | "warn">
}

/** Who is admitted, and where actions are published; undefined: nowhere. */
export interface AdminSettings extends Access {
  readonly auditTopic?: AuditTopic | undefined
  /** undefined: this is the only one. */
  readonly replicas?: ReplicaSettings | undefined
}

/**
 * Opens the admin listener: `/healthz` (liveness), `/readyz` (readiness), `/metrics` (Prometheus, or OpenMetrics where Accept
 * asks for it), `/api/` and the page. With a token, metrics, the API and the reasons in `/readyz` require it; the probes'
 * status does not, since load balancers and
 * kubelets send no token. Requests for another host get 421. Paths that were not sent in their normal form get 404: a
 * proxy may pass `/metrics/../api/send` by a rule for `/metrics`.
 *
 * @param tls undefined: it speaks plain HTTP
 * @throws HooklineError `listen`
 */
export function openAdmin(
  listen: EndpointOptions,
  tls: ListenerTls | undefined,
  first: AdminSettings,
  deps: AdminDeps,
) {
  const { service, failed } = deps
  let settings = first
  let admission = admissionBy(settings, listen.host)
  const routes = probes(service, () => admission)
  const wrongTokens = wrongTokenCounter(deps.log)
  const api = openApi(
    deps,
    wrongTokens,
    () => settings,
    () => admission,
  )
  const respond: Endpoint = async (request, server, { path }) => {
    if (!admission.isOwnHost(request)) return text(421, "Host is not listed in [admin] hosts\n")
    if (isBearer(request) && admission.tokenOf(request) === undefined) {
      const waitS = await wrongTokens.count(server.requestIP(request)?.address ?? "")
      if (waitS > 0) return problemOf(tooManyWrong(waitS))!
    }
    if (path.startsWith("/api/")) return api.answer(request, server)
    const route = routes[path] ?? ((it) => answerWithPage(path, it))
    if (request.method !== "GET" && request.method !== "HEAD") return text(405, "", { Allow: "GET, HEAD" })
    return (await route(request)) ?? notFound()
  }
  const answer: Endpoint = async (...asked) => {
    try {
      return await respond(...asked)
    } catch (error) {
      failed(error)
      return text(500, "internal error\n")
    }
  }
  try {
    const listener = openListener(listen, tls, answer, failed)
    const endWatch = whenScarce(() => closeConnections(listener, deps))
    return {
      get url() {
        return listener.url
      },
      /** Opens a socket for another certificate. @throws HooklineError `listen` */
      prepare: (next: ListenerTls | undefined) => listener.prepare(next),
      set(next: AdminSettings) {
        const tokens = ["token", "readToken", "replicasToken"] as const
        if (tokens.some((it) => next[it] !== settings[it])) api.endSessions()
        settings = next
        api.replicas.set(next.replicas)
        admission = admissionBy(next, listen.host)
      },
      async close() {
        endWatch()
        api.close()
        wrongTokens.close()
        await listener.stop(true)
      },
    }
  } catch (error) {
    api.close()
    const cause = (error as Error).cause as NodeJS.ErrnoException
    throw new HooklineError(
      "listen",
      `[admin] listen: ${listenFailure(listen, cause)}, or set listen = off`,
      { cause },
    )
  }
}

/** The API, and what it reads all the time. */
function openApi(
  { service, sampler, log, failed }: AdminDeps,
  wrongTokens: WrongTokens,
  settings: () => AdminSettings,
  admission: () => AdminAccess,
) {
  const replicas = new Replicas(service.id, overviewShape(service.sectionLists), log)
  replicas.set(settings().replicas)
  sampler.replicas = replicas
  const audit = auditBy(log, () => settings().auditTopic)
  const api = makeApi({ service, sampler, replicas, admission, wrongTokens, failed, audit })
  return {
    ...api,
    replicas,
    close() {
      replicas.close()
      // after a reload there may be another listener, with replicas of its own
      if (sampler.replicas === replicas) sampler.replicas = undefined
      api.close()
    },
  }
}

/** Bun counts in steps of 4 s. */
const ADMIN_IDLE_TIMEOUT_S = 10

function openListener(
  listen: EndpointOptions,
  tls: ListenerTls | undefined,
  answer: Endpoint,
  failed: AdminDeps["failed"],
): Listener {
  const endpoints: RequestHandlers["endpoints"] = new PathTable()
  endpoints.add("/*", { answer })
  const handlers = { endpoints, unknownPath: refuse, notNormal: refuse, failed }
  return new Listener(listen, tls, handlers, { isShared: false, idleTimeoutS: ADMIN_IDLE_TIMEOUT_S })
}

function closeConnections(listener: Listener, { failed, log }: Pick<AdminDeps, "failed" | "log">): void {
  try {
    listener.reopen()
    log.warn(
      "admin connections closed: file descriptors had become scarce; raise the limit (ulimit -n, LimitNOFILE), and see who connects to the admin port",
    )
  } catch (error) {
    // tried again by the next check
    failed(error)
  }
}

const isBearer = ({ headers }: Request): boolean => /^bearer /i.test(headers.get("authorization") ?? "")

const refuse: Endpoint = (_request, _server, { path }) =>
  path.startsWith("/api/")
    ? problem(404, "no such path in this spelling; send it in its normal form")
    : notFound()

const notFound = (): Response => text(404, "not found; try /, /healthz, /readyz or /metrics\n")
