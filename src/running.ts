import { openAdmin } from "./admin/server.ts"
import type { Broker } from "./brokers/broker.ts"
import type { ComponentContext, ComponentKind, Made } from "./components/component.ts"
import type { Connection } from "./config/connection.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "./config/delivery-timeout.ts"
import { openBroker } from "./connection.ts"
import { locate } from "./dedupe/location.ts"
import { MarkStores } from "./dedupe/mark-stores.ts"
import { HooklineError } from "./errors.ts"
import type { Processor } from "./event.ts"
import { isLoopback } from "./config/endpoint.ts"
import type { Route } from "./http/route.ts"
import { openServers } from "./http/server.ts"
import { composePipeline } from "./pipeline.ts"
import type { Plan, Planned, PlannedPipeline } from "./plan.ts"
import { verifiedFrom } from "./plan/verified.ts"
import { openLog, type Logger } from "./telemetry/log.ts"
import { Metrics } from "./telemetry/metrics.ts"
import { RequestLog } from "./telemetry/request-log.ts"

/** Where a pipeline takes webhooks in. */
export interface Listening {
  readonly pipeline: string
  /** With the port that is bound and the path: `http://127.0.0.1:8080/webhook`. */
  readonly url: string
}

/** A plan that runs. */
export interface Running {
  readonly log: Logger
  readonly listening: readonly Listening[]
  /** Drains, flushes, closes. Called again, it waits for the same end. */
  stop(): Promise<void>
}

/**
 * Opens everything that a plan names: connections, pipelines, listeners, in this order, so that nobody is let in before
 * there is somewhere to go.
 *
 * @throws HooklineError when a part can't be opened; those before it are closed again
 */
export async function runPlan(plan: Plan): Promise<Running> {
  const { service } = plan
  const log = openLog({ level: service.log_level, format: service.log_format })
  const requestLog = new RequestLog(log)
  const metrics = new Metrics()
  const brokers = new Map<string, Broker>()
  const stores = new MarkStores(log)
  // What the brokers still publish is still to be marked.
  const closeAll = async (): Promise<void> => {
    await Promise.all([...brokers.values()].map((broker) => broker.close()))
    await stores.close()
  }

  try {
    for (const [id, connection] of plan.connections) {
      const deps = { log: log.child({ connection: id }), metrics: metrics.connection(id) }
      brokers.set(id, openBroker(connection, deps))
    }
    const routes = plan.pipelines.map((pipeline) =>
      build(pipeline, { plan, brokers, stores, metrics, log, requestLog }),
    )
    const servers = openServers(routes, {
      maxInFlightBytes: service.max_in_flight_bytes,
      bodyTimeoutMs: service.body_timeout,
      log: requestLog,
      metrics: (id) => metrics.pipeline(id),
    })

    let stopped: Promise<void> | undefined
    const problems = (): Iterable<readonly [string, string | undefined]> =>
      [...brokers].map(([id, broker]) => {
        const ready = broker.ready()
        return [id, ready === true ? undefined : ready] as const
      })
    const storeProblems = (): Iterable<readonly [string, string | undefined]> => stores.problems()
    metrics.observe({
      inFlight: () => servers.inFlight(),
      connections: () => [...problems()].map(([id, problem]) => [id, problem === undefined] as const),
      stores: () => [...storeProblems()].map(([name, problem]) => [name, problem === undefined] as const),
    })
    let admin
    try {
      const status = {
        connections: problems,
        stores: storeProblems,
        draining: () => stopped !== undefined,
        metrics: () => metrics.expose(),
      }
      admin = plan.admin.listen === "off" ? undefined : openAdmin(plan.admin.listen, plan.admin.token, status)
    } catch (error) {
      await servers.drain(0)
      throw error
    }

    const listening = routes.map(({ pipeline, path }, i) => ({ pipeline, url: servers.urls[i]! + path }))
    for (const it of listening) log.info(it, "listening")
    if (admin !== undefined) log.info({ url: admin.url }, "admin listening")
    return {
      log,
      listening,
      stop: () =>
        (stopped ??= (async () => {
          log.info({ drain_timeout_ms: service.drain_timeout, ...servers.inFlight() }, "stopping")
          await servers.drain(service.drain_timeout)
          await closeAll()
          await admin?.close()
          requestLog.flush()
          log.info("stopped")
        })()),
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

interface Surroundings {
  readonly plan: Plan
  readonly brokers: ReadonlyMap<string, Broker>
  readonly stores: MarkStores
  readonly metrics: Metrics
  readonly log: Logger
  readonly requestLog: RequestLog
}

/** Makes a pipeline's components and joins them; the route is where its events come in. */
function build(pipeline: PlannedPipeline, surroundings: Surroundings): Route {
  const { plan, brokers, stores, metrics, log, requestLog } = surroundings
  const { id } = pipeline
  const destination = destinationOf(pipeline, plan)
  const context: ComponentContext = {
    pipeline: id,
    log: log.child({ pipeline: id }),
    metrics: metrics.pipeline(id),
    connection: (named) => {
      const connectionId = named ?? [...brokers.keys()][0]
      const broker = connectionId === undefined ? undefined : brokers.get(connectionId)
      if (connectionId === undefined || broker === undefined) {
        throw new HooklineError("internal", `pipeline ${id} names the connection ${named}, which is not open`)
      }
      return { broker, deliveryTimeoutMs: plan.connections.get(connectionId)!.values.delivery_timeout }
    },
    deliveryTimeoutMs: destination?.values.delivery_timeout ?? DEFAULT_DELIVERY_TIMEOUT_MS,
    marks: (store) => {
      const logDirectory = destination?.kind === "embedded" ? destination.values.directory : undefined
      return stores.at(locate(store, { pipeline: id, logDirectory, baseDir: plan.baseDir }))
    },
  }
  const make = <K extends ComponentKind>({ component, values }: Planned<K>): Made[K] =>
    component.create(values, context)
  const processors = pipeline.processors.map((it) => (typeof it === "function" ? it : make(it)))
  const { handle, admit, methods } = composePipeline({
    pipeline: id,
    processors,
    publish: make(pipeline.sink),
    verifiedFrom: verifiedFrom(pipeline),
    metrics: metrics.pipeline(id),
    log: requestLog,
  })
  const route = make(pipeline.source)(handle)
  warnIfOpen(pipeline, route, context.log)
  return { ...route, response: responseOf(route, processors), admit, methods }
}

/** The connection that a pipeline publishes on; undefined: its sink has none. */
function destinationOf({ sink }: PlannedPipeline, { connections }: Plan): Connection | undefined {
  if (!("connection" in sink.component.options)) return undefined
  const named = sink.values["connection"] as string | undefined
  return connections.get(named ?? [...connections.keys()][0] ?? "")
}

/** Says loudly that anybody who reaches the port can publish. */
function warnIfOpen(pipeline: PlannedPipeline, route: Route, log: Logger): void {
  // a Verifier that only observes says so itself
  const hasVerifier = pipeline.processors.some((it) => typeof it !== "function" && it.component.verifies)
  if (hasVerifier || verifiedFrom(pipeline) !== undefined || isLoopback(route.host)) return
  log.warn(
    { host: route.host, path: route.path },
    "NOT VERIFIED: anybody who reaches this address can publish; add a Verifier, tls_client_ca, or host = 127.0.0.1",
  )
}

/** The source's answer, or, where it has no body, what a step knows that the sender wants. */
function responseOf({ response }: Route, processors: readonly Processor[]): Route["response"] {
  const wanted = processors.find((it) => it.response !== undefined)?.response
  if (wanted === undefined || response.body !== "" || BODILESS.includes(response.status)) return response
  return { ...response, ...wanted }
}

/** RFC 9110: answers of these have none. */
const BODILESS = [204, 205]
