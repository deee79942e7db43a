import type { Readiness } from "./admin/server.ts"
import type { SpoolState } from "./brokers/broker.ts"
import { holdPipeline, type Built, type Usable } from "./build.ts"
import { changesOf, type Changes, type Snapshot } from "./changes.ts"
import type { Marks } from "./dedupe/marks.ts"
import { HooklineError } from "./errors.ts"
import { holdAdmin } from "./held-admin.ts"
import { holdConnections } from "./held-connections.ts"
import { Holdings, type Changeover } from "./holdings.ts"
import { openServers, type Limits, type Servers, type ServersChange } from "./http/server.ts"
import type { OpenConnection } from "./open-connection.ts"
import type { Plan } from "./plan.ts"
import { reload, tellListening, type Listening, type Reloadable } from "./reload.ts"
import { steadyMs } from "./steady-clock.ts"
import { openLog, type Logger, type OpenLog } from "./telemetry/log.ts"
import { Metrics } from "./telemetry/metrics.ts"
import { RequestLog } from "./telemetry/request-log.ts"
import type { Membership } from "./workers/membership.ts"

export type { Listening }

/** A plan that runs. */
export interface Running {
  readonly log: Logger
  readonly listening: readonly Listening[]
  /** Drains, flushes, closes. Called again, it waits for the same end. */
  stop(): Promise<void>
}

/** A plan that runs and can be changed. */
export interface Runner extends Running {
  /**
   * Changes to another plan, and tells the log and the metrics what became of it.
   *
   * @param read gives the plan
   * @throws HooklineError what is wrong with the plan or can't be opened; nothing is changed then
   */
  reload(read: () => Plan): Promise<Changes>
}

/** Why parts of what runs can't be used now; undefined for those that can. */
export interface State {
  readonly connections: readonly Problem[]
  /** The Deduplicators' stores. */
  readonly stores: readonly Problem[]
}

type Problem = readonly [name: string, problem: string | undefined]

/** What a plan has open. */
interface Generation extends Snapshot {
  readonly connections: ReadonlyMap<string, OpenConnection>
  readonly pipelines: ReadonlyMap<string, Built>
}

/**
 * Runs one plan after another.
 *
 * A change of plans opens all that is new first, then everything takes over in one turn of the event loop, so that each
 * request is taken by the one plan or the other, whole. What fails on the way is closed again, and the plan before goes
 * on. Afterwards what is not wanted any more is closed, when the events that began before have ended.
 */
export class PlanRunner implements Runner, Reloadable {
  readonly log: Logger
  readonly metrics = new Metrics()
  readonly #membership: Membership | undefined
  readonly #setLevel: OpenLog["setLevel"]
  readonly #requestLog: RequestLog
  readonly #holdings: Holdings
  #servers: Servers | undefined
  #generation: Generation | undefined
  #stopped: Promise<void> | undefined

  private constructor({ service }: Plan, membership: Membership | undefined) {
    const { log, setLevel } = openLog({
      level: service.log_level,
      format: service.log_format,
      worker: membership?.worker,
    })
    this.log = log
    this.#membership = membership
    this.#setLevel = setLevel
    this.#requestLog = new RequestLog(log)
    this.#holdings = new Holdings((name, error) => log.error({ err: error }, `${name} could not be closed`))
  }

  /**
   * Opens everything that a plan names.
   *
   * @param membership undefined: this process is alone, and has the admin listener too
   * @throws HooklineError when a part can't be opened; those before it are closed again
   */
  static async start(plan: Plan, membership?: Membership): Promise<PlanRunner> {
    const runner = new PlanRunner(plan, membership)
    await runner.#take(plan)
    if (membership === undefined) runner.metrics.configuration.started()
    runner.metrics.observe({
      inFlight: () => runner.#servers!.inFlight(),
      connections: () => readiness(runner.state().connections),
      stores: () => readiness(runner.state().stores),
      waiting: () => runner.#stores().map(([name, marks]) => [name, marks.waiting()]),
      spools: () => runner.#spools(),
    })
    return runner
  }

  get listening(): readonly Listening[] {
    return listeningOf(this.#generation, this.#servers)
  }

  get plan(): Plan {
    return this.#generation!.plan
  }

  reload(read: () => Plan): Promise<Changes> {
    return reload(this, read)
  }

  async change(read: () => Plan): Promise<Changes> {
    return (await this.changeOver(read)).changes
  }

  /**
   * As `change`.
   *
   * @returns `unused` resolves when all events that began before have ended
   */
  async changeOver(read: () => Plan): Promise<{ changes: Changes; unused: Promise<void> }> {
    // what is being closed may be wanted back, and one alone can have it open
    await this.#holdings.settled()
    if (this.#stopped !== undefined) throw new HooklineError("closing", "the application is stopping")
    const before = this.#generation!
    const { unused } = await this.#take(read())
    return { changes: changesOf(before, this.#generation!), unused }
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  async #stop(): Promise<void> {
    const { drain_timeout: drainTimeoutMs } = this.#generation!.plan.service
    this.log.info({ drain_timeout_ms: drainTimeoutMs, ...this.#servers!.inFlight() }, "stopping")
    const untilMs = steadyMs() + drainTimeoutMs
    await this.#servers!.drain(drainTimeoutMs)
    await this.#holdings.close(untilMs)
    this.#requestLog.flush()
    this.log.info("stopped")
  }

  /** Does it all in one turn of the event loop, unless it fails or others have to agree. */
  async #take(plan: Plan): Promise<{ unused: Promise<void> }> {
    const changeover = this.#holdings.begin()
    const steps: (() => void)[] = []
    const before = this.#generation?.connections ?? new Map<string, OpenConnection>()
    let servers: ServersChange | undefined
    try {
      const remote = this.#membership?.remote
      const { open: connections, commit } = holdConnections(before, plan, changeover, this, remote)
      const pipelines = this.#holdPipelines(plan, connections, changeover, (step) => void steps.push(step))
      const adopt = this.#membership === undefined ? this.#holdAdmin(plan, changeover) : undefined
      servers = this.#prepareServers(plan, pipelines)
      const isFirst = this.#generation === undefined
      if (!isFirst && this.#membership !== undefined) await this.#membership.agreed()
      // from here on nothing fails
      const unused = servers.commit()
      changeover.commit(unused, plan.service.drain_timeout)
      commit()
      for (const { broker } of connections.values())
        broker.prepare([...pipelines.values()].flatMap(({ topics }) => topics.get(broker) ?? []))
      for (const step of steps) step()
      this.#setLevel(plan.service.log_level)
      this.#generation = { plan, connections, pipelines }
      if (isFirst && this.#membership === undefined) tellListening(this.log, [], this.listening)
      adopt?.()
      return { unused }
    } catch (error) {
      servers?.giveUp()
      await changeover.abort()
      throw error
    }
  }

  #holdPipelines(
    plan: Plan,
    open: ReadonlyMap<string, OpenConnection>,
    changeover: Changeover,
    later: (step: () => void) => void,
  ): Map<string, Built> {
    const usable = ([id, { broker }]: readonly [string, OpenConnection]): readonly [string, Usable] => [
      id,
      { broker, deliveryTimeoutMs: plan.connections.get(id)!.values.delivery_timeout },
    ]
    const surroundings = {
      plan,
      changeover,
      connections: new Map([...open].map(usable)),
      later,
      metrics: this.metrics,
      log: this.log,
      requestLog: this.#requestLog,
      membership: this.#membership,
    }
    return new Map(plan.pipelines.map((pipeline) => [pipeline.id, holdPipeline(pipeline, surroundings)]))
  }

  #holdAdmin(plan: Plan, changeover: Changeover): () => void {
    const status = { readiness: () => this.#readiness(), metrics: () => this.metrics.expose() }
    return holdAdmin(plan, changeover, status, this.log)
  }

  #prepareServers({ service }: Plan, pipelines: ReadonlyMap<string, Built>): ServersChange {
    const routes = [...pipelines.values()].map(({ route }) => route)
    const workers = this.#membership?.workers ?? 1
    const limits: Limits = {
      maxInFlightBytes: Math.floor(service.max_in_flight_bytes / workers),
      bodyTimeoutMs: service.body_timeout,
      maxConnections: service.max_connections && Math.ceil(service.max_connections / workers),
    }
    if (this.#servers !== undefined) return this.#servers.prepare(routes, limits)
    this.#servers = openServers(routes, {
      ...limits,
      log: this.#requestLog,
      metrics: (id) => this.metrics.pipeline(id),
      sharesPorts: this.#membership !== undefined,
    })
    return { commit: () => Promise.resolve(), giveUp() {} }
  }

  state(): State {
    return {
      connections: [...(this.#generation?.connections ?? [])].map(([id, { broker }]) =>
        problemOf(id, broker),
      ),
      stores: this.#stores().map(([name, marks]) => problemOf(name, marks)),
    }
  }

  #readiness(): Readiness {
    const { connections, stores } = this.state()
    const isFull = this.#servers?.isAccepting() === false
    const isReady = !isFull && [...connections, ...stores].every(([, problem]) => problem === undefined)
    const state = this.#stopped !== undefined ? "draining" : isReady ? "ready" : "not ready"
    const listeners: readonly Problem[] = isFull
      ? [["all", "max_connections reached; not accepting until some have ended"]]
      : []
    return { state, connections, stores, listeners, spools: this.#spools() }
  }

  /** What the spools hold, by connection. */
  #spools(): (readonly [string, SpoolState])[] {
    return [...(this.#generation?.connections ?? [])].flatMap(([id, { broker }]) =>
      broker.spool === undefined ? [] : [[id, broker.spool()] as const],
    )
  }

  #stores(): (readonly [name: string, marks: Marks])[] {
    const stores = [...(this.#generation?.pipelines.values() ?? [])].flatMap((it) => [...it.stores])
    return [...new Map(stores)]
  }
}

function problemOf(name: string, of: { ready(): true | string }): Problem {
  const ready = of.ready()
  return [name, ready === true ? undefined : ready]
}

const readiness = (problems: readonly Problem[]): (readonly [string, boolean])[] =>
  problems.map(([name, problem]) => [name, problem === undefined] as const)

function listeningOf(generation: Generation | undefined, servers: Servers | undefined): Listening[] {
  const routes = [...(generation?.pipelines.values() ?? [])].map(({ route }) => route)
  return routes.map(({ pipeline, path }, i) => ({ pipeline, url: servers!.urls[i]! + path }))
}
