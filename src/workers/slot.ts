import { HooklineError } from "../errors.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { MetricLines } from "../telemetry/metric-lines.ts"
import type { Listening } from "../reload.ts"
import { BackOff } from "./back-off.ts"
import type { Host } from "./hosting.ts"
import type { Order } from "./messages.ts"
import { StallWatch } from "./stall-watch.ts"
import { unpackMetrics } from "./summed-metrics.ts"
import { WorkerProcess } from "./worker-process.ts"

/*
 * The states of a worker's place:
 *
 *   starting  its process was started and does not listen yet
 *   up        it takes webhooks
 *   waiting   its process has ended, and is started anew when the back-off is over: at once at first
 *   ended     it is not to be started any more
 */
export type SlotState = "starting" | "up" | "waiting" | "ended"

export interface SlotOwner {
  readonly log: Logger
  readonly workers: number
  /** What a process that is started now is to run. */
  readonly order: () => Order
  readonly host: Omit<Host, "passOn">
  /** Passes a frame of this worker on to the others. */
  readonly passOn: (from: Slot, frame: Buffer) => void
  /** A process that was up has ended, and told this last. */
  readonly lost: (slot: Slot, last: readonly MetricLines[] | undefined) => void
  /** For how long a process that takes webhooks may stand still. */
  readonly stallTimeoutMs: () => number
  /** A process stands still, or was killed for it. */
  readonly stalled: (slot: Slot, what: "noticed" | "killed") => void
}

/** How long a worker may take to tell how it is. */
const TELL_MS = 1000
/** How long a process that starts may stand still: it may have much to read and to open in one turn. */
const START_MS = 60_000

/** The place of one worker, in which one process follows another. */
export class Slot {
  readonly number: number
  readonly #owner: SlotOwner
  readonly #backOff = new BackOff()
  #state: SlotState = "waiting"
  #process: WorkerProcess | undefined
  #watch: StallWatch | undefined
  /** What the process runs. */
  #order: Order | undefined
  #restart: Timer | undefined
  #counted: readonly MetricLines[] | undefined

  constructor(number: number, owner: SlotOwner) {
    this.number = number
    this.#owner = owner
  }

  get isUp(): boolean {
    return this.#state === "up"
  }

  /** The process, if it takes webhooks. */
  get process(): WorkerProcess | undefined {
    return this.#state === "up" ? this.#process : undefined
  }

  get state(): SlotState {
    return this.#state
  }

  /** For how long its process has stood still; undefined: it does not. */
  get stalledMs(): number | undefined {
    return this.#watch?.stalledMs
  }

  /** What its process has counted, as far as it told. */
  get counted(): readonly MetricLines[] | undefined {
    return this.#counted
  }

  /** Starts the first process. @throws HooklineError why it can't run; it is not tried again then */
  start(): Promise<Listening[]> {
    return this.#begin()
  }

  /** What the worker answers; undefined: it is not up, stands still, or does not answer in time. */
  async ask<T>(question: (process: WorkerProcess) => Promise<T>): Promise<T | undefined> {
    const { process } = this
    if (process === undefined || this.stalledMs !== undefined) return undefined
    const late = Promise.withResolvers<undefined>()
    const timer = setTimeout(late.resolve, TELL_MS, undefined)
    const answer = await Promise.race([question(process).catch(() => undefined), late.promise])
    clearTimeout(timer)
    return answer
  }

  /** Has it tell what its process has counted. */
  async count(): Promise<void> {
    const { process } = this
    const told = await this.ask((it) => it.call("metrics"))
    if (told !== undefined && this.process === process) this.#counted = unpackMetrics(told)
  }

  /** What it runs by now. */
  took(order: Order): void {
    this.#order = order
  }

  /** Has it run what it is to run: a process that is not as far is started anew, one that waits is not kept waiting. */
  catchUp(): void {
    this.#backOff.reset()
    if (this.#state === "waiting") void this.#again()
    else if (this.isUp && this.#order !== this.#owner.order()) this.#process!.kill()
  }

  passOn(frame: Buffer): void {
    this.process?.passOn(frame)
  }

  /** Has it drain and end; kills it when that takes longer than it may. */
  async stop(untilMs: number): Promise<void> {
    const { process } = this
    this.#end()
    if (process === undefined) {
      this.kill()
      return
    }
    // it ends before it can answer
    void process.call("stop").catch(() => {})
    const overdue = setTimeout(() => {
      this.#owner.log.error(
        { worker: this.number, pid: process.pid },
        "the worker did not stop in time: killed",
      )
      process.kill()
    }, untilMs - steadyMs())
    await process.exited
    clearTimeout(overdue)
  }

  kill(): void {
    this.#end()
    this.#process?.kill()
  }

  #end(): void {
    this.#state = "ended"
    clearTimeout(this.#restart)
  }

  async #begin(): Promise<Listening[]> {
    const { host, workers } = this.#owner
    const order = this.#owner.order()
    const startedMs = steadyMs()
    const process = new WorkerProcess({ ...host, passOn: (frame) => this.#owner.passOn(this, frame) })
    this.#state = "starting"
    this.#process = process
    this.#order = order
    void this.#watchOver(process)
    try {
      const listening = await process.call("start", { ...order, worker: this.number, workers })
      if ((this.#state as SlotState) === "ended")
        throw new HooklineError("closing", "the application is stopping")
      this.#state = "up"
      void process.exited.then((ending) => this.#lost(process, ending, startedMs))
      return listening
    } catch (error) {
      process.kill()
      const ending = await process.exited
      if (!(error instanceof HooklineError) || error.code !== "unavailable") throw error
      throw new HooklineError("internal", `worker ${this.number} ended while it started: ${ending}`)
    }
  }

  /** Until the process has ended. */
  async #watchOver(process: WorkerProcess): Promise<void> {
    const { log, stallTimeoutMs, stalled } = this.#owner
    const isStarting = (): boolean => this.#state === "starting"
    const watch = new StallWatch({
      worker: this.number,
      pid: process.pid,
      log,
      heartbeat: () => process.call("heartbeat"),
      isStarting,
      patienceMs: () => Math.max(stallTimeoutMs(), isStarting() ? START_MS : 0),
      stalled: () => stalled(this, "noticed"),
      overdue: () => {
        stalled(this, "killed")
        process.kill()
      },
    })
    this.#watch = watch
    await process.exited
    watch.end()
    if (this.#watch === watch) this.#watch = undefined
  }

  #lost(process: WorkerProcess, ending: string, startedMs: number): void {
    const last = this.#counted
    this.#counted = undefined
    this.#owner.lost(this, last)
    if (this.#state === "ended") return
    const waitMs = this.#backOff.ended(steadyMs() - startedMs)
    const line = { worker: this.number, pid: process.pid, ending, restart_in_ms: waitMs }
    this.#owner.log.error(line, "a worker has ended: its requests are broken off, and it is started again")
    this.#wait(waitMs)
  }

  #wait(ms: number): void {
    this.#state = "waiting"
    this.#restart = setTimeout(() => void this.#again(), ms)
  }

  async #again(): Promise<void> {
    clearTimeout(this.#restart)
    const startedMs = steadyMs()
    const { log, order } = this.#owner
    try {
      await this.#begin()
      log.info({ worker: this.number, pid: this.#process!.pid }, "the worker takes webhooks again")
      // what it is to run may have changed meanwhile
      if (this.#order !== order()) this.#process!.kill()
    } catch (error) {
      if ((this.#state as SlotState) === "ended") return
      const waitMs = this.#backOff.ended(steadyMs() - startedMs)
      const line = { worker: this.number, restart_in_ms: waitMs }
      log.error(line, `a worker could not be started: ${(error as Error).message}`)
      this.#wait(waitMs)
    }
  }
}
