import { steadyMs, within } from "../clock/clock.ts"
import { Deadlines } from "../clock/deadlines.ts"
import type { Steps } from "../clock/slices.ts"
import { hostKey } from "../addresses/endpoint.ts"
import { type AnsweredRequest, OutcomeLog, type Watchers } from "../pipeline/outcome-log.ts"
import { once } from "../telemetry/handles.ts"
import type { PipelineMetrics } from "../telemetry/metrics.ts"
import type { Tracer } from "../telemetry/traces/trace.ts"
import { InFlightBudget } from "./admission/budget.ts"
import { ConnectionLimit } from "./connection-limit.ts"
import { PipelineEndpoint, requestHandlers, type EndpointDeps } from "./endpoint.ts"
import { Listener } from "./listener.ts"
import { Mount, mountable } from "./mount.ts"
import type { Route } from "./route.ts"
import type { RequestHandlers } from "./routes.ts"
import { toRequest, type Submission } from "./submission.ts"

export interface Limits {
  /** Bytes of bodies held at once. */
  readonly maxInFlightBytes: number
  /** The time that a body may take, from the end of the header section. */
  readonly bodyTimeoutMs: number
  /** undefined: as many as descriptors allow. */
  readonly maxConnections?: number | undefined
}

export interface ServerOptions extends Watchers {
  /** Metrics of a pipeline; "": of requests for none. */
  readonly metrics: (pipelineId: string) => PipelineMetrics
  /** Whether other instances may listen on the same ports, too; otherwise these must be free. */
  readonly sharesPorts?: boolean
  /** Default: own ports. */
  readonly from?: RequestsFrom | undefined
}

/** Own ports, another server (by `fetch`), or both. */
export interface RequestsFrom {
  readonly ports: boolean
  readonly mount: boolean
}

/** A prepared change of routes and limits, which can't fail. */
export interface ServersChange {
  /** Switches: later requests use the new routes. @returns resolves when all earlier requests have ended */
  commit(): Promise<void>
  /** Closes what was opened for it. */
  abort(): void
}

/**
 * Milliseconds for which a drain answers 503 before it closes connections: Bun closes those without a request immediately, and a
 * sender whose next request is in transit would get a reset.
 */
const DRAIN_GRACE_MS = 50

/** The HTTP servers. Routes of one host and port share a listener; those with port 0 have one each. */
export class Servers {
  readonly #options: ServerOptions
  /** The budget of the current limits. */
  readonly #budget = new InFlightBudget(0)
  /** Serves requests that another server passes on, where the options have one. */
  readonly mount = new Mount()
  readonly #from: RequestsFrom
  /** undefined: no own ports, or none opened yet. */
  #connectionLimit: ConnectionLimit | undefined
  readonly #draining = new AbortController()
  #routes: readonly Route[] = []
  /** The requirements of the endpoints of the current routes. */
  #deps: EndpointDeps | undefined
  #listeners: ReadonlyMap<string, Listener> = new Map()
  /** Listeners that have no routes any more and finish their requests. */
  readonly #ending = new Set<Listener>()

  constructor(options: ServerOptions) {
    this.#options = options
    this.#from = options.from ?? { ports: true, mount: false }
  }

  /** The routes' URLs with the bound ports, `http://127.0.0.1:8080`, in order; none without ports. */
  get urls(): readonly string[] {
    if (!this.#from.ports) return []
    return this.#routes.map((route) => this.#listeners.get(keyOf(route))!.url)
  }

  /** Unanswered requests, and the bytes of their bodies. */
  inFlight(): { requests: number; bytes: number } {
    return { requests: this.#budget.requests, bytes: this.#budget.bytes }
  }

  get maxInFlightBytes(): number {
    return this.#budget.maxBytes
  }

  isAccepting(): boolean {
    return this.#connectionLimit?.isFull !== true
  }

  /**
   * Prepares the first routes and limits, or others. Each change is committed or aborted before the next.
   *
   * @param tracer undefined: nothing is traced
   * @returns opens new listeners, which accept connections from then on
   * @throws HooklineError `listen`, `config` (TLS files, conflicting routes), as does the returned function; nothing is
   *   changed then
   */
  *prepare(routes: readonly Route[], limits: Limits, tracer: Tracer | undefined): Steps<() => ServersChange> {
    const { maxInFlightBytes, maxConnections } = limits
    const deps = this.#depsOf(limits, tracer)
    const prepared: PreparedListener[] = []
    const groups = new Map<string, Route[]>()
    for (const route of this.#from.ports ? routes : []) {
      groups.getOrInsertComputed(keyOf(route), () => []).push(route)
      yield
    }
    for (const [key, group] of groups) {
      const handlers = yield* requestHandlers(group, deps, this.#listeners.get(key)?.endpoints)
      prepared.push([key, group[0]!, handlers])
    }
    const withoutRoutes = yield* requestHandlers([], deps)
    const mountedRoutes = this.#from.mount ? mountable(routes, this.#from.ports) : []
    const mounted = yield* requestHandlers(mountedRoutes, { ...deps, isFramed: false, shapes: new Map() })
    return () =>
      this.#open(prepared, withoutRoutes, () => {
        this.#budget.maxBytes = maxInFlightBytes
        this.#connectionLimit?.setMax(maxConnections)
        this.mount.setHandlers(mounted)
        this.#routes = routes
        this.#deps = deps
      })
  }

  /** Those of the current routes, where they are the same. */
  #depsOf({ bodyTimeoutMs }: Limits, tracer: Tracer | undefined): EndpointDeps {
    const now = this.#deps
    if (now?.bodyTimeoutMs === bodyTimeoutMs && now.tracer === tracer) return now
    const { metrics } = this.#options
    return {
      outcomes: (pipeline) => new OutcomeLog(pipeline, metrics(pipeline ?? ""), this.#options),
      budget: this.#budget,
      isFramed: true,
      bodyTimeoutMs,
      bodyDeadlines: new Deadlines(bodyTimeoutMs),
      draining: this.#draining.signal,
      tracer,
      shapes: new Map(),
    }
  }

  #open(
    prepared: readonly PreparedListener[],
    withoutRoutes: RequestHandlers,
    committed: () => void,
  ): ServersChange {
    const { sharesPorts = false } = this.#options
    const listeners = new Map<string, Listener>()
    const ports = new Set([...this.#listeners.values()].map(({ address }) => address.port))
    const takeOver: (() => void)[] = []
    using opening = new DisposableStack()
    this.#limitConnections(opening)
    for (const [key, route, handlers] of prepared) {
      const kept = this.#listeners.get(key)
      const isShared = sharesPorts || ports.has(route.port)
      const listener = kept ?? new Listener(route, route.tls, handlers, { isShared })
      listeners.set(key, listener)
      if (kept === undefined) {
        opening.defer(() => void listener.stop(true))
        continue
      }
      const change = kept.prepare(route.tls)
      opening.defer(change.abort)
      takeOver.push(change.takeOver, () => kept.setHandlers(handlers))
    }
    const opened = opening.move()
    const commit = (): Promise<void> => {
      for (const step of takeOver) step()
      for (const [key, listener] of this.#listeners) {
        if (listeners.has(key)) continue
        listener.setHandlers(withoutRoutes)
        void this.#stop(listener, false)
      }
      this.#listeners = listeners
      committed()
      return this.#budget.answered()
    }
    return { commit, abort: () => opened.dispose() }
  }

  /** Before anything listens. @throws HooklineError `listen` */
  #limitConnections(opening: DisposableStack): void {
    if (!this.#from.ports || this.#connectionLimit !== undefined) return
    const listeners = {
      pause: () => this.#listeners.forEach((listener) => listener.pause()),
      resume: () => this.#resume(),
    }
    const limit = (this.#connectionLimit = new ConnectionLimit(listeners, this.#options.log))
    opening.defer(() => {
      limit.end()
      this.#connectionLimit = undefined
    })
  }

  /**
   * Answers a request as if it came to a pipeline, whatever its path; undefined: there is no such pipeline. Its outcome does
   * not count against its sender, whose limit of unverified requests does not apply.
   */
  async submit(
    pipeline: string,
    submission: Submission,
  ): Promise<{ readonly response: Response; readonly answered: AnsweredRequest | undefined } | undefined> {
    const route = this.#routes.find((it) => it.pipeline === pipeline)
    const deps = this.#deps
    if (route === undefined || deps === undefined) return undefined
    const { metrics, onAnswer } = this.#options
    const { path, query, firstCameAtMs, isOwn, isInjected } = submission
    let answered: AnsweredRequest | undefined
    const note = (it: AnsweredRequest): void => {
      answered = it
      onAnswer?.(it)
    }
    const outcomes = new OutcomeLog(pipeline, metrics(pipeline), { ...this.#options, onAnswer: note })
    const endpoint = new PipelineEndpoint(
      { ...route, unverifiedLimit: undefined, ...(isOwn && { allows: undefined }) },
      { ...deps, outcomes: () => outcomes, isFramed: false, shapes: new Map(), firstCameAtMs, isInjected },
    )
    const { request, peer } = toRequest(submission)
    const response = await endpoint.answer(request, peer, { path, query })
    return { response, answered }
  }

  /** Finishes accepted requests, answers new ones 503, and closes everything, by the timeout at the latest. */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining.abort()
    this.#connectionLimit?.end()
    const untilMs = steadyMs() + timeoutMs
    await Bun.sleep(Math.min(DRAIN_GRACE_MS, timeoutMs))
    const idle = Promise.race([this.#stopAll(false), this.#budget.answered()])
    await within(untilMs - steadyMs(), idle, () => {})
    // the last answers are written in the next turn; connections without a request are not waited for
    await new Promise(setImmediate)
    await this.#stopAll(true)
  }

  /** Resumes all listeners. @throws the first failure, after all were tried */
  #resume(): void {
    let failure: unknown
    for (const listener of this.#listeners.values()) {
      try {
        listener.resume()
      } catch (error) {
        failure ??= error
      }
    }
    if (failure !== undefined) throw failure
  }

  async #stop(listener: Listener, now: boolean): Promise<void> {
    this.#ending.add(listener)
    await listener.stop(now)
    this.#ending.delete(listener)
  }

  async #stopAll(now: boolean): Promise<void> {
    await Promise.all([...this.#listeners.values(), ...this.#ending].map((it) => this.#stop(it, now)))
  }
}

/** A listener of the next routes, open or not: its key, the first of its routes, and the handlers of its requests. */
type PreparedListener = readonly [key: string, route: Route, handlers: RequestHandlers]

const keyOf = ({ pipeline, host, port }: Route): string =>
  port === 0 ? `${pipeline} on ${host}` : `${keyOfHost(host)} ${port}`

const keyOfHost = once(hostKey)
