import type { LogReader, OffsetRange, StoredRecord } from "../brokers/broker.ts"
import { pause } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import { Cursors } from "./cursors.ts"
import { RecordPace, Speed } from "./pace.ts"
import {
  toFailure,
  type ReplayFailure,
  type ReplayPosition,
  type ReplayProgress,
  type ReplayState,
} from "./progress.ts"
import type { Matches } from "../brokers/record-filter.ts"
import type { Selection } from "./range.ts"
import { SendWindow, toWindowRecord, type WindowRecord } from "./send-window.ts"
import { refusedError, type Refusal, type ReplayTarget } from "./target.ts"

/*
 * Sends the records of a range to a target, in the order of the reader: by offset within each partition, by time across
 * them. Its states:
 *
 *   running    records are read and sent. While the source or the target is unavailable it waits, and says why (`problem`).
 *   paused     nothing more is sent, nor attempted again; what is under way is acknowledged and saved.
 *   done       every record of the range was sent, refused or not matching.
 *   cancelled  by `cancel`.
 *   failed     by a fault that does not pass, or by a refused record where that is to stop it.
 *
 * `#readAll` reads and sends what the window admits; `#save` counts and saves what is settled, in order within a partition.
 * The saved position is, by partition, the lowest offset that is not settled. At most a window of records (ReplayTarget) was sent
 * after it, and may be sent again by a job that begins there. Two signals reach the loop: `#paused`, while it is, and `#stop`,
 * when the job is over.
 */
export interface ReplayOptions {
  readonly reader: LogReader
  readonly selection: Selection
  readonly matches?: Matches | undefined
  readonly target: ReplayTarget
  /** Records a second. */
  readonly rate?: number | undefined
  /** Whether a record that the target refuses ends the job, or is among the failures. */
  readonly onRefusal: "stop" | "skip"
  /** Called with a record that the target refused, before it counts as settled. */
  readonly refused?: ((record: StoredRecord, refusal: Refusal) => Promise<void>) | undefined
  /** Where an earlier job of the same range got to. */
  readonly from?: ReplayPosition | undefined
  /** Called with offsets that the log has deleted before they were read. */
  readonly missed?: ((range: OffsetRange) => void) | undefined
  /** Makes a position durable. @throws an error that ends the job */
  readonly save?:
    | ((position: ReplayPosition, failures: readonly ReplayFailure[]) => Promise<void> | void)
    | undefined
}

/** Pause after the source was unavailable. */
const READ_RETRY_MS = 500
/** How long what was sent has to be acknowledged when the job is cancelled or fails. */
const STOP_MS = 2000
const MOST_FAILURES = 100

export class ReplayJob {
  readonly #options: ReplayOptions
  readonly #startedMs = Date.now()
  readonly #cursors: Cursors
  readonly #window: SendWindow
  readonly #pace: RecordPace | undefined
  readonly #sent = new Speed()
  readonly #passed = new Speed()
  /** Aborted when the job is over. */
  readonly #stop = new AbortController()
  /** Ends a read, for another one with more partitions. */
  #reading = new AbortController()
  #state: ReplayState = "running"
  #error: Error | undefined
  #readProblem: string | undefined
  #replayed: number
  #failed: number
  #missed = 0
  #failures: ReplayFailure[] = []
  /** Failures that are saved with the next position. */
  #unsaved: readonly ReplayFailure[] = []
  /** Resolves when the job is no longer paused; undefined: it is not. */
  #paused: PromiseWithResolvers<void> | undefined
  #ending: Promise<void> | undefined

  constructor(options: ReplayOptions) {
    this.#options = options
    const { selection, from, rate } = options
    this.#window = new SendWindow(options.target, this.#stop.signal, (settled) => this.#save(settled))
    this.#cursors = new Cursors(selection.ranges, from)
    this.#replayed = from?.replayed ?? 0
    this.#failed = from?.failed ?? 0
    this.#pace = rate === undefined ? undefined : new RecordPace(rate)
  }

  /** Begins; resolves when the job has ended, in whatever state. Reader and target are still open then. */
  start(): Promise<void> {
    return (this.#ending ??= this.#run())
  }

  /** @returns whether it was running */
  pause(): boolean {
    return this.#change("running", "paused")
  }

  /** @returns whether it was paused */
  resume(): boolean {
    return this.#change("paused", "running")
  }

  /** Ends the job, once what was sent is acknowledged or a moment has passed. @param error why it fails; undefined: it is cancelled */
  async cancel(error?: Error): Promise<void> {
    if (error !== undefined) this.#fail(error)
    if (!this.#isOver) this.#setState("cancelled")
    await this.#ending
  }

  /** Has it read more partitions. */
  extend(ranges: readonly OffsetRange[]): void {
    this.#cursors.add(ranges)
    this.#reading.abort()
  }

  progress(): ReplayProgress {
    const { target } = this.#options
    const { offsets, passed } = this.#cursors
    const offsetsPerS = this.#passed.perSecond(passed)
    const left = offsets - passed
    const isMoving = this.#state === "running" && offsetsPerS > 0 && left > 0 && Number.isFinite(left)
    const waits = this.#state === "running" ? (this.#readProblem ?? target.problem()) : undefined
    return {
      state: this.#state,
      startedMs: this.#startedMs,
      offsets,
      passed,
      replayed: this.#replayed,
      failed: this.#failed,
      missed: this.#missed,
      perSecond: this.#state === "running" ? this.#sent.perSecond(this.#replayed) : 0,
      remainingMs: isMoving ? (left / offsetsPerS) * 1000 : undefined,
      problem: this.#error?.message ?? waits,
      failures: this.#failures,
    }
  }

  /** Why nothing can be read now; undefined while it can. */
  get sourceProblem(): string | undefined {
    return this.#readProblem
  }

  /** The next offset that is not settled, by partition. */
  get next(): ReplayPosition["next"] {
    return this.#cursors.next
  }

  /** The next offset that is read, by partition. */
  get read(): ReplayPosition["next"] {
    return this.#cursors.read
  }

  /** What ended it, if it failed. */
  get error(): Error | undefined {
    return this.#error
  }

  get #isOver(): boolean {
    return this.#state !== "running" && this.#state !== "paused"
  }

  #change(from: ReplayState, to: ReplayState): boolean {
    if (this.#state !== from) return false
    this.#setState(to)
    return true
  }

  /** The only place where the state changes. */
  #setState(state: ReplayState): void {
    this.#state = state
    this.#sent.reset()
    this.#passed.reset()
    this.#paused?.resolve()
    this.#paused = state === "paused" ? Promise.withResolvers() : undefined
    const { target } = this.#options
    if (!this.#isOver) return target.hold?.(state === "paused")
    this.#stop.abort()
    target.end?.()
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#error = error instanceof Error ? error : new Error(String(error))
    this.#setState("failed")
  }

  async #run(): Promise<void> {
    const { target } = this.#options
    try {
      await this.#readAll()
      await this.#window.saved()
    } catch (error) {
      this.#fail(error)
    }
    if (!this.#isOver) {
      this.#cursors.finish()
      this.#setState("done")
    }
    await this.#window.answered(STOP_MS, () => target.problem())
    target.stop()
    await this.#window.saveSettled()
  }

  /** Reads to the end of the ranges, however often the source is unavailable. */
  async #readAll(): Promise<void> {
    const { signal: stopped } = this.#stop
    const { reader, selection } = this.#options
    while (!stopped.aborted) {
      this.#reading = new AbortController()
      const signal = AbortSignal.any([stopped, this.#reading.signal])
      try {
        if (this.#readProblem !== undefined) await reader.ranges(selection.topic)
        this.#readProblem = undefined
        const options = { retries: false, signal, missed: this.#miss }
        const { unread } = this.#cursors
        for await (const record of reader.read(selection.topic, unread, options)) {
          await this.#sendInTurn(record)
          if (signal.aborted) break
        }
        if (!signal.aborted) return
      } catch (error) {
        if (!(error instanceof HooklineError) || !error.retryHelps) throw error
        this.#readProblem = error.message
        await pause(READ_RETRY_MS, signal)
      }
    }
  }

  readonly #miss = (range: OffsetRange): void => {
    this.#missed += range.end - range.first
    this.#cursors.setRead(range.partition, range.end)
    this.#options.missed?.(range)
  }

  async #sendInTurn(record: StoredRecord): Promise<void> {
    const { signal } = this.#stop
    const isSkipped = this.#options.matches?.(record) === false
    const one = toWindowRecord(record, isSkipped)
    await this.#window.admit(one)
    if (!isSkipped) await this.#pace?.turn(signal)
    while (this.#paused !== undefined) await this.#paused.promise
    if (signal.aborted) return
    this.#cursors.setRead(record.partition, record.offset + 1)
    this.#window.add(one)
    if (!isSkipped) void this.#send(one)
  }

  async #send(one: WindowRecord): Promise<void> {
    const { target, onRefusal } = this.#options
    try {
      const sent = await target.send(one.record)
      if (typeof sent === "string") this.#window.settle(one, sent)
      else if (onRefusal === "stop") throw refusedError(one.record, sent)
      else {
        await this.#options.refused?.(one.record, sent)
        this.#window.settle(one, toFailure(one.record, sent))
      }
    } catch (error) {
      this.#window.settle(one, "stopped")
      this.#fail(error)
    }
  }

  async #save(settled: readonly WindowRecord[]): Promise<void> {
    const failures: ReplayFailure[] = []
    for (const { record, result } of settled) {
      this.#cursors.setNext(record.partition, record.offset + 1)
      if (result === "delivered") this.#replayed++
      else if (typeof result === "object") failures.push(result)
    }
    this.#failed += failures.length
    this.#failures = [...this.#failures, ...failures].slice(-MOST_FAILURES)
    this.#sent.note(this.#replayed)
    this.#passed.note(this.#cursors.passed)
    this.#unsaved = [...this.#unsaved, ...failures]
    try {
      await this.#options.save?.(this.#position, this.#unsaved)
      this.#unsaved = []
      for (const _ of failures) this.#options.target.parked?.()
    } catch (error) {
      this.#fail(error)
    }
  }

  get #position(): ReplayPosition {
    return { next: this.#cursors.next, replayed: this.#replayed, failed: this.#failed }
  }
}
