import { HooklineError, PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import { warnOfLoose } from "../storage/private-files.ts"
import type { Logger } from "../telemetry/log.ts"
import { describeFailure, isBusy, makeFolderOf, type LogPlace } from "./embedded-file.ts"
import { lockForWriting, type WriterLock } from "./embedded-lock.ts"
import { PublishQueue, tooLargeFor, type Waiting } from "./embedded-queue.ts"
import { HeldByReaders } from "./embedded-recovery.ts"
import type { LogWriter } from "./embedded-writer.ts"
import { ASK_MS, LockWatch } from "./lock-watch.ts"

/*
 * The states of a spool's file as it is written to:
 *
 *   open    publish() queues; at the end of the event loop's turn the queue is committed as one batch, on this thread:
 *           forwarding reads and deletes in the same file, in between, and is simple to follow that way. Meanwhile the next
 *           batch gathers in the sockets, so that batches are as large as the disk is slow, and no record waits for others
 *           to come. (The embedded log has a thread for it, see embedded-committer.ts.)
 *           While another process holds the file, the batch stays queued, is tried again every few milliseconds and
 *           loses the records whose deadlines pass. The write lock is asked for now and then, so that it is known who has it
 *           before the next record comes.
 *   failed  a commit failed: its batch and the queue were rejected, the file is closed. publish() rejects with the
 *           reason. Opening the file is tried again and again; the first success leads back to open. A start begins
 *           here while readers keep the file from being recovered.
 *   closing the queue is still published; publish() rejects.
 *
 * The lock is held from beginning to end.
 */

export interface StoreDependencies<W extends LogWriter> {
  readonly log: Logger
  /** Opens the file, at first and after each failure. */
  readonly open: (place: LogPlace) => W
  /** A commit is held to about this size, so that it holds the event loop for milliseconds only. */
  readonly batchBytes: number
  /** Records were committed, in so many milliseconds. */
  readonly committed: (records: number, ms: number) => void
  /** A commit failed; the file is about to be closed. */
  readonly failed?: (cause: unknown) => void
  /** The file can be written again after a failure. */
  readonly recovered: () => void
  /** Milliseconds since 1970, for the timestamps of records that have none. */
  readonly now: () => number
}

const BUSY_RETRY_MS = 5
/**
 * For how long batch after batch is committed before the event loop has its turn. With one batch a turn, 2,000 senders of
 * 100 KB, most of them refused, let a third of the events through.
 */
const TURN_MS = 250
const REOPEN_MS = 500
const SLOW_COMMIT_MS = 1000

/** The one writer of a log's file: commits in groups, and opens the file anew after a failure. */
export class LogStore<W extends LogWriter> {
  readonly #place: LogPlace
  readonly #deps: StoreDependencies<W>
  readonly #lock: WriterLock
  readonly #queue: PublishQueue
  readonly #lockWatch: LockWatch
  readonly #asking: Timer
  #writer: W | undefined
  #failure: PublishError | undefined
  #closing: PromiseWithResolvers<void> | undefined
  #reopening: Timer | undefined
  /** A flush is on its way already. */
  #scheduled = false

  /**
   * Makes the folder and the file where they are not there.
   *
   * @throws HooklineError `log_locked`, `log_io`
   */
  constructor(place: LogPlace, deps: StoreDependencies<W>) {
    this.#place = place
    this.#deps = deps
    this.#queue = new PublishQueue(place.title)
    this.#lockWatch = new LockWatch(place, deps.log)
    makeFolderOf(place)
    this.#lock = lockForWriting(place)
    try {
      this.#writer = deps.open(place)
    } catch (error) {
      if (error instanceof HeldByReaders) this.#notYet(error)
      else {
        this.#lock.release()
        if (error instanceof HooklineError) throw error
        throw new HooklineError("log_io", describeFailure(error, place), { cause: error })
      }
    }
    this.#asking = setInterval(() => this.#askForLock(), ASK_MS)
    warnOfLoose(place, deps.log)
  }

  /** Resolves when the record is durable; as `Broker.publish`. */
  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    if (this.#closing !== undefined)
      return Promise.reject(new PublishError("closing", `${this.#place.title} is closing`))
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    const tooLarge = tooLargeFor(record, this.#place.title)
    if (tooLarge !== undefined) return Promise.reject(tooLarge)
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, deadlineMs, resolve, reject })
      this.#schedule()
    })
  }

  /** Why nothing can be written now; undefined: it can. */
  get problem(): string | undefined {
    return this.#failure?.message ?? this.#lockWatch.problem
  }

  /**
   * Does what no publisher waits for.
   *
   * @returns what the work gives; undefined when the file can't be written now, or another process holds it, and the same
   *   may be tried later
   */
  attempt<T>(work: (writer: W) => T): T | undefined {
    if (this.#writer === undefined) return undefined
    try {
      return work(this.#writer)
    } catch (error) {
      if (!isBusy(error)) this.#fail(error)
      return undefined
    }
  }

  /** Commits what is queued, as far as deadlines allow, then lets go of the file and the lock. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers()
      clearTimeout(this.#reopening)
      clearInterval(this.#asking)
      this.#schedule()
    }
    return this.#closing.promise
  }

  #askForLock(): void {
    if (this.#writer === undefined) return
    const isFree = this.attempt((writer) => {
      writer.askForLock()
      return true
    })
    if (isFree === true) this.#lockWatch.free()
    else if (this.#failure === undefined) this.#lockWatch.held()
  }

  /** The queue is committed at the end of this turn of the event loop, with all that comes until then. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const untilMs = performance.now() + TURN_MS
    do {
      const batch = this.#queue.take(steadyMs(), this.#deps.batchBytes)
      if (batch.length > 0 && !this.#publishBatch(batch)) return
    } while (!this.#queue.isEmpty && performance.now() < untilMs)
    if (!this.#queue.isEmpty) this.#schedule()
    else if (this.#closing !== undefined) this.#end(this.#closing)
  }

  /** @returns whether the queue can go on now */
  #publishBatch(batch: Waiting[]): boolean {
    const startedAtMs = performance.now()
    let offsets: number[]
    try {
      offsets = this.#writer!.append(batch, this.#deps.now())
    } catch (error) {
      this.#queue.putBack(batch)
      if (!isBusy(error)) {
        this.#fail(error)
        return true
      }
      this.#lockWatch.held()
      this.#scheduled = true
      setTimeout(() => this.#flush(), BUSY_RETRY_MS)
      return false
    }
    const tookMs = performance.now() - startedAtMs
    this.#lockWatch.free()
    this.#deps.committed(batch.length, tookMs)
    for (let at = 0; at < batch.length; at++) batch[at]!.resolve({ partition: 0, offset: offsets[at]! })
    if (tookMs > SLOW_COMMIT_MS) {
      this.#deps.log.warn(
        { file: this.#place.file, ms: Math.round(tookMs) },
        `${this.#place.title} is on a slow disk`,
      )
    }
    // After the answers that the acknowledgements set off have been written.
    setImmediate(() => this.attempt((writer) => writer.checkpoint()))
    return true
  }

  #fail(cause: unknown): void {
    const { place, log } = { place: this.#place, log: this.#deps.log }
    const reason = describeFailure(cause, place)
    this.#failure = new PublishError("unavailable", reason, { cause })
    log.error({ file: place.file, err: cause }, `${place.title} can't be written: ${reason}`)
    this.#queue.rejectAll(this.#failure)
    this.#deps.failed?.(cause)
    this.#closeWriter((writer) => writer.closeFailed())
    if (this.#closing === undefined) this.#reopenLater()
  }

  /** The file can't be opened now. */
  #notYet(cause: unknown): void {
    const { file, title } = this.#place
    const reason = describeFailure(cause, this.#place)
    if (reason !== this.#failure?.message)
      this.#deps.log.warn({ file, err: cause }, `${title} can't be opened yet: ${reason}`)
    this.#failure = new PublishError("unavailable", reason, { cause })
    this.#reopenLater()
  }

  #reopenLater(): void {
    this.#reopening = setTimeout(() => {
      const place = this.#place
      try {
        this.#writer = this.#deps.open(place)
      } catch (error) {
        this.#notYet(error)
        return
      }
      this.#failure = undefined
      this.#deps.log.info({ file: place.file }, `${place.title} can be written again`)
      this.#deps.recovered()
    }, REOPEN_MS)
  }

  #closeWriter(close: (writer: W) => void): void {
    const writer = this.#writer
    this.#writer = undefined
    if (writer === undefined) return
    try {
      close(writer)
    } catch (error) {
      // What was acknowledged is in the WAL, wherever it lies; a file that failed may fail here again.
      this.#deps.log.warn({ file: this.#place.file, err: error }, `${this.#place.title} can't be closed`)
    }
  }

  #end(closing: PromiseWithResolvers<void>): void {
    this.#closeWriter((writer) => writer.close())
    this.#lock.release()
    closing.resolve()
  }
}
