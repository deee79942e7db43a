import { openAdmin } from "./admin/server.ts"
import type { SpoolState } from "./brokers/broker.ts"
import { holdPipeline, type Built, type Usable } from "./build.ts"
import { changesOf, describeChanges, type Changes, type Snapshot } from "./changes.ts"
import type { Marks } from "./dedupe/marks.ts"
import { HooklineError } from "./errors.ts"
import { holdConnections } from "./held-connections.ts"
import { Holdings, type Changeover } from "./holdings.ts"
import { openServers, type Limits, type Servers } from "./http/server.ts"
import type { OpenConnection } from "./open-connection.ts"
import type { Plan } from "./plan.ts"
import { steadyMs } from "./steady-clock.ts"
import { openLog, type Logger, type OpenLog } from "./telemetry/log.ts"
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

/** What a plan has open. */
interface Generation extends Snapshot {
  readonly connections: ReadonlyMap<string, OpenConnection>
  readonly pipelines: ReadonlyMap<string, Built>
}

/**
 * Runs one plan after another.
 *
 * A change of plans is one turn of the event loop: all that is new is opened first, then everything takes over at once,
 * so that each request is taken by the one plan or the other, whole. What fails on the way is closed again, and the plan
 * before goes on. Afterwards what is not wanted any more is closed, when the events that began before have ended.
 */
export class PlanRunner implements Running {
  readonly log: Logger
  readonly #setLevel: OpenLog["setLevel"]
  readonly #requestLog: RequestLog
  readonly #metrics = new Metrics()
  readonly #holdings: Holdings
  #servers: Servers | undefined
  #generation: Generation | undefined
  #stopped: Promise<void> | undefined

  private constructor({ service }: Plan) {
    const { log, setLevel } = openLog({ level: service.log_level, format: service.log_format })
    this.log = log
    this.#setLevel = setLevel
    this.#requestLog = new RequestLog(log)
    this.#holdings = new Holdings((name, error) => log.error({ err: error }, `${name} could not be closed`))
  }

  /**
   * Opens everything that a plan names.
   *
   * @throws HooklineError when a part can't be opened; those before it are closed again
   */
  static async start(plan: Plan): Promise<PlanRunner> {
    const runner = new PlanRunner(plan)
    await runner.#take(plan)
    runner.#metrics.configuration.started()
    runner.#metrics.observe({
      inFlight: () => runner.#servers!.inFlight(),
      connections: () => readiness(runner.#problems()),
      stores: () => readiness(runner.#storeProblems()),
      waiting: () => runner.#stores().map(([name, marks]) => [name, marks.waiting()]),
      spools: () => runner.#spools(),
    })
    return runner
  }

  get listening(): readonly Listening[] {
    return listeningOf(this.#generation, this.#servers)
  }

  /**
   * Changes to another plan, and tells the log and the metrics what became of it.
   *
   * @param read gives the plan
   * @throws HooklineError what is wrong with the plan or can't be opened; nothing is changed then
   */
  async reload(read: () => Plan): Promise<Changes> {
    // what is being closed may be wanted back, and one alone can have it open
    await this.#holdings.settled()
    if (this.#stopped !== undefined) throw new HooklineError("closing", "the application is stopping")
    const startedMs = performance.now()
    const before = this.#generation!
    const { listening } = this
    try {
      await this.#take(read())
    } catch (error) {
      this.#metrics.configuration.failed()
      this.#tellProblems(error)
      this.log.error("not reloaded: nothing has changed")
      throw error
    }
    this.#metrics.configuration.took()
    const changes = changesOf(before, this.#generation!)
    this.#tellListening(listening)
    const { log_format: format } = before.plan.service
    if (changes.service.includes("log_format"))
      this.log.warn({ log_format: format }, "[service] log_format takes effect with a restart")
    const durationMs = Math.round(performance.now() - startedMs)
    this.log.info({ ...describeChanges(changes), duration_ms: durationMs }, "reloaded")
    return changes
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

  /** Does it all in one turn of the event loop, unless it fails. */
  async #take(plan: Plan): Promise<void> {
    const changeover = this.#holdings.begin()
    const steps: (() => void)[] = []
    const before = this.#generation?.connections ?? new Map<string, OpenConnection>()
    try {
      const deps = { log: this.log, metrics: this.#metrics }
      const { open: connections, commit } = holdConnections(before, plan, changeover, deps)
      const pipelines = this.#holdPipelines(plan, connections, changeover, (step) => void steps.push(step))
      const adopt = this.#holdAdmin(plan, changeover)
      const unused = this.#listen(plan, pipelines)
      // from here on nothing fails
      changeover.commit(unused, plan.service.drain_timeout)
      commit()
      for (const { broker } of connections.values())
        broker.prepare([...pipelines.values()].flatMap(({ topics }) => topics.get(broker) ?? []))
      for (const step of steps) step()
      this.#setLevel(plan.service.log_level)
      const isFirst = this.#generation === undefined
      this.#generation = { plan, connections, pipelines }
      if (isFirst) this.#tellListening([])
      adopt()
    } catch (error) {
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
      metrics: this.#metrics,
      log: this.log,
      requestLog: this.#requestLog,
    }
    return new Map(plan.pipelines.map((pipeline) => [pipeline.id, holdPipeline(pipeline, surroundings)]))
  }

  /** @returns to be called when the change is sure */
  #holdAdmin({ admin: { listen, token } }: Plan, changeover: Changeover): () => void {
    if (listen === "off") return () => {}
    let isNew = false
    const admin = changeover.hold({
      name: "admin listener",
      wants: listen,
      open: () => {
        isNew = true
        return openAdmin(listen, token, {
          connections: () => this.#problems(),
          stores: () => this.#storeProblems(),
          spools: () => this.#spools(),
          draining: () => this.#stopped !== undefined,
          metrics: () => this.#metrics.expose(),
        })
      },
      close: (it) => it.close(),
    })
    return () => {
      admin.setToken(token)
      if (isNew) this.log.info({ url: admin.url }, "admin listening")
    }
  }

  /** @returns resolves when the requests that began before have ended */
  #listen({ service }: Plan, pipelines: ReadonlyMap<string, Built>): Promise<void> {
    const routes = [...pipelines.values()].map(({ route }) => route)
    const limits: Limits = {
      maxInFlightBytes: service.max_in_flight_bytes,
      bodyTimeoutMs: service.body_timeout,
    }
    if (this.#servers !== undefined) return this.#servers.change(routes, limits)
    const log = this.#requestLog
    this.#servers = openServers(routes, { ...limits, log, metrics: (id) => this.#metrics.pipeline(id) })
    return Promise.resolve()
  }

  #tellListening(before: readonly Listening[]): void {
    const isNew = (it: Listening): boolean => !before.some((other) => Bun.deepEquals(other, it))
    for (const it of this.listening.filter(isNew)) this.log.info(it, "listening")
  }

  #tellProblems(error: unknown): void {
    if (error instanceof HooklineError)
      for (const problem of error.message.split("\n")) this.log.error(problem)
    else this.log.error({ err: error }, "a fault in the reload")
  }

  /** Why each connection can't take records now; undefined for one that can. */
  #problems(): Problem[] {
    return [...(this.#generation?.connections ?? [])].map(([id, { broker }]) => problemOf(id, broker))
  }

  /** What the spools hold, by connection. */
  #spools(): (readonly [string, SpoolState])[] {
    return [...(this.#generation?.connections ?? [])].flatMap(([id, { broker }]) =>
      broker.spool === undefined ? [] : [[id, broker.spool()] as const],
    )
  }

  /** Why each Deduplicator's store can't be used now; undefined for one that can. */
  #storeProblems(): Problem[] {
    return this.#stores().map(([name, marks]) => problemOf(name, marks))
  }

  #stores(): (readonly [name: string, marks: Marks])[] {
    const stores = [...(this.#generation?.pipelines.values() ?? [])].flatMap((it) => [...it.stores])
    return [...new Map(stores)]
  }
}

type Problem = readonly [name: string, problem: string | undefined]

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
