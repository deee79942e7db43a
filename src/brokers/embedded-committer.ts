// Hot path: `publish`. Measured by `npm run bench`.
import { dirname } from "node:path"
import { HooklineError, PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import { warnOfLoose } from "../storage/private-files.ts"
import type { Logger } from "../telemetry/log.ts"
import { packBatch } from "./embedded-batch.ts"
import { describeFailure, makeFolderOf, type LogPlace } from "./embedded-file.ts"
import { lockForWriting, type WriterLock } from "./embedded-lock.ts"
import { PublishQueue, tooLargeFor, type Waiting } from "./embedded-queue.ts"
import { HeldByReaders } from "./embedded-recovery.ts"
import type { Answer, Demand } from "./embedded-thread.ts"
import type { Limits } from "./embedded-trimmer.ts"
import { LogWriter } from "./embedded-writer.ts"
import { ASK_MS, LockWatch } from "./lock-watch.ts"

/*
 * The states of the embedded log as its publishers see it. Its file is open in a thread of its own, so that the event loop
 * never waits for the disk:
 *
 *   open    publish() queues. When the thread has nothing to commit, the queue goes to it as one batch, at the end of the
 *           event loop's turn; what comes meanwhile is the next batch, so that batches are as large as the disk is slow. A
 *           small batch waits for a few turns: senders that were answered together send again together, and would else fall
 *           into two groups that take turns, with twice as many commits. While another process holds the file, the batch
 *           goes back to the front of the queue and is tried again every few milliseconds. While nothing is committed the
 *           thread asks for the write lock now and then, so that it is known who has it before the next event comes.
 *   failed  a commit failed, or the thread ended: its batch and the queue were rejected. publish() rejects with the reason.
 *           Opening the file is tried again and again; the first success leads back to open. A start begins here while
 *           readers keep the file from being recovered.
 *   closing the queue is still published; publish() rejects.
 *
 * A record whose deadline passes is rejected, in whatever state. One that waits in the queue is never published then; of one
 * that the thread has, nobody knows until the disk answers.
 *
 * The lock is held from beginning to end.
 */

export interface CommitterDependencies {
  readonly log: Logger
  /** A commit is held to about this size. */
  readonly batchBytes: number
  /** Records were committed, in so many milliseconds. */
  readonly committed: (records: number, ms: number) => void
  /** The file can be written again after a failure. */
  readonly recovered: () => void
  /** Milliseconds since 1970, for the timestamps of records that have none. */
  readonly now: () => number
}

/** What a slice of retention did. */
export type Trimmed = Extract<Answer, { kind: "trimmed" }>

/** For how many turns of the event loop a batch waits to have so many records; idle turns take microseconds. */
const TURNS = 3
const ENOUGH = 64
/** Memory of a batch that is larger is not kept for the next one. */
const SPARE_BYTES = 1024 * 1024
/** How many topics are made in one transaction. */
const PREPARE_TOPICS = 16
const BUSY_RETRY_MS = 5
const REOPEN_MS = 500
/** How late a deadline may be noticed. */
const SWEEP_MS = 10
/** A disk that has not answered for so long is told of. */
const STALLED_S = 1
/** How long a close waits for a disk that does not answer, when no publisher waits any more. */
const GIVE_UP_MS = 2000

/** The one writer of the embedded log: commits in groups, in a thread, and opens the file anew after a failure. */
export class Committer {
  readonly #place: LogPlace
  readonly #deps: CommitterDependencies
  readonly #lock: WriterLock
  readonly #queue: PublishQueue
  readonly #lockWatch: LockWatch
  #committedMs = 0
  #asking: Timer | undefined
  /**
   * Time of the newest record that was there when the log was opened, in milliseconds since 1970; undefined: none was; 0: it
   * is not known.
   */
  readonly newestMs: number | undefined
  #thread: Worker
  /** What is to be done with the thread's next answers, in their order. */
  #asked: ((answer: Answer) => void)[] = []
  /** The batch that the thread has, and since when. */
  #out: readonly Waiting[] = []
  #outSinceMs = 0
  #stallTold = false
  #failure: PublishError | undefined
  #closing: PromiseWithResolvers<void> | undefined
  /** The thread was asked to close the file, or is not waited for any more. */
  #ending = false
  #givingUp: Timer | undefined
  #reopening: Timer | undefined
  #sweep: Timer | undefined
  /** Topics that are to be made where they are not there. */
  #preparing: readonly string[] = []
  /** A batch is on its way already. */
  #scheduled = false
  #turnsLeft = 0
  /** Memory to pack the next batch into. */
  #spare: ArrayBuffer | undefined

  /**
   * Makes the folder and the file where they are not there.
   *
   * @throws HooklineError `log_locked`, `log_io`
   */
  constructor(place: LogPlace, deps: CommitterDependencies) {
    this.#place = place
    this.#deps = deps
    this.#queue = new PublishQueue(place.title)
    this.#lockWatch = new LockWatch(place, deps.log)
    makeFolderOf(place)
    this.#lock = lockForWriting(place)
    try {
      // what is wrong with the file is known before the thread has started
      const writer = new LogWriter(place)
      this.newestMs = writer.newestMs
      writer.close()
    } catch (error) {
      // the thread tries that again and again; of records that could not be looked at, retention is to think nothing
      if (error instanceof HeldByReaders) this.newestMs = 0
      else {
        this.#lock.release()
        if (error instanceof HooklineError) throw error
        throw new HooklineError("log_io", describeFailure(error, place), { cause: error })
      }
    }
    warnOfLoose(place, deps.log)
    this.#thread = this.#start()
    this.#open()
    this.#askLater()
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
      this.#sweep ??= setTimeout(this.#expire, SWEEP_MS)
      this.#schedule()
    })
  }

  /** Why nothing can be written now; undefined: it can. */
  get problem(): string | undefined {
    return this.#failure?.message ?? this.#stall(steadyMs()) ?? this.#lockWatch.problem
  }

  /** Makes topics that are not there yet. When another process holds the file, publishing to them will. */
  prepare(topics: readonly string[]): void {
    this.#preparing = topics
    this.#prepareSome(topics, 0)
  }

  /** A few topics at a time: commits have their turn in between, and each takes milliseconds where there are thousands. */
  #prepareSome(topics: readonly string[], from: number): void {
    const some = topics.slice(from, from + PREPARE_TOPICS)
    if (some.length === 0) return
    this.#ask({ kind: "prepare", topics: some }, (answer) => {
      this.#note(answer)
      const isWanted = this.#preparing === topics && this.#closing === undefined
      if (isWanted && answer.kind !== "failed") this.#prepareSome(topics, from + PREPARE_TOPICS)
    })
  }

  /**
   * Says what retention keeps from now on, and deletes a slice of what it does not keep.
   *
   * @param done told what was deleted; undefined: the file can't be written now
   */
  trim(limits: Limits, done: (trimmed: Trimmed | undefined) => void): void {
    this.#ask({ kind: "trim", limits }, (answer) => {
      this.#note(answer)
      done(answer.kind === "trimmed" ? answer : undefined)
    })
  }

  /** Commits what is queued, as far as deadlines allow, then lets go of the file and the lock. */
  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers()
      clearTimeout(this.#asking)
      this.#giveUpLater(this.#closing)
      this.#schedule()
    }
    return this.#closing.promise
  }

  /** A disk that does not answer holds no stop up, once all publishers have had their answers. */
  #giveUpLater(closing: PromiseWithResolvers<void>): void {
    const latestMs = this.#out.reduce((latest, it) => Math.max(latest, it.deadlineMs), this.#queue.latestMs)
    if (latestMs === Number.POSITIVE_INFINITY) return
    this.#givingUp = setTimeout(
      () => {
        const { file, title } = this.#place
        this.#deps.log.error({ file }, `${title} is left as it is: its disk does not answer`)
        this.#ending = true
        this.#thread.terminate()
        this.#leave(closing)
      },
      Math.max(0, latestMs - steadyMs()) + GIVE_UP_MS,
    )
  }

  #start(): Worker {
    const thread = new Worker(new URL("./embedded-thread.ts", import.meta.url))
    thread.addEventListener("message", ({ data }: MessageEvent<Answer>) => this.#asked.shift()?.(data))
    thread.addEventListener("error", ({ message }) => this.#threadFailed(message))
    return thread
  }

  /** Asks for the write lock, unless a commit has just had it. */
  #askLater(): void {
    this.#asking = setTimeout(() => {
      if (this.#failure !== undefined || steadyMs() - this.#committedMs < ASK_MS) return this.#askLater()
      this.#ask({ kind: "ask" }, (answer) => {
        if (answer.kind === "done") this.#lockWatch.free()
        else if (answer.kind === "busy") this.#lockWatch.held()
        else this.#note(answer)
        if (this.#closing === undefined) this.#askLater()
      })
    }, ASK_MS)
  }

  #ask(demand: Demand, then: (answer: Answer) => void, transfer: ArrayBuffer[] = []): void {
    this.#asked.push(then)
    this.#thread.postMessage(demand, transfer)
  }

  #open(): void {
    this.#ask({ kind: "open", place: this.#place }, (answer) => this.#opened(answer))
  }

  #opened(answer: Answer): void {
    if (answer.kind === "done") {
      if (this.#failure === undefined) return
      this.#failure = undefined
      this.#deps.log.info({ file: this.#place.file }, `${this.#place.title} can be written again`)
      this.#deps.recovered()
      return
    }
    if (answer.kind === "failed") {
      if (this.#failure === undefined) return this.#fail(answer.reason, answer.cause)
      if (answer.reason !== this.#failure.message) {
        const { file, title } = this.#place
        this.#deps.log.warn({ file, err: answer.cause }, `${title} can't be opened yet: ${answer.reason}`)
      }
      this.#failure = unavailable(answer.reason, answer.cause)
    }
    this.#reopenLater()
  }

  #reopenLater(): void {
    this.#reopening = setTimeout(() => this.#open(), REOPEN_MS)
  }

  /** The queue is committed at the end of this turn of the event loop, with all that comes until then. */
  #schedule(): void {
    if (this.#scheduled || this.#out.length > 0) return
    this.#scheduled = true
    this.#turnsLeft = TURNS
    setImmediate(this.#gather)
  }

  readonly #gather = (): void => {
    if (this.#queue.length < ENOUGH && --this.#turnsLeft > 0) setImmediate(this.#gather)
    else this.#flush()
  }

  readonly #flush = (): void => {
    this.#scheduled = false
    if (this.#out.length > 0) return
    const batch = this.#queue.take(steadyMs(), this.#deps.batchBytes)
    if (batch.length === 0) {
      if (this.#closing !== undefined && !this.#ending) this.#end(this.#closing)
      return
    }
    this.#out = batch
    this.#outSinceMs = steadyMs()
    const packed = packBatch(batch, this.#spare)
    this.#spare = undefined
    const demand = { kind: "append", batch: packed, timestampMs: this.#deps.now() } as const
    this.#ask(demand, this.#committed, [packed.bytes])
  }

  readonly #committed = (answer: Answer): void => {
    const batch = this.#out
    this.#out = []
    this.#answersAgain()
    switch (answer.kind) {
      case "appended": {
        const { offsets, ms, spare } = answer
        this.#committedMs = steadyMs()
        this.#lockWatch.free()
        if (spare.byteLength <= SPARE_BYTES) this.#spare = spare
        this.#deps.committed(batch.length, ms)
        for (let at = 0; at < batch.length; at++) batch[at]!.resolve({ partition: 0, offset: offsets[at]! })
        if (!this.#queue.isEmpty || this.#closing !== undefined) this.#schedule()
        return
      }
      case "busy":
        this.#lockWatch.held()
        this.#queue.putBack(batch)
        this.#scheduled = true
        setTimeout(this.#flush, BUSY_RETRY_MS)
        return
      case "failed":
        this.#queue.putBack(batch)
        this.#fail(answer.reason, answer.cause)
    }
  }

  /** What was asked besides failed: then the file is closed. */
  #note(answer: Answer): void {
    if (answer.kind === "failed" && this.#failure === undefined) this.#fail(answer.reason, answer.cause)
  }

  #fail(reason: string, cause: unknown): void {
    const isFirst = this.#failure === undefined
    this.#failure ??= unavailable(reason, cause)
    this.#queue.rejectAll(this.#failure)
    if (this.#closing !== undefined) this.#schedule()
    if (!isFirst) return
    const { file, title } = this.#place
    this.#deps.log.error({ file, err: cause }, `${title} can't be written: ${reason}`)
    this.#reopenLater()
  }

  /** A fault of the thread's own. What it was asked is answered for it. */
  #threadFailed(message: string): void {
    const asked = this.#asked.splice(0)
    this.#thread.terminate()
    this.#thread = this.#start()
    const answer: Answer = { kind: "failed", reason: `its thread failed: ${message}`, cause: message }
    for (const then of asked) then(answer)
    this.#note(answer)
  }

  /** Rejects what is past its deadline, and tells of a disk that stalls; goes on as long as anything waits. */
  readonly #expire = (): void => {
    this.#sweep = undefined
    const nowMs = steadyMs()
    this.#queue.expire(nowMs)
    for (const one of this.#out) if (one.deadlineMs <= nowMs) one.reject(this.#queue.late())
    const stall = this.#stall(nowMs)
    if (stall !== undefined && !this.#stallTold) {
      this.#stallTold = true
      this.#deps.log.warn({ file: this.#place.file }, stall)
    }
    if (this.#out.length > 0 || !this.#queue.isEmpty) this.#sweep = setTimeout(this.#expire, SWEEP_MS)
  }

  /** That the disk does not answer, if it has not for some time. */
  #stall(nowMs: number): string | undefined {
    const seconds = (nowMs - this.#outSinceMs) / 1000
    if (this.#out.length === 0 || seconds < STALLED_S) return undefined
    return `the disk of ${dirname(this.#place.file)} has not answered for ${seconds.toFixed(1)} s`
  }

  #answersAgain(): void {
    if (!this.#stallTold) return
    this.#stallTold = false
    const { file } = this.#place
    const ms = Math.round(steadyMs() - this.#outSinceMs)
    this.#deps.log.warn({ file, ms }, `the disk of ${dirname(file)} answers again`)
  }

  #end(closing: PromiseWithResolvers<void>): void {
    this.#ending = true
    this.#ask({ kind: "close" }, (answer) => {
      if (answer.kind === "failed") {
        // What was acknowledged is in the WAL, wherever it lies; a file that failed may fail here again.
        const { file, title } = this.#place
        this.#deps.log.warn({ file, err: answer.cause }, `${title} can't be closed: ${answer.reason}`)
      }
      // it has let go of its descriptors then
      this.#thread.addEventListener("close", () => this.#leave(closing))
      this.#thread.terminate()
    })
  }

  #leave(closing: PromiseWithResolvers<void>): void {
    clearTimeout(this.#givingUp)
    clearTimeout(this.#sweep)
    clearTimeout(this.#reopening)
    this.#asked = []
    this.#lock.release()
    closing.resolve()
  }
}

const unavailable = (reason: string, cause: unknown): PublishError =>
  new PublishError("unavailable", reason, { cause })
