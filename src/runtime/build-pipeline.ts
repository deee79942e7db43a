import type { Broker } from "../brokers/broker.ts"
import type { Component, ComponentKind, Made } from "../components/define-component.ts"
import { components } from "../components/registry.ts"
import { fingerprints } from "../config/options/reloading.ts"
import type { Steps } from "../clock/slices.ts"
import { nameOf } from "../dedupe/location.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import { dedupeKeysSpec } from "../dedupe/open-store.ts"
import { HooklineError } from "../errors.ts"
import { contextsOf, createComponent } from "./component-context.ts"
import type { OpenConnection, OpenConnections } from "./connections.ts"
import type { Transaction } from "./resources.ts"
import type { Route } from "../http/route.ts"
import type { RequestsFrom } from "../http/server.ts"
import { composePipeline, type Handler } from "../pipeline/compose.ts"
import { rarely } from "../clock/lasting.ts"
import { LISTINGS } from "../reconcile/listings.ts"
import { indexed, OutcomeWriter } from "../reconcile/outcome-index.ts"
import { openOutcomes, placeInPlan } from "./reconciles.ts"
import type { Publisher, TopicSchemas } from "../pipeline/event.ts"
import type { Plan, Planned, PlannedPipeline } from "./plan/plan.ts"
import { senderOf } from "./plan/sender.ts"
import { isOpenToAll, NOT_VERIFIED, verifiedFrom } from "./plan/verified.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import { Deadlines } from "../clock/deadlines.ts"

export interface PipelineDependencies {
  readonly plan: Plan
  readonly transaction: Transaction
  /** The first serves sinks that name none. */
  readonly connections: OpenConnections
  readonly metrics: Metrics
  readonly log: Logger
  readonly requestLog: RequestLog
  /** Called when a pipeline that runs names further topics. */
  readonly topicsAdded: () => void
  /** Processes that share the load. */
  readonly workers: number
  /** undefined: own ports. */
  readonly from: RequestsFrom | undefined
}

export interface BuiltPipeline {
  readonly route: Route
  /** The connections that its components use, by the id they gave. */
  readonly uses: ReadonlyMap<string | undefined, OpenConnection>
  /** The topics that its components publish to, by broker. */
  readonly topics: ReadonlyMap<Broker, readonly string[]>
  /** Those among them that a component chose in addition to its sink's: more may come. */
  readonly routedTopics: ReadonlySet<string>
  readonly stores: ReadonlyMap<string, DedupeKeys>
  /** undefined: its events need none. */
  readonly schemas: TopicSchemas | undefined
}

export type BuiltPipelines = ReadonlyMap<string, BuiltPipeline>

/** Builds a plan's pipelines; keeps those with equal options, files and connections. @throws what a `create` throws */
export function* acquirePipelines(deps: PipelineDependencies): Steps<BuiltPipelines> {
  const built = new Map<string, BuiltPipeline>()
  for (const pipeline of deps.plan.pipelines) {
    built.set(pipeline.id, acquirePipeline(pipeline, deps))
    yield
  }
  return built
}

function acquirePipeline(pipeline: PlannedPipeline, deps: PipelineDependencies): BuiltPipeline {
  const { transaction, connections, plan } = deps
  const { id, source, processors, sink } = pipeline
  // every option of a component is of the kind that reopens: a pipeline that was not read again is the same object
  const files = [source, ...processors, sink].flatMap((it) =>
    typeof it === "function" ? [] : fingerprints(it.component, it.values),
  )
  return transaction.acquire({
    name: `pipeline ${id}`,
    config: [pipeline, files, plan.baseDir, indexOf(pipeline, plan)?.place],
    open: () => build(pipeline, deps),
    fits: ({ uses }) =>
      [...uses].every(([asked, { broker, deliveryTimeoutMs }]) => {
        const now = findConnection(connections, asked)
        return now?.broker === broker && now.deliveryTimeoutMs === deliveryTimeoutMs
      }),
  })
}

const findConnection = (open: OpenConnections, id: string | undefined): OpenConnection | undefined =>
  open.get(id ?? open.keys().next().value ?? "")

function build(pipeline: PlannedPipeline, deps: PipelineDependencies): BuiltPipeline {
  const { plan, transaction, connections, metrics, log, requestLog, workers, from, topicsAdded } = deps
  const { id, sink } = pipeline
  const uses = new Map<string | undefined, OpenConnection>()
  const topics = new Map<Broker, readonly string[]>()
  const stores = new Map<string, DedupeKeys>()
  const ownLog = log.child({ pipeline: id })
  const connection = (asked: string | undefined): OpenConnection => {
    const found = findConnection(connections, asked)
    if (found === undefined)
      throw new HooklineError("internal", `pipeline ${id} names the connection ${asked}, which is not open`)
    uses.set(asked, found)
    const { broker } = found
    // looked up, and created, at the commit only, all pipelines' topics together
    const prepare = (names: readonly string[]): void =>
      void topics.set(broker, [...(topics.get(broker) ?? []), ...names])
    return { ...found, broker: withPrepare(broker, prepare) }
  }
  const routedTopics = new Set<string>()
  let isRunning = false
  let schemas: TopicSchemas | undefined
  const prepareSchemas = (): void => schemas?.prepare([...new Set([...topicsOf(sink), ...routedTopics])])
  transaction.onCommit(() => {
    isRunning = true
    prepareSchemas()
  })
  const contextOf = contextsOf(pipeline, {
    baseDir: plan.baseDir,
    log: ownLog,
    metrics: metrics.pipeline(id),
    connection,
    addTopics: (names) => {
      for (const name of names) routedTopics.add(name)
      if (!isRunning) return
      prepareSchemas()
      topicsAdded()
    },
    acquire: (spec) => transaction.acquire(spec),
    sender: senderOf(pipeline.processors),
    openKeys: (location) => {
      const keys = transaction.acquire(dedupeKeysSpec(location, log))
      const beside =
        location.kind === "embedded" &&
        connections.values().find(({ logDirectory }) => logDirectory === location.directory)
      if (beside && beside.keyJournal !== undefined) keys.store.useJournal?.(beside.keyJournal)
      stores.set(nameOf(location), keys)
      return keys
    },
    workers,
  })
  const make = <K extends ComponentKind>({ component, values }: Planned<K>): Made[K] => {
    const made = createComponent({ component, values }, contextOf(component.title))
    return components.includes(component as Component) ? Object.assign(made, { isBounded: true }) : made
  }
  const processors = pipeline.processors.map((it) => (typeof it === "function" ? it : make(it)))
  const publish: Publisher = make(sink)
  schemas = publish.schemas
  const composed = composePipeline({
    pipeline: id,
    processors,
    publish,
    deadlines: new Deadlines(contextOf(sink.component.title).deliveryTimeoutMs),
    verifiedFrom: verifiedFrom(pipeline),
    metrics: metrics.pipeline(id),
    log: requestLog,
  })
  const route = make(pipeline.source)(withOutcomeIndex(composed, pipeline, deps))
  if (from?.ports !== false) transaction.onCommit(() => warnIfOpen(pipeline, route, ownLog))
  return { route, uses, topics, routedTopics, stores, schemas }
}

/** The section whose sender's list does not say what it got, so that outcomes are indexed, and where. */
function indexOf({ id }: PlannedPipeline, plan: Plan) {
  const planned = plan.reconciles.find(
    (it) => it.pipeline.id === id && LISTINGS[it.provider]!.item.got === undefined,
  )
  return planned && { planned, place: placeInPlan(planned, plan) }
}

function withOutcomeIndex(handler: Handler, pipeline: PlannedPipeline, deps: PipelineDependencies): Handler {
  const { plan, transaction, log } = deps
  const index = indexOf(pipeline, plan)
  if (index === undefined) return handler
  const { planned, place } = index
  const { id, values, provider } = planned
  const failed = rarely(60_000, (times) =>
    log.error({ reconcile: id, times }, "outcomes could not be written to the index"),
  )
  const writer = transaction.acquire({
    name: `outcome index ${id}`,
    config: [place, values.window],
    open: () => new OutcomeWriter(openOutcomes(planned, place), 2 * values.window, failed),
    close: (it) => it.close(),
  })
  return indexed(handler, LISTINGS[provider]!.item.event, writer)
}

/** The topic of a sink's accepted events, where it has one. */
const topicsOf = ({ values }: Planned<"sink">): readonly string[] =>
  typeof values["topic"] === "string" ? [values["topic"]] : []

function withPrepare(broker: Broker, prepare: Broker["prepare"]): Broker {
  return {
    publish: broker.publish.bind(broker),
    prepare,
    ready: () => broker.ready(),
    close: () => broker.close(),
  }
}

/** Warns of a pipeline without authentication. */
function warnIfOpen(pipeline: PlannedPipeline, { host, path }: Route, log: Logger): void {
  // a Verifier in mode observe logs its own warning
  if (isOpenToAll(pipeline, host)) log.warn({ host, path }, NOT_VERIFIED)
}
