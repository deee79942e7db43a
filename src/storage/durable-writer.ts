// Hot path: `do`, once a batch.
import { dirname } from "node:path"
import { steadyMs } from "../clock.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import { checkDatabase } from "./check-database.ts"
import { describeFailure, makeFolderOf, warnOfLoose, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { ASK_MS, LockWatch } from "./lock-watch.ts"
import { HeldByReaders } from "./recovery.ts"
import { threadUrl } from "./thread-url.ts"
import { lockForWriting } from "./writer-lock.ts"
import type { Answer, Failure, Request } from "./serve-database.ts"

/*
 * The one writer of a database, as the event loop sees it. The file is open in a thread of the database's own, so that a disk
 * that stalls holds up neither the event loop nor another database:
 *
 *   open     requests go to the thread, which answers them in their order. While it has nothing to do it is asked now and
 *            then for the write lock, so that it is known that another process holds it before the next event comes.
 *   failed   the file could not be opened, a request failed, or the thread ended: the file is closed, and requests are
 *            answered `failed`. Opening it is tried again and again; the first success leads back to `open`. A start begins
 *            here while readers keep the file from being recovered.
 *   closing  what was asked before is still answered, then the thread closes the file. When its disk does not answer in
 *            time the thread is left behind, with what it has.
 *   closed   nothing is answered any more.
 *
 * The lock is held from the beginning until the thread has ended, also one that was left behind: a second writer would write
 * the WAL again beside it. A request that is answered `busy` changed nothing, since another process holds the
 * write lock, and may be made again.
 */
type Mode = "open" | "failed" | "closing" | "closed"

export interface WriterDependencies {
  readonly log: Logger
  /** The file was closed after a failure: what waits is not written until it is `recovered`. */
  readonly failed?: (failure: Failure) => void
  /** The file was opened again after a failure. @param state what `DurableDatabase.state` returned */
  readonly recovered?: (state: unknown) => void
}

/** The methods of a database that can be called across threads, with plain data. */
export type Methods<D> = { [K in keyof D as D[K] extends (...args: never[]) => unknown ? K : never]: D[K] }
type Call<D, K extends keyof Methods<D>> = Extract<Methods<D>[K], (...args: never[]) => unknown>

/** How soon a request that found the file held by another process is made again. */
export const BUSY_RETRY_MS = 5
const REOPEN_MS = 500
/** A disk that has not answered for so long is reported. */
const STALLED_MS = 1000
/** How long a close waits for a disk that does not answer. */
const GIVE_UP_MS = 2000

interface Pending {
  readonly kind: Request["kind"]
  readonly answered: (answer: Answer<never>) => void
}

export class DurableWriter<D extends DurableDatabase> {
  readonly #location: DatabaseLocation
  readonly #deps: WriterDependencies
  readonly #releaseLock: () => void
  readonly #lockWatch: LockWatch
  readonly #tick: Timer
  #mode: Mode = "open"
  #failure: Failure | undefined
  #thread: Worker | undefined
  /** What the thread has not answered, in its order. */
  #pending: Pending[] = []
  /** Since when the thread has the first of these. */
  #pendingSinceMs = 0
  #committedMs = 0
  #isStallLogged = false
  #reopening: Timer | undefined
  readonly #closed = Promise.withResolvers<void>()

  /**
   * Makes the folder and the file where they are not there.
   *
   * @param probe opens the database in this thread and closes it, so that what is wrong with the file is thrown here
   * @throws HooklineError `log_locked`, `log_io`
   */
  constructor(
    location: DatabaseLocation,
    probe: (location: DatabaseLocation) => void,
    deps: WriterDependencies,
  ) {
    this.#location = location
    this.#deps = deps
    this.#lockWatch = new LockWatch(location, deps.log)
    checkDatabase(location)
    makeFolderOf(location)
    this.#releaseLock = lockForWriting(location)
    try {
      probe(location)
    } catch (error) {
      const reason = describeFailure(error, location)
      if (!(error instanceof HeldByReaders)) {
        this.#releaseLock()
        throw error instanceof HooklineError ? error : new HooklineError("log_io", reason, { cause: error })
      }
      this.#notYet({ kind: "failed", reason, cause: error, isDiskFull: false })
    }
    warnOfLoose(location, deps.log)
    if (this.#mode === "open") this.#open()
    this.#tick = setInterval(() => this.#look(), ASK_MS)
  }

  /** Why nothing can be written; undefined: it can, as far as is known. */
  get problem(): string | undefined {
    return this.#failure?.reason ?? this.#stall ?? this.#lockWatch.problem
  }

  /** Why the file is closed; undefined: it is open. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /**
   * Calls a method of the database in its thread.
   *
   * @param then called with the answer, in the order of the calls; never when the disk answers no more, or after close
   * @param transfer memory among the arguments that changes hands
   */
  do<K extends keyof Methods<D> & string>(
    method: K,
    args: Parameters<Call<D, K>>,
    then: (answer: Answer<ReturnType<Call<D, K>>>) => void,
    transfer: ArrayBuffer[] = [],
  ): void {
    this.#ask({ kind: "do", method, args }, then as Pending["answered"], transfer)
  }

  /** Lets go of the file and the lock when what was asked is answered. */
  close(): Promise<void> {
    if (this.#mode === "closing" || this.#mode === "closed") return this.#closed.promise
    this.#setMode("closing")
    const givingUp = setTimeout(() => {
      const { file, title } = this.#location
      this.#deps.log.error({ file }, `${title} is left as it is: its disk does not answer`)
      this.#end()
      this.#setMode("closed")
    }, GIVE_UP_MS)
    this.#ask({ kind: "close" }, (answer) => {
      clearTimeout(givingUp)
      if (answer.kind === "failed") {
        // What was acknowledged is in the WAL, wherever it lies; a file that failed may fail here again.
        const { file, title } = this.#location
        this.#deps.log.warn({ file, err: answer.cause }, `${title} can't be closed: ${answer.reason}`)
      }
      this.#end(() => this.#setMode("closed"))
    })
    return this.#closed.promise
  }

  /** Ends the thread, and releases the lock when it has let go of its descriptors. */
  #end(then?: () => void): void {
    const release = (): void => {
      this.#releaseLock()
      then?.()
    }
    if (this.#thread === undefined) return release()
    this.#thread.addEventListener("close", release)
    this.#thread.terminate()
  }

  /** The only place where the mode changes. */
  #setMode(mode: Mode): void {
    this.#mode = mode
    clearTimeout(this.#reopening)
    if (mode === "failed") this.#openLater()
    if (mode === "closing" || mode === "closed") clearInterval(this.#tick)
    if (mode !== "closed") return
    this.#pending = []
    this.#closed.resolve()
  }

  #start(): Worker {
    // The one thread program of all databases; nothing of it is imported here, since it imports those who use this class.
    const thread = new Worker(threadUrl("../runtime/storage-thread", import.meta))
    thread.addEventListener("message", ({ data }: MessageEvent<Answer<never>>) => {
      if (thread === this.#thread) this.#answered(data)
    })
    thread.addEventListener("error", ({ message }) => {
      if (thread === this.#thread) this.#threadFailed(message)
    })
    return thread
  }

  #ask(request: Request, answered: Pending["answered"], transfer: ArrayBuffer[] = []): void {
    if (this.#mode === "closed") return
    if (this.#thread === undefined) return queueMicrotask(() => answered(this.#failure!))
    if (this.#pending.length === 0) this.#pendingSinceMs = steadyMs()
    this.#pending.push({ kind: request.kind, answered })
    this.#thread.postMessage(request, transfer)
  }

  #answered(answer: Answer<never>): void {
    const first = this.#pending.shift()
    // it was left behind
    if (first === undefined) return
    const nowMs = steadyMs()
    this.#answersAgain(nowMs - this.#pendingSinceMs)
    this.#pendingSinceMs = nowMs
    if (first.kind === "do" || first.kind === "ask") {
      if (answer.kind === "busy") this.#lockWatch.held()
      if (answer.kind === "failed" && this.#mode === "open") this.#failed(answer)
    }
    if (answer.kind === "done" && answer.isCommitted) {
      this.#committedMs = nowMs
      this.#lockWatch.free()
    }
    first.answered(answer)
  }

  #open(): void {
    this.#thread ??= this.#start()
    this.#ask({ kind: "open", location: this.#location }, (answer) => {
      if (this.#mode !== "open" && this.#mode !== "failed") return
      if (answer.kind === "busy") this.#openLater()
      else if (answer.kind === "done") this.#opened(answer.value)
      else if (this.#mode === "open") this.#failed(answer)
      else this.#notYet(answer)
    })
  }

  #openLater(): void {
    this.#reopening = setTimeout(() => this.#open(), REOPEN_MS)
  }

  /** failed -> open; at the start it is open already */
  #opened(state: unknown): void {
    if (this.#mode === "open") return
    this.#failure = undefined
    this.#setMode("open")
    const { file, title } = this.#location
    this.#deps.log.info({ file }, `${title} can be written again`)
    this.#deps.recovered?.(state)
  }

  /** open -> failed */
  #failed(failure: Failure): void {
    const { file, title } = this.#location
    this.#failure = failure
    this.#deps.log.error({ file, err: failure.cause }, `${title} can't be written: ${failure.reason}`)
    this.#setMode("failed")
    this.#deps.failed?.(failure)
  }

  /** failed -> failed, or where a start begins: the file can't be opened yet. */
  #notYet(failure: Failure): void {
    const { file, title } = this.#location
    if (failure.reason !== this.#failure?.reason)
      this.#deps.log.warn({ file, err: failure.cause }, `${title} can't be opened yet: ${failure.reason}`)
    this.#failure = failure
    this.#setMode("failed")
  }

  /** A fault of the thread's own. What it was asked is answered for it. */
  #threadFailed(message: string): void {
    const pending = this.#pending
    this.#pending = []
    this.#thread?.terminate()
    this.#thread = undefined
    const reason = `its thread failed: ${message}`
    const failure: Failure = { kind: "failed", reason, cause: message, isDiskFull: false }
    if (this.#mode === "open") this.#failed(failure)
    for (const { answered } of pending) answered(failure)
  }

  /** Asks for the write lock unless a commit has just had it, and reports a disk that does not answer. */
  #look(): void {
    const stall = this.#stall
    if (stall !== undefined && !this.#isStallLogged) {
      this.#isStallLogged = true
      this.#deps.log.warn({ file: this.#location.file }, stall)
    }
    if (this.#mode !== "open" || this.#pending.length > 0 || steadyMs() - this.#committedMs < ASK_MS) return
    this.#ask({ kind: "ask" }, () => {})
  }

  /** That the disk does not answer, if it has not for some time. Recovery of a file that failed may take longer. */
  get #stall(): string | undefined {
    const [first] = this.#pending
    const ms = steadyMs() - this.#pendingSinceMs
    const isRecovery = first?.kind === "open" && this.#mode === "failed"
    if (first === undefined || isRecovery || ms < STALLED_MS) return undefined
    return `the disk of ${dirname(this.#location.file)} has not answered for ${(ms / 1000).toFixed(1)} s`
  }

  #answersAgain(ms: number): void {
    if (!this.#isStallLogged) return
    this.#isStallLogged = false
    const { file } = this.#location
    this.#deps.log.warn({ file, ms: Math.round(ms) }, `the disk of ${dirname(file)} answers again`)
  }
}
