import type { Broker } from "./brokers/broker.ts"
import type { ComponentContext, ComponentKind, Made, Store } from "./components/component.ts"
import type { Connection } from "./config/connection.ts"
import { DEFAULT_DELIVERY_TIMEOUT_MS } from "./config/delivery-timeout.ts"
import { isLoopback } from "./config/endpoint.ts"
import { fingerprints } from "./config/fingerprint.ts"
import { inputsOf } from "./config/resolve.ts"
import { locate, nameOf, type Home } from "./dedupe/location.ts"
import type { Marks } from "./dedupe/marks.ts"
import { wantedMarks } from "./dedupe/open-marks.ts"
import { HooklineError } from "./errors.ts"
import type { Processor } from "./event.ts"
import type { Changeover } from "./holdings.ts"
import { isBodiless } from "./http/answer.ts"
import type { Route } from "./http/route.ts"
import { verifiedLimits } from "./http/verified-limits.ts"
import { composePipeline } from "./pipeline.ts"
import type { Plan, Planned, PlannedPipeline } from "./plan.ts"
import { verifiedFrom } from "./plan/verified.ts"
import type { Logger } from "./telemetry/log.ts"
import type { Metrics } from "./telemetry/metrics.ts"
import type { RequestLog } from "./telemetry/request-log.ts"
import type { Membership } from "./workers/membership.ts"

/** What pipelines are built with. */
export interface Surroundings {
  readonly plan: Plan
  readonly changeover: Changeover
  /** By id; the first is the one for sinks that name none. */
  readonly connections: ReadonlyMap<string, Usable>
  /** Has something done when the change is sure. */
  readonly later: (step: () => void) => void
  readonly metrics: Metrics
  readonly log: Logger
  readonly requestLog: RequestLog
  /** undefined: this process is alone. */
  readonly membership: Membership | undefined
}

/** A connection as pipelines use it. */
export interface Usable {
  readonly broker: Broker
  readonly deliveryTimeoutMs: number
}

/** A pipeline that is built. */
export interface Built {
  /** Where its events come in. */
  readonly route: Route
  /** The connections that its components asked for, by the id that they gave. */
  readonly uses: ReadonlyMap<string | undefined, Usable>
  /** The topics that its components named, by broker. */
  readonly topics: ReadonlyMap<Broker, readonly string[]>
  /** The stores of its Deduplicators, by their names. */
  readonly stores: ReadonlyMap<string, Marks>
}

/**
 * Makes a pipeline's components and joins them. One that runs, with equal options, files and connections, stays as it is.
 *
 * @throws HooklineError what a component finds wrong
 */
export function holdPipeline(pipeline: PlannedPipeline, surroundings: Surroundings): Built {
  const { changeover, connections, plan } = surroundings
  const { id, source, processors, sink } = pipeline
  const name = `pipeline ${id}`
  const destination = destinationOf(pipeline, plan)
  const parts = [source, ...processors, sink].map((it) =>
    typeof it === "function"
      ? it
      : [it.component, it.values, fingerprints(inputsOf(it.component, it.values))],
  )
  return changeover.hold({
    name,
    wants: [parts, homeOf(pipeline, destination, plan), deliveryTimeoutOf(destination)],
    open: () => build(pipeline, name, surroundings),
    fits: ({ uses }) =>
      [...uses].every(([asked, { broker, deliveryTimeoutMs }]) => {
        const now = find(connections, asked)
        return now?.broker === broker && now.deliveryTimeoutMs === deliveryTimeoutMs
      }),
  })
}

const find = (connections: ReadonlyMap<string, Usable>, id: string | undefined): Usable | undefined =>
  connections.get(id ?? connections.keys().next().value ?? "")

function build(pipeline: PlannedPipeline, name: string, surroundings: Surroundings): Built {
  const { plan, changeover, connections, later, metrics, log, requestLog, membership } = surroundings
  const { id } = pipeline
  const destination = destinationOf(pipeline, plan)
  const uses = new Map<string | undefined, Usable>()
  const topics = new Map<Broker, readonly string[]>()
  const stores = new Map<string, Marks>()
  const ownLog = log.child({ pipeline: id })
  const connection = (asked: string | undefined): Usable => {
    const found = find(connections, asked)
    if (found === undefined)
      throw new HooklineError("internal", `pipeline ${id} names the connection ${asked}, which is not open`)
    uses.set(asked, found)
    const { broker, deliveryTimeoutMs } = found
    const prepare = (names: readonly string[]): void =>
      void topics.set(broker, [...(topics.get(broker) ?? []), ...names])
    return { broker: withPrepare(broker, prepare), deliveryTimeoutMs }
  }
  const marks = (store: string, ca?: string): Marks => {
    const location = locate(store, homeOf(pipeline, destination, plan), ca)
    const held = changeover.hold(wantedMarks(location, log))
    stores.set(nameOf(location), held)
    return held
  }
  const seen = new Map<string, number>()
  const make = <K extends ComponentKind>({ component, values }: Planned<K>): Made[K] => {
    const { title } = component
    const nth = (seen.get(title) ?? 0) + 1
    seen.set(title, nth)
    const own = `${name}/${title} ${nth}`
    const context: ComponentContext = {
      pipeline: id,
      log: ownLog,
      metrics: metrics.pipeline(id),
      connection,
      deliveryTimeoutMs: deliveryTimeoutOf(destination),
      marks,
      sharedMarks: () => {
        const shared = storeOf(pipeline)
        return shared === undefined || shared.store === "memory" ? undefined : marks(shared.store, shared.ca)
      },
      hasLogFolder: destination?.kind === "embedded",
      keep: (wanted) => changeover.hold({ ...wanted, name: `${own}/${wanted.name}` }),
      workers: membership?.workers ?? 1,
      peers: membership && {
        join: (of, hear) => membership.peers.join(`${own}/${of}`, hear),
      },
    }
    return component.create(values, context)
  }
  const processors = pipeline.processors.map((it) => (typeof it === "function" ? it : make(it)))
  const publish = make(pipeline.sink)
  const route = make(pipeline.source)((event) => way.handle(event))
  const verified = verifiedFrom(pipeline)
  // where steps tell who is verified, they count; where the source does, or nobody, all that come are counted alike
  const limits = verified === undefined || verified === 0 ? undefined : verifiedLimits(route)
  const way = composePipeline({
    pipeline: id,
    processors,
    publish,
    verifiedFrom: verified,
    limits,
    metrics: metrics.pipeline(id),
    log: requestLog,
  })
  later(() => warnIfOpen(pipeline, route, ownLog))
  const own = {
    rateLimit: limits === undefined ? route.rateLimit : undefined,
    unverifiedLimit: limits === undefined ? undefined : route.unverifiedLimit,
    response: responseOf(route, processors),
  }
  return { route: { ...route, ...way, ...own }, uses, topics, stores }
}

/** The store that a component of the pipeline keeps keys in; of several, the first. */
function storeOf({ processors }: PlannedPipeline): Store | undefined {
  for (const it of processors) {
    const store = typeof it === "function" ? undefined : it.component.store?.(it.values)
    if (store !== undefined) return store
  }
  return undefined
}

/** The connection that a pipeline publishes on; undefined: its sink has none. */
function destinationOf({ sink }: PlannedPipeline, { connections }: Plan): Connection | undefined {
  if (!("connection" in sink.component.options)) return undefined
  const named = sink.values["connection"] as string | undefined
  return connections.get(named ?? connections.keys().next().value ?? "")
}

const deliveryTimeoutOf = (destination: Connection | undefined): number =>
  destination?.values.delivery_timeout ?? DEFAULT_DELIVERY_TIMEOUT_MS

/** What the places of a pipeline's stores depend on. */
function homeOf({ id }: PlannedPipeline, destination: Connection | undefined, { baseDir }: Plan): Home {
  const logDirectory = destination?.kind === "embedded" ? destination.values.directory : undefined
  return { pipeline: id, logDirectory, baseDir }
}

/** Topics are looked up, and made, only when the change is sure, and those of all pipelines together. */
function withPrepare(broker: Broker, prepare: Broker["prepare"]): Broker {
  return {
    publish: (record, deadlineMs) => broker.publish(record, deadlineMs),
    prepare,
    ready: () => broker.ready(),
    close: () => broker.close(),
  }
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
  if (wanted === undefined || response.body !== "" || isBodiless(response.status)) return response
  return { ...response, ...wanted }
}
