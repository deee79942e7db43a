import { messageInFile } from "../message.ts"
import type { Broker } from "../brokers/broker.ts"
import type { Component, ComponentKind, Made } from "../components/define-component.ts"
import { components } from "../components/registry.ts"
import { fingerprints } from "../config/options/reloading.ts"
import type { Steps } from "../clock/slices.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { RedisServer } from "../dedupe/redis-client.ts"
import { HooklineError } from "../errors.ts"
import { joinsOf, type PreparedExtension } from "./extensions.ts"
import type { PipelineJoin } from "../extensions/host.ts"
import { contextsOf, createComponent, type PreparableConnection } from "./component-context.ts"
import type { OpenConnection, OpenConnections } from "./connections.ts"
import type { PlanTransaction } from "./plan-transaction.ts"
import type { Route } from "../http/route.ts"
import { countReplicas } from "../admin/replica-places.ts"
import { SharedLimits } from "../components/webhook-source/shared-limits.ts"
import type { RequestsFrom } from "../http/server.ts"
import { composePipeline } from "../pipeline/compose.ts"
import { once } from "../telemetry/handles.ts"
import type { KnownSender } from "../components/known-sender.ts"
import type { Publisher } from "../pipeline/event.ts"
import type { TopicSchemas } from "../pipeline/topic-schemas.ts"
import type { Plan, Planned, PlannedPipeline } from "./plan/plan.ts"
import { senderOf } from "../components/processor-facts.ts"
import { isOpenToAll, NOT_VERIFIED, verifiedFrom } from "./plan/verified.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metrics } from "../telemetry/metrics.ts"
import type { RequestLog } from "../telemetry/request-log.ts"
import { Deadlines } from "../clock/deadlines.ts"

/** The plan around pipelines, as far as they are opened by it. */
interface SurroundingPlan extends Pick<Plan, "baseDir" | "connections"> {
  readonly pipelines: readonly OpenablePipeline[]
  readonly admin: Partial<Plan["admin"]>
}

/** A planned pipeline; one that is checked may lack parts. */
export type OpenablePipeline = Pick<PlannedPipeline, "id" | "processors"> & {
  readonly [end in "source" | "sink"]: PlannedPipeline[end] | undefined
} & {
  /** Absent: by its processors. */
  readonly sender?: KnownSender | undefined
}

export interface PipelineDependencies {
  readonly plan: SurroundingPlan
  readonly transaction: PlanTransaction
  /** The first serves sinks that name none. */
  readonly connections: OpenConnections
  readonly metrics: Metrics
  readonly log: Logger
  readonly requestLog: RequestLog
  /** Called when a pipeline that runs names further topics. */
  readonly topicsAdded: () => void
  /** undefined: own ports. */
  readonly from: RequestsFrom | undefined
  /** The Redis in which replicas count their rate limits. */
  readonly redis: RedisServer | undefined
  /** None in a check. */
  readonly extensions: readonly PreparedExtension[]
}

/** A pipeline that is open, and what its components use. */
export class BuiltPipeline {
  /** Set once it is built; never where parts of it can't be opened. */
  route!: Route
  /** The connections that its components use, by the id they gave. */
  readonly uses: (readonly [asked: string | undefined, open: OpenConnection])[] = []
  /** The topics that its components publish to. */
  readonly topics: (readonly [broker: Broker, name: string])[] = []
  /** Those among them that a component chose in addition to its sink's: more may come. */
  routedTopics: Set<string> | undefined
  stores: ReadonlyMap<string, DedupeKeys> = NO_STORES
  /** undefined: its events need none. */
  schemas: TopicSchemas | undefined
  readonly #sink: Planned<"sink"> | undefined
  readonly #topicsAdded: () => void
  #isRunning = false

  /** @param topicsAdded called when it names further topics while it runs */
  constructor(sink: Planned<"sink"> | undefined, topicsAdded: () => void) {
    this.#sink = sink
    this.#topicsAdded = topicsAdded
  }

  /** @returns the connection, whose topics are looked up, and created, at the commit only, all pipelines' together */
  use(asked: string | undefined, open: OpenConnection): PreparableConnection {
    if (!this.uses.some(([id]) => id === asked)) this.uses.push([asked, open])
    return { ...open, prepare: (names) => names.forEach((name) => this.topics.push([open.broker, name])) }
  }

  /** The topics that its components publish to on a broker. */
  topicsOn(broker: Broker): string[] {
    return this.topics.flatMap(([other, name]) => (other === broker ? name : []))
  }

  addTopics(names: readonly string[]): void {
    this.routedTopics ??= new Set()
    for (const name of names) this.routedTopics.add(name)
    if (!this.#isRunning) return
    this.#prepareSchemas()
    this.#topicsAdded()
  }

  committed(): void {
    this.#isRunning = true
    this.#prepareSchemas()
  }

  #prepareSchemas(): void {
    this.schemas?.prepare(this.schemaTopics())
  }

  /** The topics whose schemas it needs, as far as they are known. */
  schemaTopics(): string[] {
    return [...new Set([...topicsOf(this.#sink), ...(this.routedTopics ?? [])])]
  }
}

const NO_STORES: ReadonlyMap<string, DedupeKeys> = new Map()

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

function acquirePipeline(pipeline: OpenablePipeline, deps: PipelineDependencies): BuiltPipeline {
  const { transaction, connections, plan, redis } = deps
  const { id, source, processors, sink } = pipeline
  // a change of any option reopens; a pipeline that was not read again is the same object
  const files = [source, ...processors, sink].flatMap((it) =>
    it === undefined || typeof it === "function" ? [] : fingerprints(it.component, it.values),
  )
  const joins = joinsOf(id, deps)
  return transaction.acquire({
    name: `pipeline ${id}`,
    config: [pipeline, files, plan.baseDir, joins.map(({ config }) => config), redis],
    open: () => build(pipeline, joins, deps),
    fits: ({ uses }) =>
      uses.every(([asked, { broker, deliveryTimeoutMs }]) => {
        const now = findConnection(connections, asked)
        return now?.broker === broker && now.deliveryTimeoutMs === deliveryTimeoutMs
      }),
  })
}

const findConnection = (open: OpenConnections, id: string | undefined): OpenConnection | undefined =>
  open.get(id ?? open.keys().next().value ?? "")

function build(
  pipeline: OpenablePipeline,
  joins: readonly PipelineJoin[],
  deps: PipelineDependencies,
): BuiltPipeline {
  const { plan, transaction, connections, metrics, log, requestLog, from, topicsAdded } = deps
  const { id, source, processors, sink } = pipeline
  const built = new BuiltPipeline(sink, topicsAdded)
  const ownLog = log.child({ pipeline: id })
  const connection = (asked: string | undefined): PreparableConnection => {
    const found = findConnection(connections, asked)
    if (found === undefined)
      throw new HooklineError("internal", `pipeline ${id} names the connection ${asked}, which is not open`)
    return built.use(asked, found)
  }
  transaction.onCommit(() => built.committed())
  const contextOf = contextsOf(pipeline, {
    baseDir: plan.baseDir,
    log: ownLog,
    metrics: metrics.pipeline(id),
    connection,
    addTopics: (names) => built.addTopics(names),
    acquire: (spec) => transaction.acquire(spec),
    sender: pipeline.sender ?? senderOf(processors),
    openKeys: (location) => {
      const keys = transaction.openKeys(location, log)
      const beside =
        location.kind === "embedded" &&
        connections.values().find(({ logDirectory }) => logDirectory === location.directory)
      if (beside && beside.keyJournal !== undefined) keys.store.useJournal?.(beside.keyJournal)
      built.stores = new Map([...built.stores, [location.name, keys]])
      return keys
    },
    sharedLimits: sharedLimitsOf(deps),
  })
  const parts = [source, ...processors, sink].filter((it) => typeof it === "object")
  const make = <K extends ComponentKind>(planned: Planned<K> | undefined): Made[K] | undefined =>
    planned &&
    transaction.attempt([planned, ...parts], () => {
      const { component } = planned
      const made = createComponent(planned, contextOf(component.title))
      return components.includes(component as Component) ? Object.assign(made, { isBounded: true }) : made
    })
  const receive = make(source)
  const steps = processors.map((it) => (typeof it === "function" ? it : make(it)))
  const publish: Publisher | undefined = make(sink)
  built.schemas = publish?.schemas
  // in a check some may be missing
  if (source === undefined || sink === undefined || receive === undefined || publish === undefined)
    return built
  if (!steps.every((it) => it !== undefined)) return built
  const composed = composePipeline({
    pipeline: id,
    processors: steps,
    publish,
    deadlines: deadlinesOf(contextOf(sink.component.title).deliveryTimeoutMs),
    verifiedFrom: verifiedFrom({ source, processors }),
    metrics: metrics.pipeline(id),
    log: requestLog,
    partsLog: ownLog,
  })
  const route = receive(joins.reduce((handler, join) => join.wrap(handler), composed))
  built.route = route
  if (from?.ports !== false) transaction.onCommit(() => warnIfOpen({ source, processors }, route, ownLog))
  return built
}

function sharedLimitsOf({ redis, transaction, log, plan }: PipelineDependencies): SharedLimits | undefined {
  const { listen, replicas = [] } = plan.admin
  return (
    redis &&
    transaction.acquire({
      name: "shared rate limits",
      config: redis,
      open() {
        const count = countReplicas(replicas, typeof listen === "object" ? listen.port : undefined)
        return new SharedLimits(redis, count, log)
      },
      close: (it) => it.close(),
    })
  )
}

/** Waits of equal length have one timer, whatever their pipelines. */
const deadlinesOf = once((ms: number) => new Deadlines(ms))

/** The topic of a sink's accepted events, where it has one. */
const topicsOf = (sink: Planned<"sink"> | undefined): readonly string[] =>
  typeof sink?.values["topic"] === "string" ? [sink.values["topic"]] : []

/** Warns of a pipeline without authentication. */
function warnIfOpen(
  pipeline: Pick<PlannedPipeline, "source" | "processors">,
  { host, path }: Route,
  log: Logger,
): void {
  // a Verifier in mode observe logs its own warning
  if (isOpenToAll(pipeline, host)) log.warn({ host, path }, messageInFile(NOT_VERIFIED))
}
