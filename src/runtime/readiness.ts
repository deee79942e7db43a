import type { Exclusion, Readiness } from "../admin/service.ts"
import type { Impairment, LogState, SpoolState } from "../brokers/broker.ts"
import type { DedupeKeys } from "../dedupe/dedupe-keys.ts"
import type { TopicSchemas } from "../pipeline/topic-schemas.ts"
import type { BuiltPipeline } from "./build-pipeline.ts"
import type { OpenConnection, OpenConnections } from "./connections.ts"
import type { Plan, PlannedPipeline } from "./plan/plan.ts"
import type { ActivePlan } from "./reload.ts"

export interface State {
  readonly connections: readonly Health[]
  /** By connection, the topics that can't be published to, or only in part, according to the broker. */
  readonly impaired: readonly (readonly [id: string, topics: readonly Impairment[]])[]
  readonly stores: readonly Health[]
  /** Only those that accept no events because of their connection, store or source. */
  readonly pipelines: readonly Health[]
  /** Whether at least one pipeline accepts events. */
  readonly receives: boolean
  readonly isAccepting: boolean
}

/** undefined: usable. */
type Health = readonly [name: string, problem: string | undefined]

export function stateOf({ plan, connections, pipelines, servers }: ActivePlan, exclude?: Exclusion): State {
  const all = connectionStates(connections, plan, (id) => pipelines.get(id))
  const isExcluded = ([id]: readonly [id: string, ...unknown[]]): boolean =>
    exclude === "brokers" && isShared(connections.get(id)!)
  const stores = [...storesOf(pipelines)].map(([name, keys]): Health => {
    const ready = keys.store.ready()
    return [name, ready === true ? undefined : ready]
  })
  const counted = all.connections.map((it): Health => (isExcluded(it) ? [it[0], undefined] : it))
  const closed = closedPipelines(pipelines, counted, stores)
  return {
    connections: all.connections.filter((it) => !isExcluded(it)),
    impaired: all.impaired.filter((it) => !isExcluded(it)),
    stores,
    pipelines: closed,
    receives: closed.length === 0 || closed.length < pipelines.size,
    isAccepting: servers.isAccepting(),
  }
}

/** Whether it publishes to servers that all replicas share, and nothing is on a disk of this one. */
const isShared = ({ kind, spool }: OpenConnection): boolean => kind.reach !== undefined && spool === undefined

/** The pipelines that accept no events because of their connection, store or source. */
function closedPipelines(
  pipelines: ActivePlan["pipelines"],
  connections: readonly Health[],
  stores: readonly Health[],
): Health[] {
  const [first = ""] = connections[0] ?? []
  const [ofConnections, ofStores] = [new Map(connections), new Map(stores)]
  const isUsable = [...connections, ...stores].every(([, problem]) => problem === undefined)
  const closed: Health[] = []
  for (const [id, { uses, stores, route }] of pipelines) {
    const problem = route.problem?.()
    if (isUsable && problem === undefined) continue
    const reasons = [
      ...uses.map(([asked = first]) => [`connection ${asked}`, ofConnections.get(asked)]),
      ...[...stores.keys()].map((name) => [`Deduplicator's store ${name}`, ofStores.get(name)]),
      ["source", problem],
    ].filter(([, reason]) => reason !== undefined)
    if (reasons.length > 0) closed.push([id, reasons.map((it) => it.join(": ")).join("; ")])
  }
  return closed
}

/** Topics named when all have a problem. */
const NAMED = 3

export function connectionStates(
  open: ReadonlyMap<string, Pick<OpenConnection, "broker">>,
  { connections, pipelines }: Pick<Plan, "connections" | "pipelines">,
  built: (pipeline: string) => Partial<Pick<BuiltPipeline, "routedTopics" | "schemas">> | undefined,
): Pick<State, "connections" | "impaired"> {
  const first = connections.keys().next().value
  const of = (id: string): readonly PlannedPipeline[] =>
    pipelines.filter(({ sink }) => (sink.values["connection"] ?? first) === id)
  const hasSchemas = pipelines.some((it) => built(it.id)?.schemas !== undefined)
  const all = [...open].map(([id, { broker }]) => {
    const ready = broker.ready()
    const ofSchemas = hasSchemas ? of(id).flatMap((it) => withoutSchema(built(it.id)?.schemas)) : []
    const ofBroker = ready === true ? broker.impaired?.() : broker.impaired && []
    const impaired = ready === true && ofSchemas.length > 0 ? [...(ofBroker ?? []), ...ofSchemas] : ofBroker
    if (ready !== true || impaired === undefined || impaired.length === 0)
      return { id, problem: ready === true ? undefined : ready, impaired }
    const names = of(id).flatMap((pipeline) => [
      ...[pipeline.sink.values["topic"]].filter(isText),
      ...(built(pipeline.id)?.routedTopics ?? []),
    ])
    return { id, problem: problemOfAll(names, impaired), impaired }
  })
  return {
    connections: all.map(({ id, problem }) => [id, problem]),
    impaired: all.flatMap(({ id, impaired }) => (impaired === undefined ? [] : [[id, impaired]])),
  }
}

const withoutSchema = (schemas: TopicSchemas | undefined): readonly Impairment[] =>
  schemas?.missing().map((it) => ({ ...it, isWhole: true, leaderless: 0, isOutage: false })) ?? []

const isText = (value: unknown): value is string => typeof value === "string"

/** Why no topic can be published to; undefined: one can. Dead-letter topics don't count. */
function problemOfAll(topics: readonly string[], impaired: readonly Impairment[]): string | undefined {
  const whole = new Map(impaired.filter(({ isWhole }) => isWhole).map((it) => [it.topic, it.problem]))
  if (topics.length === 0 || !topics.every((topic) => whole.has(topic))) return undefined
  const problems = [...new Set(topics)].map((topic) => whole.get(topic)!)
  const rest = problems.length - NAMED
  return problems.slice(0, NAMED).join("; ") + (rest > 0 ? `; and ${rest} more topics` : "")
}

const NOT_ACCEPTING = "max_connections reached; not accepting until some have ended"

/** Before the configuration is in use. */
export const STARTING: Readiness = {
  state: "not ready",
  pipelines: [],
  connections: [],
  impaired: [],
  stores: [],
  listeners: [["all", "starting"]],
  spools: [],
}

export function readinessOf(active: ActivePlan, isDraining: boolean, exclude?: Exclusion): Readiness {
  const state = stateOf(active, exclude)
  const { pipelines, connections, impaired, stores, isAccepting } = state
  return {
    state: readinessState(isDraining, isAccepting && state.receives, isWhole(state)),
    pipelines,
    connections,
    impaired: impaired.map(([id, topics]) => [id, topics.map(({ problem }) => problem)] as const),
    stores,
    listeners: isAccepting ? [] : [["all", NOT_ACCEPTING]],
    spools: spoolsOf(active.connections),
  }
}

/** Whether all connections and stores can be used, all topics can be published to, and no pipeline is closed. */
const isWhole = ({ connections, stores, impaired, pipelines }: State): boolean =>
  pipelines.length === 0 &&
  [...connections, ...stores].every(([, problem]) => problem === undefined) &&
  impaired.every(([, topics]) => topics.length === 0)

/** @param isWhole all listeners accept events, for every pipeline and topic */
function readinessState(isDraining: boolean, isReady: boolean, isWhole: boolean): Readiness["state"] {
  if (isDraining) return "draining"
  if (!isReady) return "not ready"
  return isWhole ? "ready" : "partly ready"
}

export const spoolsOf = (connections: OpenConnections): (readonly [string, SpoolState])[] =>
  [...connections].flatMap(([id, { broker }]) =>
    broker.spool === undefined ? [] : [[id, broker.spool()] as const],
  )

export const logsOf = (connections: OpenConnections): (readonly [string, LogState])[] =>
  [...connections].flatMap(([id, { broker }]) => {
    const state = broker.logState?.()
    return state === undefined ? [] : [[id, state] as const]
  })

export function storesOf(pipelines: ActivePlan["pipelines"]): ReadonlyMap<string, DedupeKeys> {
  const all = new Map<string, DedupeKeys>()
  for (const { stores } of pipelines.values()) for (const [name, keys] of stores) all.set(name, keys)
  return all
}
