import type { ActivitySample } from "../../admin/history.ts"
import { activityOf, type AdminClient } from "../../admin/admin-client.ts"
import type { Exclusion, Readiness, Service } from "../../admin/service.ts"
import { steadyMs } from "../../clock/clock.ts"
import { type Steps, atOnce, inSlices } from "../../clock/slices.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { formatEndpoint, type EndpointOptions } from "../../config/sections/endpoint.ts"
import { HooklineError } from "../../errors.ts"
import { checkUnshared } from "../../http/listener.ts"
import { openLog, type Logger, type LogLevel, type OpenLog } from "../../telemetry/log.ts"
import { Metrics } from "../../telemetry/metrics.ts"
import type { Metric } from "../../telemetry/metric-registry.ts"
import { expose, type Exposition } from "../../telemetry/text-formats.ts"
import { acquireAdmin, loadAdmin } from "../admin-listener.ts"
import { adminService, type Running } from "../admin-service.ts"
import { changesOf, type Changes } from "../configuration-diff.ts"
import type { Plan } from "../plan/plan.ts"
import { logListening, logReload } from "../reload-log.ts"
import { acquireForwards, type RunningForward } from "../forwards.ts"
import { acquireReconciles, type RunningReconcile } from "../reconciles.ts"
import { Resources } from "../resources.ts"
import type { Explain, Listening, ReloadableApplication } from "../running-application.ts"
import { acquireSilences, type Silences } from "../silences.ts"
import { shutdownDelay } from "../shutdown-delay.ts"
import { readinessOfWorkers } from "./readiness.ts"
import { RestartingWorker } from "./restarting-worker.ts"
import { addCounters, sumMetrics } from "./summed-metrics.ts"
import { GRACE_MS, type Configured } from "./worker.ts"

/**
 * Runs a configuration in several processes, the workers, which share ports and nothing else. It serves no webhooks
 * itself: it starts, watches and replaces workers, and runs the admin listener for all of them.
 *
 * A reload goes to one worker first. If that fails, nothing has changed; if it succeeds the others follow, and one that
 * fails although the first succeeded is replaced.
 */
export class Supervisor implements ReloadableApplication, Running {
  readonly id = crypto.randomUUID()
  readonly isWorker = false
  readonly log: Logger
  /** Workers receive the webhooks. */
  readonly receiver = undefined
  reloadAgain: Running["reloadAgain"]
  readonly metrics = new Metrics()
  plan: Plan
  listening: readonly Listening[] = []
  reconciles: readonly RunningReconcile[] = []
  forwards: readonly RunningForward[] = []
  silences: Silences | undefined
  readonly #service: Service
  readonly #setLevel: OpenLog["setLevel"]
  readonly #resources: Resources
  readonly #workers: readonly RestartingWorker[]
  /** Counters of ended workers. */
  #past: readonly Metric[] = []
  /** For workers started now. */
  #configuration: ConfigurationFile
  /** Set since the last reload; undefined: the configuration's. */
  #level: LogLevel | undefined
  #stopped: Promise<void> | undefined
  #changing: Promise<unknown> = Promise.resolve()

  private constructor(plan: Plan) {
    const { service } = plan
    const { log, setLevel } = openLog({
      level: service.log_level,
      format: service.log_format,
      onDropped: () => this.metrics.logLineDropped.add(),
    })
    this.log = log
    this.#setLevel = setLevel
    this.#service = adminService(this)
    this.#resources = new Resources(log)
    this.#configuration = plan.draft.configuration!
    this.plan = plan
    const owner = {
      log,
      workers: service.workers,
      configuration: () => this.#configuration,
      logLevel: () => this.#level,
      stallTimeoutMs: () => this.plan.service.stall_timeout,
      ended: (worker: number, counted: readonly Metric[]) => {
        this.#past = addCounters(this.#past, counted)
        this.metrics.workers.ended(worker)
      },
      metrics: this.metrics.workers,
    }
    this.#workers = Array.from(
      { length: service.workers },
      (_, index) => new RestartingWorker(index + 1, owner),
    )
  }

  /** Opens the admin listener and starts the workers. @throws HooklineError when that fails; all is closed then */
  static async start(plan: Plan): Promise<Supervisor> {
    const supervisor = new Supervisor(plan)
    await supervisor.#take(
      () => Promise.resolve(plan),
      new Set(),
      () => supervisor.#startAll(),
    )
    supervisor.metrics.configuration.started()
    supervisor.metrics.observeReadiness(async () => (await supervisor.readiness()).state)
    supervisor.metrics.observeSenders(supervisor.#service)
    return supervisor
  }

  reload(read: () => Steps<Plan>, explain: Explain): Promise<Changes> {
    const reloading = logReload(this, () => this.#change(read), explain)
    this.#changing = reloading.catch(() => {})
    return reloading
  }

  async #change(read: () => Steps<Plan>): Promise<Changes> {
    const before = this.plan
    let reloaded: Configured | undefined
    await this.#take(
      () => inSlices(read()),
      portsOf(before),
      async (plan) => {
        reloaded = await this.#reloadAll(plan)
        return reloaded?.listening ?? this.listening
      },
    )
    const own = changesOf(bare(before), bare(this.plan))
    return { ...(reloaded?.changes ?? own), service: own.service, admin: own.admin, traces: own.traces }
  }

  async setLogLevel(level: LogLevel): Promise<void> {
    this.#level = level
    this.#setLevel(level)
    await Promise.all(this.#workers.map((worker) => worker.setLogLevel(level)))
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  async #startAll(): Promise<readonly Listening[]> {
    try {
      const [listening] = await Promise.all(this.#workers.map((worker) => worker.start()))
      atOnce(logListening(this.log, [], listening!))
      return listening!
    } catch (error) {
      for (const worker of this.#workers) worker.kill()
      throw error
    }
  }

  /** @returns one worker's answer; undefined: none is up. @throws HooklineError why it can't reload */
  async #reloadAll({ draft: { configuration }, service }: Plan): Promise<Configured | undefined> {
    const { length } = this.#workers
    let reloaded: Configured | undefined
    try {
      reloaded = await this.#workers.find(({ isUp }) => isUp)?.reload(configuration!)
    } catch (error) {
      if (service.workers === length || !(error instanceof HooklineError)) throw error
      const kept = `[service] workers: stays ${length} until a restart`
      throw new HooklineError(error.code, `${error.message}\n${kept}`)
    }
    this.#configuration = configuration!
    await Promise.all(this.#workers.map((worker) => worker.follow()))
    return reloaded
  }

  async #stop(): Promise<void> {
    const { drain_timeout: drainTimeoutMs } = this.plan.service
    // a second signal ends this process at once, without draining
    process.once("exit", () => this.#workers.forEach((worker) => worker.kill()))
    await shutdownDelay(this.plan, this.log)
    this.log.info({ drain_timeout_ms: drainTimeoutMs }, "stopping")
    const untilMs = steadyMs() + drainTimeoutMs
    await Promise.all([
      ...this.#workers.map((worker) => worker.stop(untilMs + GRACE_MS)),
      this.#service.replays.close(),
    ])
    await this.#changing
    await this.#resources.close(untilMs)
    this.log.info("stopped")
  }

  /**
   * @param known ports that the workers listen on already
   * @param takeOver switches the workers to the plan
   */
  async #take(
    read: () => Promise<Plan>,
    known: ReadonlySet<number>,
    takeOver: (plan: Plan) => Promise<readonly Listening[]>,
  ): Promise<void> {
    const transaction = await this.#resources.begin()
    try {
      if (this.#stopped !== undefined) throw new HooklineError("closing", "the application is stopping")
      const plan = await read()
      acquireAdmin(plan, await loadAdmin(plan.admin), transaction, this.#service, this.log)
      const silences = acquireSilences(plan, transaction, this.#service, this.log)
      const forwards = acquireForwards(plan, transaction, this.#service, this.log)
      const reconciles = acquireReconciles(plan, transaction, this.#service, this.log)
      // with SO_REUSEPORT workers would share a port with any other process: check here, once, that it is free
      const endpoints = plan.pipelines.map(({ source }) => source.values as unknown as EndpointOptions)
      for (const endpoint of new Map(endpoints.map((it) => [formatEndpoint(it), it])).values())
        if (!known.has(endpoint.port)) checkUnshared(endpoint)
      const listening = await takeOver(plan)
      this.#level = undefined
      this.#setLevel(plan.service.log_level)
      transaction.commit(Promise.resolve(), plan.service.drain_timeout)
      this.plan = plan
      this.listening = listening
      this.reconciles = reconciles
      this.forwards = forwards
      this.silences = silences
    } catch (error) {
      await transaction.abort()
      throw error
    }
  }

  async readiness(exclude?: Exclusion): Promise<Readiness> {
    const workers = await Promise.all(this.#workers.map((worker) => worker.status(exclude)))
    return readinessOfWorkers(workers, this.#stopped !== undefined)
  }

  activity(): Promise<readonly ActivitySample[]> {
    return activityOf(this.workers())
  }

  /** Workers have connections to Kafka alone, each its own. */
  broker(): undefined {
    return undefined
  }

  workers(): readonly AdminClient[] {
    return this.#workers.flatMap(({ admin }) => admin ?? [])
  }

  async expose(accept: string | null): Promise<Exposition> {
    await Promise.all(this.#workers.map((worker) => worker.count()))
    this.metrics.workers.update(this.#workers)
    const own = await this.metrics.read()
    const sum = await sumMetrics([own, this.#past, ...this.#workers.map(({ counted }) => counted)])
    return expose(sum, accept)
  }
}

const portsOf = ({ pipelines }: Plan): Set<number> =>
  new Set(pipelines.map(({ source }) => (source.values as { port: number }).port))

/** For changes of other sections; workers report those of pipelines and connections. */
const bare = (plan: Plan) => ({ plan, connections: new Map(), pipelines: new Map() })
