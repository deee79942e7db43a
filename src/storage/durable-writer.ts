// Hot path: `do`, once a batch.
import { steadyMs } from "../clock/clock.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import { warnOfLoose, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { FileWatch, POLL_MS } from "./file-watch.ts"
import { warnOfNetwork } from "./lock-holds.ts"
import { OpeningAttempts, unlessSuspected } from "./opening-attempts.ts"
import { HeldByReaders, pagesAfter, type PageState } from "./recovery.ts"
import { threadUrl } from "../process/thread-url.ts"
import { WriterLock } from "./writer-lock.ts"
import { failureOf } from "./serve-database.ts"
import type { Failure, Opened, Request, ThreadAnswer } from "./serve-database.ts"

/*
 * The event loop's side of a database, whose file is open in a thread of its own (serve-database.ts): a stalled disk holds up
 * neither the event loop nor another database. Its modes:
 *
 *   open     the thread answers requests in order. When idle it polls the write lock, so that one held by another process is
 *            noticed before the next event.
 *   failed   opening the file or a request failed, or the thread crashed: the file is closed, requests are answered `failed`,
 *            and opening is retried until it succeeds. A start begins here while readers keep the file from being recovered,
 *            and where it continues without the file: then the lock, too, is taken by each attempt, and released if that fails.
 *            Damage ends the attempts (opening-attempts.ts).
 *   closing  earlier requests are answered, then the thread closes the file. If the disk does not answer in time, the
 *            thread is abandoned.
 *   closed   nothing is answered.
 *
 * The writer lock is held until the thread has ended, even an abandoned one: a second writer would rewrite the WAL at the same time.
 * A request answered `busy` changed nothing, since another process holds SQLite's write lock, and may be repeated.
 */
type Mode = "open" | "failed" | "closing" | "closed"

export interface WriterDependencies {
  readonly log: Logger
  /** Why the file could not be opened a moment ago: it is opened later. Undefined: now. */
  readonly unopened?: HooklineError | undefined
  /** The file was closed after a failure. */
  readonly failed: (failure: Failure) => void
  /** It was opened again. @param state as `DurableDatabase.state` */
  readonly recovered: (state: unknown) => void
}

/** How long a close waits for the disk. */
const GIVE_UP_MS = 2000

type Answered = (answer: ThreadAnswer<never>) => void

export class DurableWriter<D extends DurableDatabase> {
  readonly #location: DatabaseLocation
  readonly #deps: WriterDependencies
  readonly #lock: WriterLock
  readonly #fileWatch: FileWatch
  readonly #attempts: OpeningAttempts
  readonly #tick: Timer
  #mode: Mode = "open"
  #failure: Failure | undefined
  #pages: PageState = "synced"
  #files: Opened["files"] | undefined
  #thread: Worker | undefined
  /** Unanswered, in order. */
  #pending: { readonly kind: Request["kind"]; readonly answered: Answered }[] = []
  #committedMs = 0
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
    this.#lock = new WriterLock(location)
    this.#fileWatch = new FileWatch(location, deps.log)
    this.#attempts = new OpeningAttempts(location, deps.log)
    if (deps.unopened === undefined) this.#begin(probe)
    else this.#failure = this.#attempts.judged(this.#failureOf(deps.unopened))
    if (this.#failure === undefined) this.#open()
    else this.#setMode("failed")
    this.#tick = setInterval(() => this.#watch(), POLL_MS)
  }

  /** Why nothing can be written; undefined while it can. */
  get problem(): string | undefined {
    return this.#failure?.reason ?? this.#stall ?? this.#fileWatch.lock
  }

  /** Why the file is closed. */
  get failure(): Failure | undefined {
    return this.#failure
  }

  /**
   * Calls an operation of the database in its thread.
   *
   * @param then called in the order of the calls; never if the disk stops answering, or after close
   * @param transfer buffers among the arguments
   */
  do<K extends keyof D["operations"] & string>(
    operation: K,
    args: Parameters<D["operations"][K]>,
    then: (answer: ThreadAnswer<ReturnType<D["operations"][K]>>) => void,
    transfer: ArrayBuffer[] = [],
  ): void {
    this.#ask({ kind: "do", operation, args }, then as Answered, transfer)
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
      if (answer.kind === "failed" && this.#files !== undefined) {
        // what was acknowledged is in the WAL
        this.#deps.log.warn({ file, err: answer.cause }, `${title} can't be closed: ${answer.reason}`)
      }
      this.#end(() => this.#setMode("closed"))
    })
    return this.#closed.promise
  }

  /** @throws HooklineError `log_locked`, `log_io` */
  #begin(probe: () => void): void {
    this.#lock.take()
    try {
      unlessSuspected(probe)
    } catch (error) {
      const failure = this.#failureOf(error)
      if (!(error instanceof HeldByReaders)) {
        this.#failure = failure
        this.#unlock()
        if (error instanceof HooklineError) throw error
        throw new HooklineError("log_io", failure.reason, { cause: error })
      }
      this.#pages = failure.pages
      this.#failure = failure
      this.#attempts.failed(failure, "can't be opened yet")
    }
    warnOfLoose(this.#location, this.#deps.log)
    warnOfNetwork(this.#location, this.#deps.log)
  }

  /** A file that is damaged, or was not checked since it was not closed, is checked when it is opened next. */
  #unlock(): void {
    const wasOpen = this.#files !== undefined
    const isWhole = this.#failure?.suspicion === undefined && this.#failure?.isTruncated !== true
    this.#lock.release(wasOpen ? isWhole : !this.#lock.wasUnclean)
  }

  /** Whether the start continued without the file, which was not open since: it may be replaced, even if damaged. */
  get #isAwaited(): boolean {
    return this.#deps.unopened !== undefined && this.#files === undefined
  }

  #failureOf(error: unknown): Failure {
    return failureOf(error, this.#location, pagesAfter(error, this.#pages))
  }

  /** Ends the thread, and releases the lock once its file descriptors are closed. */
  #end(then?: () => void): void {
    const release = (): void => {
      this.#unlock()
      then?.()
    }
    if (this.#thread === undefined) return release()
    this.#thread.addEventListener("close", release)
    this.#thread.terminate()
  }

  /** The only place where the mode changes. */
  #setMode(mode: Mode): void {
    this.#mode = mode
    const isLasting = this.#failure?.isDamaged === true || this.#failure?.isTruncated === true
    if (mode === "failed" && (!isLasting || this.#isAwaited)) this.#attempts.next(this.#open)
    else this.#attempts.end()
    if (mode === "closing" || mode === "closed") clearInterval(this.#tick)
    if (mode !== "closed") return
    this.#pending = []
    this.#closed.resolve()
  }

  #start(): Worker {
    // by URL: it imports all databases, which import this class
    const thread = new Worker(threadUrl("../runtime/storage-thread", import.meta))
    thread.addEventListener("message", ({ data }: MessageEvent<ThreadAnswer<never>>) => {
      if (thread === this.#thread) this.#answered(data)
    })
    thread.addEventListener("error", ({ message }) => {
      if (thread === this.#thread) this.#threadFailed(message)
    })
    return thread
  }

  #ask(request: Request, answered: Answered, transfer: ArrayBuffer[] = []): void {
    if (this.#mode === "closed") return
    if (this.#thread === undefined) return queueMicrotask(() => answered(this.#failure!))
    if (this.#pending.length === 0) this.#fileWatch.waits()
    this.#pending.push({ kind: request.kind, answered })
    this.#thread.postMessage(request, transfer)
  }

  #answered(answer: ThreadAnswer<never>): void {
    const first = this.#pending.shift()
    // the thread was abandoned
    if (first === undefined) return
    this.#fileWatch.answers()
    if (answer.kind === "failed") this.#pages = answer.pages
    const isUse = first.kind === "do" || first.kind === "poll"
    if (isUse && answer.kind === "busy") this.#fileWatch.held()
    if (isUse && answer.kind === "failed" && this.#mode === "open") this.#failed(answer)
    if (answer.kind === "done" && answer.isCommitted) {
      this.#committedMs = steadyMs()
      this.#fileWatch.free()
    }
    first.answered(isUse && answer.kind === "failed" ? (this.#failure ?? answer) : answer)
  }

  readonly #open = (): void => {
    try {
      this.#lock.take()
    } catch (error) {
      return this.#notYet(this.#failureOf(error))
    }
    this.#thread ??= this.#start()
    const state = { pages: this.#pages, files: this.#files, wasUnclean: this.#lock.wasUnclean }
    this.#ask({ kind: "open", location: this.#location, ...state }, (answer) => {
      if (this.#mode !== "open" && this.#mode !== "failed") return
      if (answer.kind === "busy") this.#attempts.next(this.#open)
      else if (answer.kind === "done") this.#opened(answer.value as Opened)
      else if (this.#mode === "open") this.#failed(answer)
      else this.#notYet(answer)
    })
  }

  /** failed -> open */
  #opened({ state, files }: Opened): void {
    this.#pages = "synced"
    this.#files = files
    this.#attempts.succeeded(this.#mode === "failed")
    if (this.#mode === "open") return
    this.#failure = undefined
    this.#setMode("open")
    this.#deps.recovered(state)
  }

  /** open -> failed */
  #failed(answered: Failure): void {
    const failure = (this.#failure = this.#attempts.failed(answered, "can't be written"))
    this.#setMode("failed")
    this.#deps.failed(failure)
  }

  /** failed -> failed, also at a start */
  #notYet(answered: Failure): void {
    const failure = (this.#failure = this.#attempts.failed(answered, "can't be opened yet"))
    if (failure.isDamaged === true) this.#deps.failed(failure)
    // or whoever puts another file there finds it locked, and so would this process, at another path
    if (this.#isAwaited) this.#unlock()
    this.#setMode("failed")
  }

  /** The thread crashed. Whether a checkpoint was cut short is unknown then. */
  #threadFailed(message: string): void {
    const pending = this.#pending
    this.#pending = []
    this.#thread?.terminate()
    this.#thread = undefined
    this.#pages = "lost"
    const failure = this.#failureOf(new HooklineError("internal", `its thread failed: ${message}`))
    if (this.#mode === "open") this.#failed(failure)
    this.#failure ??= failure
    for (const { answered } of pending) answered(failure)
  }

  /** Polls the write lock unless a commit has just had it, and logs a stalled disk. */
  #watch(): void {
    const stall = this.#stall
    if (stall !== undefined) this.#fileWatch.reportStall(stall)
    if (this.#mode !== "open" || this.#pending.length > 0 || steadyMs() - this.#committedMs < POLL_MS) return
    this.#ask({ kind: "poll" }, () => {})
  }

  /** Says that the disk does not answer; undefined while it does. Recovery after a failure may take longer. */
  get #stall(): string | undefined {
    const [first] = this.#pending
    const isRecovery = first?.kind === "open" && this.#mode === "failed"
    const problem = first === undefined || isRecovery ? undefined : this.#fileWatch.stall
    return problem !== undefined && first?.kind === "open" ? `${problem}: its file is being checked` : problem
  }
}
