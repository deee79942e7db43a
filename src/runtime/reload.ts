import type { Captures, CaptureLimits } from "../admin/captured.ts"
import type { AdminServer } from "../admin/server.ts"
import type { Sampler } from "../admin/sampler.ts"
import type { Service } from "../admin/service.ts"
import type { Broker } from "../brokers/broker.ts"
import { inSlices, nextTurn, type Steps } from "../clock/slices.ts"
import { captureOf, detailOf } from "../config/sections.ts"
import type { HooklineError } from "../errors.ts"
import { defaultInFlightBytes } from "../http/admission/budget.ts"
import type { Route } from "../http/route.ts"
import { Servers, type Limits, type ServersChange } from "../http/server.ts"
import type { OnAnswer } from "../pipeline/outcome-log.ts"
import type { OpenLog } from "../telemetry/log.ts"
import type { Tracer } from "../telemetry/traces/trace.ts"
import { acquireAdmin, loadAdmin } from "./admin-listener.ts"
import { acquirePipelines, type BuiltPipelines, type PipelineDependencies } from "./build-pipeline.ts"
import { acquireConnections, checkSpools, type OpenConnections } from "./connections.ts"
import type { Plan } from "./plan/plan.ts"
import { redisOf } from "./plan/redis.ts"
import { acquireForwards, type RunningForward } from "./forwards.ts"
import { openExtensions, prepareExtensions, type RunningExtensions } from "./extensions.ts"
import { acquireServiceStore } from "./service-store.ts"
import type { Resources } from "./resources.ts"
import { acquireTracer } from "./tracer.ts"

/** A plan and what it has open. */
export interface ActivePlan {
  readonly plan: Plan
  readonly connections: OpenConnections
  readonly pipelines: BuiltPipelines
  /** One instance across plans. */
  readonly servers: Servers
  /** undefined: off. */
  readonly admin: AdminServer | undefined
  readonly forwards: readonly RunningForward[]
  readonly extensions: RunningExtensions
  /** undefined: nothing is traced. */
  readonly tracer: Tracer | undefined
}

export interface ReloadDependencies
  extends OpenLog, Pick<PipelineDependencies, "requestLog" | "metrics" | "topicsAdded" | "from"> {
  readonly resources: Resources
  readonly service: Service
  readonly sampler: Sampler
  /** undefined: nobody asked. */
  readonly onAnswer: OnAnswer | undefined
  readonly captures: Captures
  /** Aborts a change between two slices. */
  readonly signal: AbortSignal
}

/**
 * Changes from one plan to another, or starts the first one. Opens what is new in slices, while the current plan serves
 * requests; then switches in one turn of the event loop, so that each request runs on one plan, whole. On a failure
 * before that, what was opened is closed and the current plan stays.
 *
 * @param before undefined: the first plan
 * @param committed called in the turn of the switch
 * @throws HooklineError when the plan is invalid or something can't be opened
 */
export async function changePlan(
  read: () => Promise<Plan>,
  before: ActivePlan | undefined,
  committed: (active: ActivePlan) => void,
  deps: ReloadDependencies,
): Promise<void> {
  const { log, signal } = deps
  const connectionsBefore: OpenConnections = before?.connections ?? new Map()
  const isStart = before === undefined
  const transaction = await deps.resources.begin({ isStart })
  let change: ServersChange | undefined
  try {
    signal.throwIfAborted()
    const plan = await read()
    checkSpools(connectionsBefore, plan)
    setMetricsDetail(plan, deps)
    const connections = await acquireConnections(plan, transaction, connectionsBefore, deps)
    const redis = redisOf(plan.service)
    const prepared = await prepareExtensions(plan)
    const building = { ...deps, plan, connections, transaction, redis, extensions: prepared }
    const pipelines = await inSlices(acquirePipelines(building), signal)
    if (isStart) checkReceives(pipelines, transaction.unopened)
    const tracer = await acquireTracer(plan, transaction, deps)
    const openAdmin = await loadAdmin(plan.admin)
    const listeners = prepareListeners(plan, { pipelines, servers: before?.servers, tracer }, deps)
    const openListeners = await inSlices(listeners, signal)
    await nextTurn()
    signal.throwIfAborted()
    // again: events may have come meanwhile
    checkSpools(connectionsBefore, plan)
    const server = acquireAdmin(plan, openAdmin, transaction, deps)
    const forwards = acquireForwards(plan, transaction, deps.service, log)
    const store = acquireServiceStore(plan, transaction, deps.service.id, log)
    const extensions = openExtensions(prepared, deps, { ...building, store })
    const servers = openListeners()
    change = servers.change
    // the commit: can't fail from here on
    const unused = change.commit()
    deps.setLevel(plan.service.log_level)
    deps.sampler.problems.acknowledgements.use(store)
    deps.captures.setLimits(captureLimits(plan))
    transaction.commit(unused, plan.service.drain_timeout)
    prepareTopics({ connections, pipelines })
    committed({
      plan,
      connections,
      pipelines,
      servers: servers.servers,
      admin: server,
      forwards,
      extensions,
      tracer,
    })
  } catch (error) {
    change?.abort()
    if (before !== undefined) setMetricsDetail(before.plan, deps)
    await transaction.abort()
    throw error
  }
}

/** Takes effect for pipelines that are counted for the first time afterwards. */
function setMetricsDetail(
  { admin, pipelines }: Plan,
  { metrics }: Pick<ReloadDependencies, "metrics">,
): void {
  metrics.setDetail(detailOf(admin.metrics_detail, pipelines.length))
}

/**
 * Lets a start fail where no pipeline could accept events: whoever supervises the process gets its status, and tries again.
 *
 * @throws the first failure
 */
function checkReceives(pipelines: BuiltPipelines, unopened: ReadonlyMap<unknown, HooklineError>): void {
  const [failure] = unopened.values()
  if (failure === undefined) return
  for (const { uses, stores } of pipelines.values()) {
    const needed = [...uses.flatMap(([, { broker, instance }]) => [broker, instance]), ...stores.values()]
    if (!needed.some((it) => unopened.has(it))) return
  }
  throw failure
}

const captureLimits = ({ admin }: Plan): CaptureLimits => ({
  mode: captureOf(admin),
  maxRequests: admin.capture_max_requests,
  maxBytes: admin.capture_max_bytes,
})

/** @returns opens the new listeners, which accept connections from then on */
function* prepareListeners(
  { service }: Plan,
  { pipelines, servers, tracer }: Pick<ActivePlan, "pipelines" | "tracer"> & { servers: Servers | undefined },
  { from, onAnswer, captures, requestLog, metrics }: ReloadDependencies,
): Steps<() => { readonly servers: Servers; readonly change: ServersChange }> {
  const routes: Route[] = [...pipelines.values()].map(({ route }) => route)
  const limits: Limits = {
    maxInFlightBytes: service.max_in_flight_bytes ?? Math.floor(defaultInFlightBytes()),
    bodyTimeoutMs: service.body_timeout,
    maxConnections: service.max_connections,
  }
  const watchers = { onAnswer, capture: captures, log: requestLog }
  const serving =
    servers ??
    new Servers({ ...watchers, from, metrics: metrics.pipeline, sharesPorts: service.reuse_port === "on" })
  const open = yield* serving.prepare(routes, limits, tracer)
  return () => ({ servers: serving, change: open() })
}

/** Passes each broker the topics that its pipelines publish to. */
export function prepareTopics({
  connections,
  pipelines,
}: Pick<ActivePlan, "connections" | "pipelines">): void {
  const topics = new Map<Broker, Set<string>>(
    [...connections.values()].map(({ broker }) => [broker, new Set()]),
  )
  for (const pipeline of pipelines.values())
    for (const [broker, name] of pipeline.topics) topics.get(broker)?.add(name)
  for (const [broker, names] of topics) broker.prepare([...names])
}
