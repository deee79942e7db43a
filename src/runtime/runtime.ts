import { Captures } from "../admin/captured.ts"
import type { ActivitySample } from "../admin/history.ts"
import { Sampler } from "../admin/sampler.ts"
import type { Exclusion, Readiness, Receiver } from "../admin/service.ts"
import type { Broker } from "../brokers/broker.ts"
import { repeat, steadyMs } from "../clock/clock.ts"
import { inSlices, nextTurn, type Steps } from "../clock/slices.ts"
import { HooklineError } from "../errors.ts"
import type { MountedFrom } from "../http/peer.ts"
import type { RequestsFrom } from "../http/server.ts"
import type { OnAnswer } from "../pipeline/outcome-log.ts"
import type { Exposition } from "../telemetry/text-formats.ts"
import { openLog, type Logger, type LogLevel } from "../telemetry/log.ts"
import type { ConfigurationState } from "../telemetry/gauges.ts"
import { Metrics } from "../telemetry/metrics.ts"
import { RequestLog } from "../telemetry/request-log.ts"
import { adminService, type Running } from "./admin-service.ts"
import { changesOf, type Changes } from "./configuration-diff.ts"
import type { Plan } from "./plan/plan.ts"
import { logsOf, readinessOf, STARTING, spoolsOf, stateOf, storesOf, type State } from "./readiness.ts"
import { logListening, logReload } from "./reload-log.ts"
import { changePlan, prepareTopics, type ActivePlan, type ReloadDependencies } from "./reload.ts"
import { extensions, problemKinds } from "../extensions/registry.ts"
import type { RunningExtensions } from "./extensions.ts"
import type { RunningForward } from "./forwards.ts"
import { Resources } from "./resources.ts"
import type { Explain, Listening, ReloadableApplication } from "./running-application.ts"

interface Surroundings {
  /** Where requests come from. Default: own ports. */
  readonly from?: RequestsFrom
  readonly onAnswer?: OnAnswer | undefined
  readonly onLogLine?: ((line: string) => void) | undefined
  readonly logsRequests?: boolean | undefined
}

/** @internal Runs one plan after another in this process. */
export class Runtime implements ReloadableApplication, Running {
  readonly id = crypto.randomUUID()
  readonly log: Logger
  readonly metrics = new Metrics()
  readonly receiver: Receiver
  reloadAgain: Running["reloadAgain"]
  readonly #resources: Resources
  readonly #deps: ReloadDependencies
  readonly #sampler: Sampler
  readonly #stopping = new AbortController()
  #active: ActivePlan | undefined
  #changing: Promise<unknown> = Promise.resolve()
  #stopped: Promise<void> | undefined
  #endWatch = (): void => {}
  /** The state in this turn of the event loop; undefined: not asked for yet. */
  #seen: State | undefined
  #areTopicsAdded = false

  private constructor(plan: Plan, surroundings: Surroundings) {
    const opened = openLog({
      level: plan.service.log_level,
      format: plan.service.log_format,
      onLine: surroundings.onLogLine,
      onDropped: () => this.metrics.logLineDropped.add(),
    })
    this.log = opened.log
    const captures = new Captures()
    this.receiver = { captures, submit: (...asked) => this.active.servers.submit(...asked) }
    this.#resources = new Resources(this.log)
    const service = adminService(this)
    this.#sampler = new Sampler(service, (err) => this.log.error({ err }, "unhandled error while sampling"))
    this.#deps = {
      ...opened,
      resources: this.#resources,
      requestLog: new RequestLog(this.log, { isForFaults: surroundings.logsRequests === false }),
      metrics: this.metrics,
      service,
      sampler: this.#sampler,
      topicsAdded: () => this.#topicsAdded(),
      from: surroundings.from,
      onAnswer: surroundings.onAnswer,
      captures,
      signal: this.#stopping.signal,
    }
  }

  /**
   * Opens everything in a plan.
   *
   * @throws HooklineError when a part can't be opened; those opened before are closed
   */
  static async start(plan: Plan, surroundings: Surroundings = {}): Promise<Runtime> {
    const runtime = new Runtime(plan, surroundings)
    const { metrics } = runtime
    await runtime.#change(() => Promise.resolve(plan))
    runtime.#sampler.start()
    metrics.configuration.started()
    await inSlices(logListening(runtime.log, [], runtime.listening))
    metrics.observe({
      inFlight: () => runtime.active.servers.inFlight(),
      maxInFlightBytes: () => runtime.active.servers.maxInFlightBytes,
      connections: () =>
        runtime.#stateInTurn().connections.map(([id, problem]) => [id, problem === undefined]),
      impaired: () => runtime.#stateInTurn().impaired,
      stores: () => runtime.#stateInTurn().stores.map(([name, problem]) => [name, problem === undefined]),
      waiting: () => [...storesOf(runtime.active.pipelines)].map(([name, keys]) => [name, keys.waiting()]),
      droppedKeys: () =>
        [...storesOf(runtime.active.pipelines)].map(([name, keys]) => [name, keys.store.dropped?.() ?? 0]),
      spools: () => spoolsOf(runtime.active.connections),
      logs: () => logsOf(runtime.active.connections),
    })
    runtime.#endWatch = watchEventLoop((seconds) => metrics.eventLoopLag.add(seconds))
    metrics.observeReadiness(() => runtime.readiness().state)
    metrics.observeProblems(() => runtime.#sampler.problems.counts(problemKinds))
    metrics.observeSenders(runtime.#deps.service)
    for (const { name, gauges } of extensions)
      metrics.observeGauges(
        gauges(() => runtime.extensions.get(name)),
        undefined,
      )
    return runtime
  }

  get active(): ActivePlan {
    return this.#active!
  }

  get configuration(): ConfigurationState {
    return this.metrics.configuration.state()
  }

  get plan(): Plan {
    return this.active.plan
  }

  get extensions(): RunningExtensions {
    return this.active.extensions
  }

  get forwards(): readonly RunningForward[] {
    return this.active.forwards
  }

  get listening(): readonly Listening[] {
    const { pipelines, servers } = this.active
    const routes = [...pipelines.values()].map(({ route }) => route)
    const { urls } = servers
    return urls.map((url, at) => ({ pipeline: routes[at]!.pipeline, url: url + routes[at]!.path }))
  }

  readiness(exclude?: Exclusion): Readiness {
    // the admin listener answers before everything else is open
    return this.#active === undefined
      ? STARTING
      : readinessOf(this.#active, this.#stopped !== undefined, exclude)
  }

  expose(accept: string | null): Exposition {
    return this.metrics.expose(accept)
  }

  async activity(): Promise<ActivitySample> {
    return { process: this.id, ...(await inSlices(this.metrics.activity())) }
  }

  broker(connection: string): Broker | undefined {
    return this.active.connections.get(connection)?.broker
  }

  /** For the gauges of a scrape, several of which are read in one turn. */
  #stateInTurn(): State {
    if (this.#seen === undefined) {
      this.#seen = stateOf(this.active)
      setImmediate(() => (this.#seen = undefined))
    }
    return this.#seen
  }

  fetch(request: Request, from: MountedFrom | undefined): Promise<Response> {
    return this.active.servers.mount.fetch(request, from)
  }

  reload(read: () => Steps<Plan>, explain: Explain): Promise<Changes> {
    return logReload(this, () => this.change(read), explain)
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#deps.setLevel(level)
  }

  /** As `reload`, without logging. */
  async change(read: () => Steps<Plan>): Promise<Changes> {
    const before = this.active
    await this.#change(() => inSlices(read(), this.#stopping.signal))
    await nextTurn()
    return changesOf(before, this.active)
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  #change(read: () => Promise<Plan>): Promise<void> {
    const changing = changePlan(read, this.#active, (active) => (this.#active = active), this.#deps)
    this.#changing = changing.catch(() => {})
    return changing
  }

  /** Passes the brokers the topics that pipelines name in this turn of the event loop, all at once. */
  #topicsAdded(): void {
    if (this.#areTopicsAdded) return
    this.#areTopicsAdded = true
    setImmediate(() => {
      this.#areTopicsAdded = false
      if (!this.#stopping.signal.aborted) prepareTopics(this.active)
    })
  }

  /** Waits, while `/readyz` says `draining` and events are accepted as ever. */
  async #delayShutdown(): Promise<void> {
    const { shutdown_delay: delayMs } = this.plan.service
    if (delayMs === 0) return
    const line = { shutdown_delay_ms: delayMs }
    this.log.info(line, "shutting down: /readyz answers 503, events are still accepted")
    await Bun.sleep(delayMs)
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new HooklineError("closing", "the application is stopping"))
    const { plan, servers } = this.active
    const { drain_timeout: drainTimeoutMs } = plan.service
    await this.#delayShutdown()
    this.log.info({ drain_timeout_ms: drainTimeoutMs, ...servers.inFlight() }, "stopping")
    const untilMs = steadyMs() + drainTimeoutMs
    await Promise.all([servers.drain(drainTimeoutMs), this.#deps.service.replays.close()])
    this.#sampler.close()
    // a running change closes what it has opened
    await this.#changing
    await this.#resources.close(untilMs)
    this.#deps.requestLog.flush()
    this.#endWatch()
    this.log.info("stopped")
  }
}

const LAG_PERIOD_MS = 100

/** Observes, in seconds, by how much a timer is late. @returns ends it */
function watchEventLoop(late: (seconds: number) => void): () => void {
  let dueMs = performance.now() + LAG_PERIOD_MS
  return repeat(LAG_PERIOD_MS, () => {
    const nowMs = performance.now()
    late(Math.max(0, nowMs - dueMs) / 1000)
    dueMs = nowMs + LAG_PERIOD_MS
  })
}
