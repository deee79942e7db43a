// Hot path: every event of a pipeline with an embedded store passes here.
import { describeFailure, isBusy, makeFolderOf, type LogPlace } from "../brokers/embedded-file.ts"
import { lockForWriting, type WriterLock } from "../brokers/embedded-lock.ts"
import { HeldByReaders } from "../brokers/embedded-recovery.ts"
import { HooklineError } from "../errors.ts"
import { steadyMs } from "../steady-clock.ts"
import { warnOfLoose } from "../storage/private-files.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Claim, MarkStore } from "./mark-store.ts"
import { MarksFile, marksIn } from "./marks-file.ts"

/*
 * The states of an embedded store:
 *
 *   open    mark() queues; what is queued is committed as one batch when all that is to run now has. The events of one
 *           batch of the broker were acknowledged at once, so that their marks are one batch, too, and their answers go out
 *           together. (A turn of the event loop later, their senders fall into two groups that take turns: commits twice as
 *           many and half as large, 35 us of CPU an event where this takes 19.)
 *           While another process holds the file, the batch stays queued and is tried again every few milliseconds; who
 *           waits for it is told at the deadline that it is not durable yet.
 *   failed  reading or writing failed: the file is closed, claim() throws. Marks that could not be written stay queued: no
 *           more can come than were on their way. Opening the file is tried again and again; the first success writes them
 *           and leads back to open.
 *   closing what is queued is written.
 *
 * The lock is held from beginning to end.
 */

const BUSY_RETRY_MS = 5
const REOPEN_MS = 500
/** How long a mark may lie there after its window, when not many run out at once. */
const TRIM_MS = 1000
/** Between two slices of what ran out, commits have their turn. */
const TRIM_SLICE_MS = 5

/** A mark that is not in the file yet. */
interface Unwritten {
  readonly untilMs: number
  readonly deadlineMs: number
  /** Tells who waits for it whether it is durable; undefined: nobody does any more. */
  tell: ((durable: boolean) => void) | undefined
}

/**
 * Keeps marks in a file of a folder, which is made when it is not there. One process at a time can.
 *
 * @param deps `now` is in milliseconds since 1970
 * @throws HooklineError `log_locked`, `log_io`
 */
export function openEmbeddedMarks(
  directory: string,
  deps: { readonly log: Logger; readonly now?: () => number },
): MarkStore {
  return new EmbeddedMarks(directory, deps)
}

class EmbeddedMarks implements MarkStore {
  readonly #place: LogPlace
  readonly #log: Logger
  readonly #now: () => number
  readonly #lock: WriterLock
  readonly #unwritten = new Map<string, Unwritten>()
  #file: MarksFile | undefined
  #failure: HooklineError | undefined
  #closing: PromiseWithResolvers<void> | undefined
  #reopening: Timer | undefined
  #trimming: Timer | undefined
  /** A flush is on its way already. */
  #scheduled = false

  constructor(directory: string, { log, now = Date.now }: { log: Logger; now?: () => number }) {
    this.#place = marksIn(directory)
    this.#log = log
    this.#now = now
    makeFolderOf(this.#place)
    this.#lock = lockForWriting(this.#place)
    try {
      this.#file = new MarksFile(this.#place)
      log.info("the Deduplicator's store is open")
    } catch (error) {
      if (error instanceof HeldByReaders) this.#notYet(error)
      else {
        this.#lock.release()
        if (error instanceof HooklineError) throw error
        throw new HooklineError("log_io", describeFailure(error, this.#place), { cause: error })
      }
    }
    warnOfLoose(this.#place, log)
    this.#trimIn(0)
  }

  claim(key: string): Claim {
    if (this.#closing !== undefined) throw new HooklineError("unavailable", `${this.#place.title} is closing`)
    if (this.#failure !== undefined) throw this.#failure
    try {
      const untilMs = this.#unwritten.get(key)?.untilMs ?? this.#file!.untilOf(key)
      return untilMs !== undefined && untilMs >= this.#now() ? "duplicate" : "first"
    } catch (error) {
      if (!isBusy(error)) throw this.#fail(error)
      throw new HooklineError("unavailable", `${this.#place.title} is held by another process`, {
        cause: error,
      })
    }
  }

  mark(key: string, untilMs: number, deadlineMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const isOpen = this.#file !== undefined
    this.#unwritten.set(key, { untilMs, deadlineMs, tell: isOpen ? resolve : undefined })
    if (isOpen) this.#schedule()
    else resolve(false)
    return promise
  }

  release(): void {}

  ready(): true | string {
    if (this.#closing !== undefined) return `${this.#place.title} is closing`
    return this.#failure?.message ?? true
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers()
      clearTimeout(this.#reopening)
      clearTimeout(this.#trimming)
      this.#schedule()
    }
    return this.#closing.promise
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    process.nextTick(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    if (this.#unwritten.size > 0 && this.#file !== undefined && !this.#write(this.#file)) return
    if (this.#closing !== undefined) this.#end(this.#closing)
  }

  /** @returns false: it is tried again */
  #write(file: MarksFile): boolean {
    try {
      file.write([...this.#unwritten].map(([key, { untilMs }]) => [key, untilMs]))
    } catch (error) {
      if (isBusy(error)) {
        const isAwaited = this.#tellLate()
        if (this.#closing !== undefined && !isAwaited) return true
        this.#scheduled = true
        setTimeout(() => this.#flush(), BUSY_RETRY_MS)
        return false
      }
      this.#fail(error)
      return true
    }
    for (const { tell } of this.#unwritten.values()) tell?.(true)
    this.#unwritten.clear()
    // After the answers that this sets off have been written.
    setImmediate(() => this.#attempt((it) => it.checkpoint()))
    return true
  }

  /**
   * Lets those go whose deadlines have passed; their marks stay queued.
   *
   * @returns whether anybody still waits
   */
  #tellLate(): boolean {
    const nowMs = steadyMs()
    let isAwaited = false
    for (const one of this.#unwritten.values()) {
      if (one.deadlineMs > nowMs) {
        isAwaited ||= one.tell !== undefined
        continue
      }
      one.tell?.(false)
      one.tell = undefined
    }
    return isAwaited
  }

  /** Does what nobody waits for. When another process holds the file, it is left for the next time. */
  #attempt<T>(work: (file: MarksFile) => T): T | undefined {
    if (this.#file === undefined) return undefined
    try {
      return work(this.#file)
    } catch (error) {
      if (!isBusy(error)) this.#fail(error)
      return undefined
    }
  }

  #trimIn(ms: number): void {
    this.#trimming = setTimeout(() => {
      const more = this.#attempt((file) => file.trim(this.#now()))
      this.#trimIn(more === true ? TRIM_SLICE_MS : TRIM_MS)
    }, ms)
  }

  #fail(cause: unknown): HooklineError {
    const reason = describeFailure(cause, this.#place)
    this.#failure = new HooklineError("unavailable", reason, { cause })
    this.#log.error({ file: this.#place.file, err: cause }, `${this.#place.title} can't be used: ${reason}`)
    for (const one of this.#unwritten.values()) {
      one.tell?.(false)
      one.tell = undefined
    }
    this.#closeFile((file) => file.closeFailed())
    if (this.#closing === undefined) this.#reopenLater()
    return this.#failure
  }

  /** The file can't be opened now. */
  #notYet(cause: unknown): void {
    const reason = describeFailure(cause, this.#place)
    if (reason !== this.#failure?.message)
      this.#log.warn(
        { file: this.#place.file, err: cause },
        `${this.#place.title} can't be opened yet: ${reason}`,
      )
    this.#failure = new HooklineError("unavailable", reason, { cause })
    this.#reopenLater()
  }

  #reopenLater(): void {
    this.#reopening = setTimeout(() => {
      try {
        const file = new MarksFile(this.#place)
        this.#file = file
        file.write([...this.#unwritten].map(([key, { untilMs }]) => [key, untilMs]))
      } catch (error) {
        this.#closeFile((file) => file.closeFailed())
        this.#notYet(error)
        return
      }
      this.#unwritten.clear()
      this.#failure = undefined
      this.#log.info({ file: this.#place.file }, `${this.#place.title} can be used again`)
    }, REOPEN_MS)
  }

  #closeFile(close: (file: MarksFile) => void): void {
    const file = this.#file
    this.#file = undefined
    if (file === undefined) return
    try {
      close(file)
    } catch (error) {
      // What was told to be durable is in the WAL, wherever it lies; a file that failed may fail here again.
      this.#log.warn({ file: this.#place.file, err: error }, `${this.#place.title} can't be closed`)
    }
  }

  #end(closing: PromiseWithResolvers<void>): void {
    if (this.#unwritten.size > 0)
      this.#log.error({ marks: this.#unwritten.size }, `${this.#place.title} lacks marks of published events`)
    this.#closeFile((file) => file.close())
    this.#lock.release()
    closing.resolve()
  }
}
