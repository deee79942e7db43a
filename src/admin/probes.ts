import type { SpoolState } from "../brokers/broker.ts"
import type { AdminAccess } from "./access.ts"
import { acceptsGzip } from "./page-files.ts"
import { failedReload } from "./problems/subjects/configuration.ts"
import type { ComponentProblems, Readiness, Service } from "./service.ts"

type Probe = (request: Request) => Response | Promise<Response | undefined>

/** What is answered at each path of the probes. The status of `/readyz` is for everyone, its reasons take the token. */
export const probes = (
  service: Service,
  admission: () => AdminAccess,
): { readonly [path: string]: Probe } => ({
  "/healthz": () => text(200, "ok\n"),
  "/readyz": (request) => {
    // a load balancer may send no Host, and the URL has none then
    const [exclude, ...more] = new URL(request.url, "http://localhost").searchParams.getAll("exclude")
    if ((exclude !== undefined && exclude !== "brokers") || more.length > 0)
      return text(400, "brokers is the only value of exclude\n")
    return readyzAnswer(
      service.readiness(exclude),
      failedReload(service.configuration()),
      admission().tokenOf(request) !== undefined,
    )
  },
  "/metrics": (request) => {
    if (admission().tokenOf(request) === undefined)
      return text(401, "bearer token required\n", { "WWW-Authenticate": "Bearer" })
    const { body, contentType } = service.metrics(request.headers.get("accept"))
    const headers = { "Content-Type": contentType, Vary: "Accept, Accept-Encoding" }
    if (!acceptsGzip(request)) return new Response(body, { headers })
    const gzipped = body.pipeThrough(new CompressionStream("gzip"))
    return new Response(gzipped, { headers: { ...headers, "Content-Encoding": "gzip" } })
  },
})

function readyzAnswer(
  { state, pipelines, connections, impaired, stores, listeners, spools }: Readiness,
  configuration: string | undefined,
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
  }
  const shown = Object.entries(reasons).filter(([name, of]) => name === "connections" || !isEmpty(of))
  const status = state === "ready" || state === "partly ready" ? 200 : 503
  const detail = { ...Object.fromEntries(shown), ...(configuration !== undefined && { configuration }) }
  return Response.json({ status: state, ...(withReasons && detail) }, { status })
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

export function text(status: number, body: string, headers: { [name: string]: string } = {}): Response {
  return new Response(body, { status, headers: { "Content-Type": "text/plain; charset=utf-8", ...headers } })
}
