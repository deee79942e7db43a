import { HooklineError } from "../errors.ts"
import type { Rejected } from "../event.ts"
import { atOnce, type Steps } from "../slices.ts"
import { problem, REFUSALS } from "./answer.ts"
import { BodyDeadlines } from "./body-deadlines.ts"
import { ConnectionCap } from "./connection-cap.ts"
import { logRefusal, makeEndpoint, type Endpoint, type EndpointDeps } from "./endpoint.ts"
import { InFlight } from "./in-flight.ts"
import { IDLE_TIMEOUT_S, Listener, nameOf, type Answering, type Place } from "./listener.ts"
import { Pacing } from "./pacing.ts"
import { PathTable } from "./path-table.ts"
import { ReceivedRequest } from "./received-request.ts"
import type { Route } from "./route.ts"
import { readTls } from "./tls.ts"

/** What holds for all routes. */
export interface Limits {
  /** Bytes of bodies that may be held at once. */
  readonly maxInFlightBytes: number
  /** How long a body may take after its header section. */
  readonly bodyTimeoutMs: number
  /** Connections that may be open; undefined: as many as there are descriptors for. */
  readonly maxConnections?: number | undefined
}

export type ServerOptions = Limits &
  Pick<EndpointDeps, "log" | "metrics"> & {
    /** Whether other processes listen on the same ports, and see to it that nobody else does. */
    readonly sharesPorts?: boolean
  }

/** The listeners of all routes. */
export interface Servers {
  /** Where each route listens, with the port that is bound: `http://127.0.0.1:8080`, in the order of the routes. */
  readonly urls: readonly string[]
  /**
   * Prepares what other routes and limits need. One change is to be committed or given up before the next.
   *
   * @returns opens listeners that are not there yet; those that are wanted again stay as they are. Connections may come to
   *   them from then on.
   * @throws HooklineError as `openServers`, as does what it returns; nothing is changed then
   */
  prepare(routes: readonly Route[], limits: Limits): Steps<() => ServersChange>
  /**
   * Stops accepting, finishes what was accepted, closes everything, what is not finished after the time given too.
   * Meanwhile new requests on open connections are answered 503.
   */
  drain(timeoutMs: number): Promise<void>
  /** Requests that were admitted and not answered yet, and the bytes held of their bodies. */
  inFlight(): { requests: number; bytes: number }
  /** Whether connections are accepted: fewer are open than may be. */
  isAccepting(): boolean
}

/** A change of routes and limits that can't fail any more. */
export interface ServersChange {
  /**
   * Takes over. Requests that are under way end on the route that they began on; requests that come later, on open
   * connections too, are answered by the new routes.
   *
   * @returns resolves when all requests that began before have ended
   */
  commit(): Promise<void>
  /** Closes what was opened for it. */
  giveUp(): void
}

/**
 * For so long a drain answers 503 before it lets go of connections: Bun closes those without a request in its hands at
 * once, and a sender whose next request is on its way there would see the connection end instead.
 */
const FAREWELL_MS = 50

/**
 * Listens for webhooks. Routes of one host and port share a listener; each with port 0 has its own.
 *
 * @throws HooklineError `listen` naming host and port when one can't be listened on, `config` for TLS files that are
 *   not right or routes that can't share a listener; no listener is left open then
 */
export function openServers(
  first: readonly Route[],
  { log, metrics, sharesPorts = false, ...limits }: ServerOptions,
): Servers {
  const inFlight = new InFlight(limits.maxInFlightBytes)
  const pacing = new Pacing()
  let draining = false
  let routes: readonly Route[] = []
  let listeners: ReadonlyMap<string, Listener> = new Map()
  /** Without a route any more; they finish what they have. */
  const ending = new Set<Listener>()

  const stop = async (listener: Listener, now: boolean): Promise<void> => {
    ending.add(listener)
    await listener.stop(now)
    ending.delete(listener)
  }
  const stopAll = async (now: boolean): Promise<void> => {
    await Promise.all([...listeners.values(), ...ending].map((listener) => stop(listener, now)))
  }

  const cap = new ConnectionCap(
    {
      pause: () => listeners.forEach((listener) => listener.pause()),
      resume: () => resumeAll(listeners.values()),
    },
    log,
  )

  const prepare = function* (
    next: readonly Route[],
    { maxInFlightBytes, bodyTimeoutMs, maxConnections }: Limits,
  ): ReturnType<Servers["prepare"]> {
    const deps = {
      log,
      metrics,
      inFlight,
      pacing,
      bodyTimeoutMs,
      bodyDeadlines: new BodyDeadlines(bodyTimeoutMs),
      idleTimeoutS: IDLE_TIMEOUT_S,
      draining: () => draining,
    }
    const wanted: Wanted[] = []
    for (const [key, group] of Map.groupBy(next, keyOf)) {
      const tls = readTls(group[0]!)
      wanted.push({ key, place: group[0]!, tls, answering: yield* answeringOf(group, deps) })
    }
    const nobody = yield* answeringOf([], deps)
    return () =>
      open(wanted, nobody, () => {
        inFlight.maxBytes = maxInFlightBytes
        cap.setMost(maxConnections)
        routes = next
      })
  }

  const open = (wanted: readonly Wanted[], nobody: Answering, takeOver: () => void): ServersChange => {
    const opened = new Map<string, Listener>()
    const ports = new Set([...listeners.values()].map(({ port }) => port))
    const undo: (() => void)[] = []
    const redo: (() => void)[] = []
    const giveUp = (): void => {
      for (const step of undo) step()
    }
    try {
      for (const { key, place, tls, answering } of wanted) {
        const known = listeners.get(key)
        if (known === undefined) {
          const isShared = sharesPorts || ports.has(place.port)
          const listener = new Listener(place, tls, answering, { isShared, isSteered: !sharesPorts })
          undo.push(() => void listener.stop(true))
          opened.set(key, listener)
        } else {
          const { takeOver, giveUp } = known.prepare(tls)
          undo.push(giveUp)
          redo.push(takeOver, () => known.answer(answering))
          opened.set(key, known)
        }
      }
    } catch (error) {
      giveUp()
      throw error
    }
    const commit = (): Promise<void> => {
      for (const step of redo) step()
      for (const [key, listener] of listeners) {
        if (opened.has(key)) continue
        listener.answer(nobody)
        void stop(listener, false)
      }
      listeners = opened
      takeOver()
      return inFlight.turn()
    }
    return { commit, giveUp }
  }
  try {
    void atOnce(prepare(first, limits))().commit()
  } catch (error) {
    cap.end()
    throw error
  }

  return {
    get urls() {
      return routes.map((route) => listeners.get(keyOf(route))!.url)
    },
    prepare,
    async drain(timeoutMs) {
      draining = true
      cap.end()
      pacing.end()
      const { promise: late, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, timeoutMs)
      await Promise.race([Bun.sleep(FAREWELL_MS), late])
      const closed = stopAll(false)
      await Promise.race([closed, inFlight.none(), late])
      clearTimeout(timer)
      // the last answers are written when what waits for them has run; connections without a request are not waited for
      await new Promise(setImmediate)
      await stopAll(true)
    },
    inFlight: () => ({ requests: inFlight.requests, bytes: inFlight.bytes }),
    isAccepting: () => !cap.isFull,
  }
}

/** A listener that is to be there. */
interface Wanted {
  readonly key: string
  readonly place: Place
  readonly tls: Bun.TLSOptions | undefined
  readonly answering: Answering
}

/** Opens all that can be opened. @throws what the first of the others failed with */
function resumeAll(listeners: Iterable<Listener>): void {
  const failures: unknown[] = []
  for (const listener of listeners) {
    try {
      listener.resume()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

/** What tells listeners apart. */
const keyOf = (route: Route): string =>
  route.port === 0 ? `${route.pipeline} on ${route.host}` : nameOf(route)

function* answeringOf(routes: readonly Route[], deps: EndpointDeps): Steps<Answering> {
  const endpoints = new PathTable<Endpoint>()
  for (const route of routes) {
    yield
    const first = routes[0]!
    const at = `pipelines ${first.pipeline} and ${route.pipeline} share ${nameOf(route)}`
    if (!Bun.deepEquals(route.tls, first.tls))
      throw new HooklineError("config", `${at}, but not their TLS settings`)
    if (!endpoints.add(route.path, makeEndpoint(route, deps)))
      throw new HooklineError("config", `several pipelines have the path ${route.path} on ${nameOf(route)}`)
  }
  return {
    endpoints,
    elsewhere: refusing(REFUSALS.unknown_path, deps),
    misspelt: refusing(REFUSALS.path_not_normal, deps),
    failed(error) {
      const line = { err: error, pipeline: undefined, reason: REFUSALS.internal.reason }
      deps.log.write("error", line, "a request was not answered because of a fault")
    },
  }
}

/** Refuses what no pipeline is there for. */
function refusing(refusal: Rejected, { metrics, log }: EndpointDeps): Endpoint {
  const none = metrics("")
  return (request, server, target) => {
    none.answered(refusal.status)
    logRefusal(log, undefined, refusal, new ReceivedRequest(request, server, target, undefined))
    return problem(refusal, false)
  }
}
