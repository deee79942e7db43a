// Hot path: `do`, once a batch.
import { dirname } from "node:path"
import { steadyMs } from "../clock.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import { checkAccessTo } from "./check-database.ts"
import { describeFailure, makeFolderOf, warnOfLoose, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { POLL_MS, LockWatch } from "./lock-watch.ts"
import { HeldByReaders, pagesAfter, type PageState } from "./recovery.ts"
import { threadUrl } from "../thread-url.ts"
import { lockForWriting } from "./writer-lock.ts"
import type { Answer, Failure, Opened, Request } from "./serve-database.ts"

/*
 * The event loop's side of a database, whose file is open in a thread of its own (serve-database.ts): a stalled disk holds up
 * neither the event loop nor another database. Its modes:
 *
 *   open     the thread answers requests in order. When idle it polls the write lock, so that one held by another process is
 *            noticed before the next event.
 *   failed   opening the file or a request failed, or the thread crashed: the file is closed, requests are answered `failed`,
 *            and opening is retried until it succeeds. A start begins here while readers keep the file from being recovered.
 *   closing  earlier requests are answered, then the thread closes the file. If the disk does not answer in time, the
 *            thread is abandoned.
 *   closed   nothing is answered.
 *
 * The writer lock is held until the thread has ended, even an abandoned one: a second writer would rewrite the WAL beside it.
 * A request answered `busy` changed nothing, since another process holds SQLite's write lock, and may be repeated.
 */
type Mode = "open" | "failed" | "closing" | "closed"

export interface WriterDependencies {
  readonly log: Logger
  /** The file was closed after a failure. */
  readonly failed: (failure: Failure) => void
  /** It was opened again. @param state as `DurableDatabase.state` */
  readonly recovered: (state: unknown) => void
}

/** A database's methods, called across threads with plain data. */
export type Methods<D> = { [K in keyof D as D[K] extends (...args: never[]) => unknown ? K : never]: D[K] }
type Call<D, K extends keyof Methods<D>> = Extract<Methods<D>[K], (...args: never[]) => unknown>

/** Pause before a `busy` request is repeated. */
export const BUSY_RETRY_MS = 5
const REOPEN_MS = 500
/** A disk that does not answer for so long is logged. */
const STALLED_MS = 1000
/** How long a close waits for the disk. */
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
  #pages: PageState = "synced"
  /** What may be opened again after a failure. */
  #files: Opened["files"] | undefined
  #thread: Worker | undefined
  /** Unanswered, in order. */
  #pending: Pending[] = []
  /** Since when the thread works on the first. */
  #pendingSinceMs = 0
  #committedMs = 0
  #isStallLogged = false
  #reopening: Timer | undefined
  readonly #closed = Promise.withResolvers<void>()

  /**
   * Creates folder and file if they are missing.
   *
   * @param probe opens the database and closes it again, so that a file that can't be used is thrown here
   * @throws HooklineError `log_locked`, `log_io`
   */
  constructor(location: DatabaseLocation, probe: () => void, deps: WriterDependencies) {
    this.#location = location
    this.#deps = deps
    this.#lockWatch = new LockWatch(location, deps.log)
    checkAccessTo(location)
    makeFolderOf(location)
    this.#releaseLock = lockForWriting(location)
    try {
      probe()
    } catch (error) {
      const reason = describeFailure(error, location)
      if (!(error instanceof HeldByReaders)) {
        this.#releaseLock()
        throw error instanceof HooklineError ? error : new HooklineError("log_io", reason, { cause: error })
      }
      this.#pages = pagesAfter(error, this.#pages)
      this.#notYet({ kind: "failed", reason, cause: error, isDiskFull: false, pages: this.#pages })
    }
    warnOfLoose(location, deps.log)
    if (this.#mode === "open") this.#open()
    this.#tick = setInterval(() => this.#look(), POLL_MS)
  }

  /** Why nothing can be written, as far as is known. */
  get problem(): string | undefined {
    return this.#failure?.reason ?? this.#stall ?? this.#lockWatch.problem
  }

  /** Why the file is closed. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /**
   * Calls a method of the database in its thread.
   *
   * @param then called in the order of the calls; never if the disk stops answering, or after close
   * @param transfer buffers among the arguments
   */
  do<K extends keyof Methods<D> & string>(
    method: K,
    args: Parameters<Call<D, K>>,
    then: (answer: Answer<ReturnType<Call<D, K>>>) => void,
    transfer: ArrayBuffer[] = [],
  ): void {
    this.#ask({ kind: "do", method, args }, then as Pending["answered"], transfer)
  }

  /** Closes the file and releases the lock once earlier requests are answered. */
  close(): Promise<void> {
    if (this.#mode === "closing" || this.#mode === "closed") return this.#closed.promise
    this.#setMode("closing")
    const { file, title } = this.#location
    const givingUp = setTimeout(() => {
      this.#deps.log.error({ file }, `${title} was not closed: its disk does not answer`)
      this.#end()
      this.#setMode("closed")
    }, GIVE_UP_MS)
    this.#ask({ kind: "close" }, (answer) => {
      clearTimeout(givingUp)
      if (answer.kind === "failed") {
        // what was acknowledged is in the WAL
        this.#deps.log.warn({ file, err: answer.cause }, `${title} can't be closed: ${answer.reason}`)
      }
      this.#end(() => this.#setMode("closed"))
    })
    return this.#closed.promise
  }

  /** Ends the thread, and releases the lock once its file descriptors are closed. */
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
    // by URL: it imports all databases, which import this class
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
    // the thread was abandoned
    if (first === undefined) return
    const nowMs = steadyMs()
    this.#answersAgain(nowMs - this.#pendingSinceMs)
    this.#pendingSinceMs = nowMs
    if (answer.kind === "failed") this.#pages = answer.pages
    if (first.kind === "do" || first.kind === "poll") {
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
    const state = { location: this.#location, pages: this.#pages, files: this.#files }
    this.#ask({ kind: "open", ...state }, (answer) => {
      if (this.#mode !== "open" && this.#mode !== "failed") return
      if (answer.kind === "busy") this.#openLater()
      else if (answer.kind === "done") this.#opened(answer.value as Opened)
      else if (this.#mode === "open") this.#failed(answer)
      else this.#notYet(answer)
    })
  }

  #openLater(): void {
    this.#reopening = setTimeout(() => this.#open(), REOPEN_MS)
  }

  /** failed -> open */
  #opened({ state, files }: Opened): void {
    this.#pages = "synced"
    this.#files = files
    if (this.#mode === "open") return
    this.#failure = undefined
    this.#setMode("open")
    const { file, title } = this.#location
    this.#deps.log.info({ file }, `${title} can be written again`)
    this.#deps.recovered(state)
  }

  /** open -> failed */
  #failed(failure: Failure): void {
    const { file, title } = this.#location
    this.#failure = failure
    this.#deps.log.error({ file, err: failure.cause }, `${title} can't be written: ${failure.reason}`)
    this.#setMode("failed")
    this.#deps.failed(failure)
  }

  /** failed -> failed, also at the start */
  #notYet(failure: Failure): void {
    const { file, title } = this.#location
    if (failure.reason !== this.#failure?.reason)
      this.#deps.log.warn({ file, err: failure.cause }, `${title} can't be opened yet: ${failure.reason}`)
    this.#failure = failure
    this.#setMode("failed")
  }

  /** The thread crashed. Whether a checkpoint was cut short is unknown then. */
  #threadFailed(message: string): void {
    const pending = this.#pending
    this.#pending = []
    this.#thread?.terminate()
    this.#thread = undefined
    this.#pages = "lost"
    const reason = `its thread failed: ${message}`
    const failure: Failure = { kind: "failed", reason, cause: message, isDiskFull: false, pages: "lost" }
    if (this.#mode === "open") this.#failed(failure)
    this.#failure ??= failure
    for (const { answered } of pending) answered(failure)
  }

  /** Polls the write lock unless a commit has just had it, and logs a stalled disk. */
  #look(): void {
    const stall = this.#stall
    if (stall !== undefined && !this.#isStallLogged) {
      this.#isStallLogged = true
      this.#deps.log.warn({ file: this.#location.file }, stall)
    }
    if (this.#mode !== "open" || this.#pending.length > 0 || steadyMs() - this.#committedMs < POLL_MS) return
    this.#ask({ kind: "poll" }, () => {})
  }

  /** That the disk does not answer. Recovery after a failure may take longer. */
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
