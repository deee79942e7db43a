import type { Broker } from "../brokers/broker.ts"
import { HooklineError } from "../errors.ts"
import type { Listening } from "../reload.ts"
import type { Logger } from "../telemetry/log.ts"
import type { State } from "../running.ts"
import type { MetricLines } from "../telemetry/metric-lines.ts"
import type { ToldWorker } from "../telemetry/worker-metrics.ts"
import type { Changed, Order } from "./messages.ts"
import { Slot, type SlotState } from "./slot.ts"
import { Bequest } from "./summed-metrics.ts"
import type { WorkerProcess } from "./worker-process.ts"

export interface FleetOptions {
  readonly workers: number
  readonly log: Logger
  /** The broker of a number; undefined: it is closed. */
  readonly broker: (number: number) => Broker | undefined
  /** A worker has ended that was not to. */
  readonly lost: (worker: number) => void
  /** For how long a worker may stand still. */
  readonly stallTimeoutMs: () => number
  /** A worker stands still, or was killed for it. */
  readonly stalled: (worker: number, what: "noticed" | "killed") => void
}

/** How a worker is. */
export interface WorkerStatus {
  readonly worker: number
  readonly slot: SlotState
  /** For how long it has stood still; undefined: it does not. */
  readonly stalledMs: number | undefined
  /** Undefined when it does not take webhooks, or does not answer. */
  readonly state: State | undefined
}

/** How long a worker may take to open what a change needs: what it closed before may have to be waited for. */
const PREPARE_MS = 60_000

/** The workers: starts them, starts those anew that end, and has all of them change together. */
export class Fleet {
  readonly #slots: readonly Slot[]
  readonly #bequest = new Bequest()
  #order: Order | undefined
  readonly #stopping = Promise.withResolvers<never>()

  constructor({ workers, log, broker, lost, stallTimeoutMs, stalled }: FleetOptions) {
    const owner = {
      log,
      workers,
      order: () => this.#order!,
      host: { broker, log },
      passOn: (from: Slot, frame: Buffer) => {
        for (const slot of this.#slots) if (slot !== from) slot.passOn(frame)
      },
      lost: (slot: Slot, last: readonly MetricLines[] | undefined) => {
        this.#bequest.add(last)
        if (slot.state !== "ended") lost(slot.number)
      },
      stallTimeoutMs,
      stalled: (slot: Slot, what: "noticed" | "killed") => stalled(slot.number, what),
    }
    this.#slots = Array.from({ length: workers }, (_, index) => new Slot(index + 1, owner))
    this.#stopping.promise.catch(() => {})
  }

  /** Starts all. @throws HooklineError why one can't run; none is left then */
  async start(order: Order): Promise<readonly Listening[]> {
    this.#order = order
    try {
      const [listening] = await Promise.all(this.#slots.map((slot) => slot.start()))
      return listening!
    } catch (error) {
      this.kill()
      throw error
    }
  }

  /**
   * Has all change to another order, or none.
   *
   * @param decide called when all can, before any does; when it throws, none does
   * @returns what one of them changed, undefined where none is up; `unused` resolves when the events that began before
   *   have ended in all of them
   * @throws HooklineError why one can't; `closing`
   */
  async change(
    order: Order,
    decide: () => void,
  ): Promise<{ changed: Changed | undefined; unused: Promise<void> }> {
    const up = this.#slots.filter(({ isUp }) => isUp)
    const processes = up.map((slot) => slot.process!)
    await this.#prepare(processes, order, decide)
    this.#order = order
    const changes = await Promise.allSettled(
      processes.map(async (process, at) => {
        const changed = await process.call("commit")
        up[at]!.took(order)
        return changed
      }),
    )
    // one that ended meanwhile begins with the new order; so does one that was being started, or can't go on
    for (const slot of this.#slots) slot.catchUp()
    const changed = changes.find((it) => it.status === "fulfilled")?.value
    return { changed, unused: settled(processes) }
  }

  /** How all are, by what they say now. */
  status(): Promise<readonly WorkerStatus[]> {
    return Promise.all(
      this.#slots.map(async (slot) => {
        const state = await slot.ask((it) => it.call("state"))
        return { worker: slot.number, slot: slot.state, stalledMs: slot.stalledMs, state }
      }),
    )
  }

  /** What each has counted; one that does not answer, by what it told last. */
  async count(): Promise<readonly ToldWorker[]> {
    await Promise.all(this.#slots.map((slot) => slot.count()))
    return this.#slots.map(({ number, isUp, stalledMs, counted }) => {
      return { worker: number, isUp: isUp && stalledMs === undefined, metrics: counted }
    })
  }

  /** What those have counted that are gone. */
  get bequeathed(): readonly MetricLines[] {
    return this.#bequest.counted
  }

  /** Has all drain and end. */
  async stop(untilMs: number): Promise<void> {
    this.#stopping.reject(new HooklineError("closing", "the application is stopping"))
    await Promise.all(this.#slots.map((slot) => slot.stop(untilMs)))
  }

  kill(): void {
    for (const slot of this.#slots) slot.kill()
  }

  async #prepare(processes: readonly WorkerProcess[], order: Order, decide: () => void): Promise<void> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(
      () => late.reject(new HooklineError("internal", "a worker did not prepare the change in time")),
      PREPARE_MS,
    )
    const prepared = processes.map((process) => process.call("prepare", order))
    try {
      await Promise.race([Promise.all(prepared), late.promise, this.#stopping.promise])
      decide()
    } catch (error) {
      for (const process of processes) void process.call("abort").catch(() => {})
      await Promise.race([Promise.allSettled(prepared), late.promise.catch(() => {})])
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Resolves when the events that began before the last change have ended; those of a process that is gone have. */
async function settled(processes: readonly WorkerProcess[]): Promise<void> {
  await Promise.allSettled(processes.map((process) => process.call("settle")))
}
