import type { Readiness } from "./admin/server.ts"
import type { Impairment, SpoolState } from "./brokers/broker.ts"
import type { Built, Usable } from "./build.ts"
import { connectionStates } from "./connection-states.ts"
import { changesOf, type Changes, type Snapshot } from "./changes.ts"
import type { Marks } from "./dedupe/marks.ts"
import { HooklineError } from "./errors.ts"
import { holdAdmin } from "./held-admin.ts"
import { holdConnections } from "./held-connections.ts"
import { holdPipelines, type HeldPipelines } from "./held-pipelines.ts"
import { Holdings, type Changeover } from "./holdings.ts"
import { openServers, type Limits, type Servers, type ServersChange } from "./http/server.ts"
import type { OpenConnection } from "./open-connection.ts"
import type { Plan } from "./plan.ts"
import { atOnce, inSlices, type Steps } from "./slices.ts"
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
  reload(read: () => Steps<Plan>): Promise<Changes>
}

/** Why parts of what runs can't be used now; undefined for those that can. */
export interface State {
  readonly connections: readonly Problem[]
  /** By connection, the topics that can't be published to, or in part only; of those that tell. */
  readonly impaired: readonly (readonly [id: string, topics: readonly Impairment[]])[]
  /** The Deduplicators' stores. */
  readonly stores: readonly Problem[]
  /** Whether connections of senders are accepted. */
  readonly isAccepting: boolean
}

type Problem = readonly [name: string, problem: string | undefined]

/** What a plan has open. */
interface Generation extends Snapshot {
  readonly connections: ReadonlyMap<string, OpenConnection>
  readonly pipelines: ReadonlyMap<string, Built>
  /** The Deduplicators' stores, by their names. */
  readonly stores: ReadonlyMap<string, Marks>
}

/**
 * Runs one plan after another.
 *
 * A change of plans reads and opens all that is new first, in slices, while the plan before takes requests. Then everything
 * takes over in one turn of the event loop, so that each request is taken by the one plan or the other, whole. What fails on
 * the way is closed again, and the plan before goes on. Afterwards what is not wanted any more is closed, when the events that began before have ended.
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
  readonly #stopping = new AbortController()
  #changing: Promise<unknown> = Promise.resolve()

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
    await runner.#take(() => Promise.resolve(plan))
    if (membership === undefined) runner.metrics.configuration.started()
    runner.metrics.observe({
      inFlight: () => runner.#servers!.inFlight(),
      connections: () => readiness(runner.state().connections),
      impaired: () => runner.state().impaired,
      stores: () => readiness(runner.state().stores),
      waiting: () => [...runner.#stores()].map(([name, marks]) => [name, marks.waiting()] as const),
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

  reload(read: () => Steps<Plan>): Promise<Changes> {
    return reload(this, read)
  }

  async change(read: () => Steps<Plan>): Promise<Changes> {
    return (await this.changeOver(read)).changes
  }

  /**
   * As `change`.
   *
   * @returns `unused` resolves when all events that began before have ended
   */
  async changeOver(read: () => Steps<Plan>): Promise<{ changes: Changes; unused: Promise<void> }> {
    const before = this.#generation!
    const taking = this.#take(() => inSlices(read(), this.#stopping.signal))
    this.#changing = taking.catch(() => {})
    const { unused } = await taking
    return { changes: changesOf(before, this.#generation!), unused }
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new HooklineError("closing", "the application is stopping"))
    const { drain_timeout: drainTimeoutMs } = this.#generation!.plan.service
    this.log.info({ drain_timeout_ms: drainTimeoutMs, ...this.#servers!.inFlight() }, "stopping")
    const untilMs = steadyMs() + drainTimeoutMs
    await this.#servers!.drain(drainTimeoutMs)
    // one that is under way closes what it has opened
    await this.#changing
    await this.#holdings.close(untilMs)
    this.#requestLog.flush()
    this.log.info("stopped")
  }

  /**
   * Prepares a plan in slices, then does the rest in one turn of the event loop, unless others have to agree.
   *
   * @throws HooklineError as `change`; what was opened is closed again
   */
  async #take(read: () => Promise<Plan>): Promise<{ unused: Promise<void> }> {
    const { signal } = this.#stopping
    const changeover = await this.#holdings.begin()
    const notices: (() => void)[] = []
    const before = this.#generation?.connections ?? new Map<string, OpenConnection>()
    let servers: ServersChange | undefined
    try {
      signal.throwIfAborted()
      const plan = await read()
      const { open: connections, ...changing } = holdConnections(
        before,
        plan,
        changeover,
        this,
        this.#membership?.remote,
      )
      const later = (notice: () => void): void => void notices.push(notice)
      const held = await inSlices(this.#holdPipelines(plan, connections, changeover, later), signal)
      const openListeners = await inSlices(this.#prepareServers(plan, held), signal)
      signal.throwIfAborted()
      // events have come meanwhile
      changing.check()
      const adopt = this.#membership === undefined ? this.#holdAdmin(plan, changeover) : undefined
      servers = openListeners()
      const isFirst = this.#generation === undefined
      if (!isFirst && this.#membership !== undefined) await this.#membership.agreed()
      // from here on nothing fails
      const unused = servers.commit()
      changeover.commit(unused, plan.service.drain_timeout)
      changing.commit()
      for (const { broker } of connections.values()) broker.prepare([...(held.topics.get(broker) ?? [])])
      this.#setLevel(plan.service.log_level)
      this.#generation = { plan, connections, pipelines: held.built, stores: held.stores }
      adopt?.()
      for (const notice of notices) notice()
      if (isFirst && this.#membership === undefined) atOnce(tellListening(this.log, [], this.listening))
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
    later: (notice: () => void) => void,
  ): Steps<HeldPipelines> {
    const usable = ([id, { broker }]: readonly [string, OpenConnection]): readonly [string, Usable] => [
      id,
      { broker, deliveryTimeoutMs: plan.connections.get(id)!.values.delivery_timeout },
    ]
    return holdPipelines({
      plan,
      changeover,
      connections: new Map([...open].map(usable)),
      later,
      metrics: this.metrics,
      log: this.log,
      requestLog: this.#requestLog,
      membership: this.#membership,
    })
  }

  #holdAdmin(plan: Plan, changeover: Changeover): () => void {
    const status = { readiness: () => this.#readiness(), metrics: () => this.metrics.expose() }
    return holdAdmin(plan, changeover, status, this.log)
  }

  *#prepareServers({ service }: Plan, { routes }: HeldPipelines): Steps<() => ServersChange> {
    const workers = this.#membership?.workers ?? 1
    const limits: Limits = {
      maxInFlightBytes: Math.floor(service.max_in_flight_bytes / workers),
      bodyTimeoutMs: service.body_timeout,
      maxConnections: service.max_connections && Math.max(32, Math.ceil(service.max_connections / workers)),
    }
    if (this.#servers !== undefined) return yield* this.#servers.prepare(routes, limits)
    return () => {
      this.#servers = openServers(routes, {
        ...limits,
        log: this.#requestLog,
        metrics: (id) => this.metrics.pipeline(id),
        sharesPorts: this.#membership !== undefined,
      })
      return { commit: () => Promise.resolve(), giveUp() {} }
    }
  }

  state(): State {
    const generation = this.#generation
    const connections = generation ? connectionStates(generation.connections, generation.plan) : []
    return {
      connections: connections.map(({ id, problem }) => [id, problem]),
      impaired: connections.flatMap(({ id, impaired }) => (impaired === undefined ? [] : [[id, impaired]])),
      stores: [...this.#stores()].map(([name, marks]) => problemOf(name, marks)),
      isAccepting: this.#servers?.isAccepting() ?? false,
    }
  }

  #readiness(): Readiness {
    const { connections, impaired, stores, isAccepting } = this.state()
    const isReady = isAccepting && [...connections, ...stores].every(([, problem]) => problem === undefined)
    const isWhole = impaired.every(([, topics]) => topics.length === 0)
    const state = !isReady ? "not ready" : isWhole ? "ready" : "partly ready"
    return {
      state: this.#stopped !== undefined ? "draining" : state,
      connections,
      impaired: impaired.map(([id, topics]) => [id, topics.map(({ problem }) => problem)] as const),
      stores,
      listeners: isAccepting ? [] : [["all", NOT_ACCEPTING]],
      spools: this.#spools(),
    }
  }

  /** What the spools hold, by connection. */
  #spools(): (readonly [string, SpoolState])[] {
    return [...(this.#generation?.connections ?? [])].flatMap(([id, { broker }]) =>
      broker.spool === undefined ? [] : [[id, broker.spool()] as const],
    )
  }

  #stores(): Iterable<readonly [name: string, marks: Marks]> {
    return this.#generation?.stores ?? []
  }
}

export const NOT_ACCEPTING = "max_connections reached; not accepting until some have ended"

function problemOf(name: string, of: { ready(): true | string }): Problem {
  const ready = of.ready()
  return [name, ready === true ? undefined : ready]
}

const readiness = (problems: readonly Problem[]): (readonly [string, boolean])[] =>
  problems.map(([name, problem]) => [name, problem === undefined] as const)

function listeningOf(generation: Generation | undefined, servers: Servers | undefined): Listening[] {
  const routes = [...(generation?.pipelines.values() ?? [])].map(({ route }) => route)
  const urls = servers?.urls ?? []
  return routes.map(({ pipeline, path }, i) => ({ pipeline, url: urls[i]! + path }))
}
