import { HooklineError } from "../errors.ts"
import { problem, REFUSALS } from "./answer.ts"
import { logRefusal, makeEndpoint, type Endpoint, type EndpointDeps } from "./endpoint.ts"
import { InFlight } from "./in-flight.ts"
import { PathTable } from "./path-table.ts"
import { ReceivedRequest, targetOf } from "./received-request.ts"
import type { Route } from "./route.ts"
import { readTls } from "./tls.ts"

export interface ServerOptions extends Pick<EndpointDeps, "log" | "metrics"> {
  /** Bytes of bodies that may be held at once, over all routes. */
  readonly maxInFlightBytes: number
  /** How long a body may take after its header section. */
  readonly bodyTimeoutMs: number
}

/** The listeners of all routes. */
export interface Servers {
  /** Where each route listens, with the port that is bound: `http://127.0.0.1:8080`, in the order of the routes. */
  readonly urls: readonly string[]
  /**
   * Stops accepting, finishes what was accepted, closes everything, what is not finished after the time given too.
   * Meanwhile new requests on open connections are answered 503.
   */
  drain(timeoutMs: number): Promise<void>
  /** Requests that were admitted and not answered yet, and the bytes held of their bodies. */
  inFlight(): { requests: number; bytes: number }
}

/**
 * How long a kept-alive connection may be idle: longer than the usual minute of load balancers, so that they are the
 * ones that close. Bun counts in steps of 4 s.
 *
 * The time for a header section is Bun's own: 8 to 12 s after a connection's first byte whatever is set and however the
 * bytes drip; on a kept-alive connection this idle time, counted from the answer before. Bun closes without an answer.
 */
const IDLE_TIMEOUT_S = 75

/**
 * Listens for webhooks. Routes of one host and port share a listener; each with port 0 has its own.
 *
 * @throws HooklineError `listen` naming host and port when one can't be listened on, `config` for TLS files that are
 *   not right or routes that can't share a listener; no listener is left open then
 */
export function openServers(routes: readonly Route[], options: ServerOptions): Servers {
  const inFlight = new InFlight(options.maxInFlightBytes)
  let draining = false
  const deps = { ...options, inFlight, idleTimeoutS: IDLE_TIMEOUT_S, draining: () => draining }

  const servers = new Map<Route, Bun.Server<undefined>>()
  const stopAll = async (now: boolean): Promise<void> => {
    await Promise.all([...new Set(servers.values())].map((server) => server.stop(now)))
  }
  try {
    for (const group of groupByListener(routes)) {
      const server = listen(group, deps)
      for (const route of group) servers.set(route, server)
    }
  } catch (error) {
    void stopAll(true)
    throw error
  }

  return {
    urls: routes.map((route) => servers.get(route)!.url.origin),
    async drain(timeoutMs) {
      draining = true
      const closed = stopAll(false)
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, timeoutMs)
      await Promise.race([closed, inFlight.none(), late])
      clearTimeout(timer)
      // the last answers are written when what waits for them has run; connections without a request are not waited for
      await new Promise(setImmediate)
      await stopAll(true)
    },
    inFlight: () => ({ requests: inFlight.requests, bytes: inFlight.bytes }),
  }
}

function groupByListener(routes: readonly Route[]): Iterable<readonly Route[]> {
  return Map.groupBy(routes, (route) => (route.port === 0 ? route : nameOf(route))).values()
}

const nameOf = ({ host, port }: Route): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

function listen(routes: readonly Route[], deps: EndpointDeps): Bun.Server<undefined> {
  const first = routes[0]!
  const endpoints = new PathTable<Endpoint>()
  for (const route of routes) {
    const at = `pipelines ${first.pipeline} and ${route.pipeline} share ${nameOf(route)}`
    if (!Bun.deepEquals(route.tls, first.tls))
      throw new HooklineError("config", `${at}, but not their TLS settings`)
    if (!endpoints.add(route.path, makeEndpoint(route, deps)))
      throw new HooklineError("config", `several pipelines have the path ${route.path} on ${nameOf(route)}`)
  }
  const tls = readTls(first)
  const elsewhere = refuseUnknownPaths(deps)
  try {
    return Bun.serve({
      hostname: first.host,
      port: first.port,
      ...(tls === undefined ? {} : { tls }),
      idleTimeout: IDLE_TIMEOUT_S,
      // the limits are the endpoints' own; Bun would answer 413 without a problem document
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      development: false,
      fetch(request, server) {
        const target = targetOf(request.url)
        return (endpoints.find(target.path) ?? elsewhere)(request, server, target)
      },
      error(error) {
        const line = { err: error, pipeline: undefined, reason: REFUSALS.internal.reason }
        deps.log.write("error", line, "a request was not answered because of a fault")
        return problem(REFUSALS.internal, false)
      },
    })
  } catch (error) {
    throw new HooklineError("listen", `can't listen on ${nameOf(first)}: ${reasonOf(error)}`, {
      cause: error,
    })
  }
}

function refuseUnknownPaths({ metrics, log }: EndpointDeps): Endpoint {
  const none = metrics("")
  return (request, server, target) => {
    none.answered(REFUSALS.unknown_path.status)
    const info = new ReceivedRequest(request, server, target, undefined)
    logRefusal(log, undefined, REFUSALS.unknown_path, info)
    return problem(REFUSALS.unknown_path, false)
  }
}

const LISTEN_FAILURES: { readonly [code: string]: string } = {
  EADDRINUSE: "the port is in use; stop what uses it (ss -ltnp shows it) or set another port",
  EACCES: "no permission; ports below 1024 want root or CAP_NET_BIND_SERVICE",
  EADDRNOTAVAIL: "the host is not an address of this machine",
}

function reasonOf(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException
  return LISTEN_FAILURES[code] ?? message
}
