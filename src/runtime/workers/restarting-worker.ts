import { AdminClient, unanswered } from "../../admin/admin-client.ts"
import type { Readyz } from "../../admin/probes.ts"
import type { Exclusion } from "../../admin/service.ts"
import { steadyMs, within } from "../../clock/clock.ts"
import type { ConfigurationFile } from "../../config/file/configuration-file.ts"
import { HooklineError } from "../../errors.ts"
import type { Logger, LogLevel } from "../../telemetry/log.ts"
import type { Metric } from "../../telemetry/metric-registry.ts"
import type { WorkerMetrics } from "../../telemetry/worker-metrics.ts"
import type { Listening } from "../running-application.ts"
import { RestartDelay } from "./restart-delay.ts"
import { StallWatch } from "./stall-watch.ts"
import { unpackMetrics } from "./summed-metrics.ts"
import { WorkerProcess } from "./worker-process.ts"
import type { Configured } from "./worker.ts"

/*
 * The states of a worker, whose process is restarted when it ends:
 *
 *   starting  its process was started and does not listen yet
 *   up        its process serves requests
 *   waiting   its process has ended; the next starts after the back-off, at first immediately
 *   ended     no further process is started
 */
export type WorkerState = "starting" | "up" | "waiting" | "ended"

export interface WorkerOwner {
  readonly log: Logger
  readonly workers: number
  /** The configuration of a process started now. */
  readonly configuration: () => ConfigurationFile
  /** The log level of a process started now; undefined: its configuration's. */
  readonly logLevel: () => LogLevel | undefined
  readonly stallTimeoutMs: () => number
  /** A process that was up has ended; `counted` are its last known metrics. */
  readonly ended: (worker: number, counted: readonly Metric[]) => void
  readonly metrics: Pick<WorkerMetrics, "stalled">
}

export interface WorkerStatus {
  readonly worker: number
  readonly process: WorkerState
  /** undefined: answering. */
  readonly stalledMs: number | undefined
  /** undefined: not up, or not answering. */
  readonly readyz: Readyz | undefined
}

/** How long a starting process may be silent: it may read and open much in one turn of its event loop. */
const START_MS = 60_000

/** One worker: its process, and its successors. */
export class RestartingWorker {
  readonly number: number
  /** The metrics of its process's last answer. */
  counted: readonly Metric[] = []
  readonly #owner: WorkerOwner
  readonly #backOff = new RestartDelay()
  #state: WorkerState = "waiting"
  #process: WorkerProcess | undefined
  /** The admin API of the last process that was configured. */
  #admin: AdminClient | undefined
  #log: Logger
  #watch: StallWatch | undefined
  #startedMs = 0
  #configuration: ConfigurationFile | undefined
  /** Ends the wait for the back-off. */
  #wake = (): void => {}

  constructor(number: number, owner: WorkerOwner) {
    this.number = number
    this.#owner = owner
    this.#log = owner.log
  }

  /** Whether its process serves requests and answers. */
  get isUp(): boolean {
    return this.#state === "up" && this.#watch?.stalledMs === undefined
  }

  /** Starts the first process. @throws HooklineError why it can't run; it is not retried then */
  async start(): Promise<readonly Listening[]> {
    const listening = await this.#begin()
    void this.#keepUp()
    return listening
  }

  async status(exclude?: Exclusion): Promise<WorkerStatus> {
    const readyz = await this.#read<Readyz>(`/readyz${exclude === undefined ? "" : `?exclude=${exclude}`}`)
    return { worker: this.number, process: this.#state, stalledMs: this.#watch?.stalledMs, readyz }
  }

  async count(): Promise<void> {
    const process = this.#process
    const metrics = await this.#read<Parameters<typeof unpackMetrics>[0]>("/metrics")
    if (metrics !== undefined && this.#process === process) this.counted = unpackMetrics(metrics)
  }

  /** The admin API of its process; undefined: it is not up. */
  get admin(): AdminClient | undefined {
    return this.isUp ? this.#admin : undefined
  }

  /** Resolves when its process logs at that level; one that stalls does so later. */
  async setLogLevel(level: LogLevel): Promise<void> {
    await this.#admin?.does("log-level", "PUT", { level })
  }

  /** Reloads its process. @throws HooklineError why it can't; it keeps its configuration */
  async reload(configuration: ConfigurationFile): Promise<Configured> {
    const configured = await this.#configure(this.#process!, configuration)
    this.#configuration = configuration
    return configured
  }

  /** Brings it to the supervisor's configuration: a process that can't reload is replaced, a back-off is cut short. */
  async follow(): Promise<void> {
    const configuration = this.#owner.configuration()
    this.#backOff.reset()
    this.#wake()
    if (this.#state !== "up" || this.#configuration === configuration) return
    const process = this.#process!
    try {
      await this.reload(configuration)
    } catch (error) {
      // draining
      if (this.#hasEnded()) return
      this.#log.error(`worker could not reload; replacing it: ${(error as Error).message}`)
      process.kill()
    }
  }

  /** Drains and ends it; kills it at `untilMs`. */
  async stop(untilMs: number): Promise<void> {
    const process = this.#process
    const isUp = this.#state === "up"
    this.#end()
    if (process === undefined) return
    if (!isUp) process.kill()
    // it exits instead of answering
    process.call("stop").catch(() => {})
    await within(untilMs - steadyMs(), process.exited, () => {
      this.#log.error("worker did not stop in time; killing it")
      process.kill()
      return process.exited
    })
  }

  kill(): void {
    this.#end()
    this.#process?.kill()
  }

  #end(): void {
    this.#state = "ended"
    this.#wake()
  }

  /** undefined: the process is not up, stalls, or does not answer in time. */
  async #read<T>(path: string): Promise<T | undefined> {
    const answer = await this.admin?.fetch(path).catch(unanswered)
    return (await answer?.json().catch(() => undefined)) as T | undefined
  }

  async #configure(process: WorkerProcess, configuration: ConfigurationFile): Promise<Configured> {
    const { token } = process
    const membership = { worker: this.number, workers: this.#owner.workers, token }
    const configured = await process.call("configure", { ...membership, configuration })
    this.#admin = new AdminClient(configured.adminUrl, token)
    return configured
  }

  async #begin(): Promise<readonly Listening[]> {
    const { configuration, log } = this.#owner
    this.#startedMs = steadyMs()
    this.#state = "starting"
    this.#configuration = configuration()
    const process = (this.#process = new WorkerProcess())
    this.#log = log.child({ worker: this.number, pid: process.pid })
    void this.#watchFor(process)
    try {
      const { listening } = await this.#configure(process, this.#configuration)
      const level = this.#owner.logLevel()
      if (level !== undefined) await this.setLogLevel(level)
      if (this.#hasEnded()) throw new HooklineError("closing", "the application is stopping")
      this.#state = "up"
      return listening
    } catch (error) {
      process.kill()
      const ending = await process.exited
      if (!(error instanceof HooklineError) || error.code !== "unavailable") throw error
      throw new HooklineError("internal", `worker ${this.number} ended while it started: ${ending}`)
    }
  }

  /** Restarts the process until the worker has ended. */
  async #keepUp(): Promise<void> {
    const { ended, configuration } = this.#owner
    while (!this.#hasEnded()) {
      if (this.#state === "up") {
        const ending = await this.#process!.exited
        if (this.#hasEnded()) return
        ended(this.number, this.counted)
        this.counted = []
        await this.#wait("worker ended: open requests dropped; restarting", { ending })
        if (this.#hasEnded()) return
      }
      try {
        await this.#begin()
        this.#log.info("worker restarted")
        // a reload during the start went to the processes before this one
        if (this.#configuration !== configuration()) this.#process!.kill()
      } catch (error) {
        if (!this.#hasEnded()) await this.#wait(`worker could not be started: ${(error as Error).message}`)
      }
    }
  }

  /** Logs why its process ended, and waits for the back-off. */
  async #wait(why: string, fields: object = {}): Promise<void> {
    const ms = this.#backOff.ended(steadyMs() - this.#startedMs)
    this.#log.error({ ...fields, restart_in_ms: ms }, why)
    this.#state = "waiting"
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    await within(ms, promise, () => {})
  }

  async #watchFor(process: WorkerProcess): Promise<void> {
    const { stallTimeoutMs, metrics } = this.#owner
    const isStarting = (): boolean => this.#state === "starting"
    const watch = new StallWatch({
      log: this.#log,
      heartbeat: () => process.call("heartbeat"),
      isStarting,
      timeoutMs: () => (isStarting() ? Math.max(START_MS, stallTimeoutMs()) : stallTimeoutMs()),
      stalled: () => metrics.stalled(this.number, "noticed"),
      overdue: () => {
        metrics.stalled(this.number, "killed")
        process.kill()
      },
    })
    this.#watch = watch
    await process.exited
    watch.end()
    if (this.#watch === watch) this.#watch = undefined
  }

  #hasEnded(): boolean {
    return this.#state === "ended"
  }
}
