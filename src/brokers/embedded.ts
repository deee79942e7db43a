import { mkdirSync } from "node:fs"
import { HooklineError, PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { Broker } from "./broker.ts"
import { describeFailure, isBusy } from "./embedded-file.ts"
import { lockForWriting, type WriterLock } from "./embedded-lock.ts"
import { PublishQueue, sizeOf, type Waiting } from "./embedded-queue.ts"
import { LogWriter } from "./embedded-writer.ts"

/*
 * The embedded broker's states:
 *
 *   open    publish() queues; at the end of the event loop's turn the queue is committed as one batch, on this thread.
 *           Meanwhile the next batch gathers in the sockets, so that batches are as large as the disk is slow, and no
 *           record waits for others to come. A writer in a Worker frees the loop during the commit and costs about
 *           3 us of CPU an event more (smaller batches, bytes that move to another core), a third of what a bare
 *           server takes: not worth it, since whoever waits here waits for the disk anyway.
 *           While another process holds the file, the batch stays queued, is tried again every few milliseconds and
 *           loses the records whose deadlines pass.
 *   failed  a commit failed: its batch and the queue were rejected, the file is closed. publish() rejects with the
 *           reason. Opening the file is tried again and again; the first success leads back to open.
 *   closing the queue is still published; publish() rejects.
 *
 * The lock on the directory is held from beginning to end.
 */

export interface EmbeddedOptions {
  /** Folder of the log; made when it is not there. */
  readonly directory: string
  /** How long records are kept, in milliseconds. Default: for ever. */
  readonly retention?: number
  /** How many bytes of keys and values are kept, over all topics; the oldest records go first. Default: all. */
  readonly retention_bytes?: number
}

export interface EmbeddedDeps {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  /** Milliseconds since 1970, for timestamps and retention. */
  readonly now?: () => number
}

/** A commit is held to about this size, so that it holds the event loop for milliseconds only. */
const BATCH_BYTES = 8 * 1024 * 1024
/** Bounded well below what SQLite stores in a row (1e9 bytes). */
const MAX_RECORD_BYTES = 256 * 1024 * 1024
const BUSY_RETRY_MS = 5
const REOPEN_MS = 500
/** How far beyond its limits the log may grow: what arrives in this time. */
const RETENTION_MS = 200
/** Between two slices of retention, commits have their turn. */
const RETENTION_SLICE_MS = 5
const SLOW_COMMIT_MS = 1000

/**
 * Opens the log in a directory for publishing. One process at a time can.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function openEmbedded(options: EmbeddedOptions, deps: EmbeddedDeps): Broker {
  const { directory } = options
  const lock = openDirectory(directory)
  try {
    return new EmbeddedBroker(options, deps, lock, new LogWriter(directory))
  } catch (error) {
    lock.release()
    if (error instanceof HooklineError) throw error
    throw new HooklineError("log_io", describeFailure(error, directory), { cause: error })
  }
}

function openDirectory(directory: string): WriterLock {
  try {
    mkdirSync(directory, { recursive: true })
  } catch (error) {
    throw new HooklineError("log_io", `The log's directory can't be made: ${(error as Error).message}`, {
      cause: error,
    })
  }
  return lockForWriting(directory)
}

class EmbeddedBroker implements Broker {
  readonly #directory: string
  readonly #retentionMs: number
  readonly #retentionBytes: number
  readonly #log: Logger
  readonly #metrics: ConnectionMetrics
  readonly #now: () => number
  readonly #lock: WriterLock
  #writer: LogWriter | undefined
  #failure: PublishError | undefined
  #topics: readonly string[] = []
  readonly #queue = new PublishQueue()
  #closing: PromiseWithResolvers<void> | undefined
  #reopening: Timer | undefined
  #retaining: Timer | undefined
  /** A flush is on its way already. */
  #scheduled = false

  constructor(options: EmbeddedOptions, deps: EmbeddedDeps, lock: WriterLock, writer: LogWriter) {
    this.#directory = options.directory
    this.#retentionMs = options.retention ?? Number.POSITIVE_INFINITY
    this.#retentionBytes = options.retention_bytes ?? Number.POSITIVE_INFINITY
    this.#log = deps.log
    this.#metrics = deps.metrics
    this.#now = deps.now ?? Date.now
    this.#lock = lock
    this.#writer = writer
    this.#retainIn(0)
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    if (this.#closing !== undefined) return Promise.reject(new PublishError("closing", "The log is closing"))
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    if (sizeOf(record) > MAX_RECORD_BYTES) {
      const limit = `${MAX_RECORD_BYTES} bytes`
      return Promise.reject(
        new PublishError("record_too_large", `The embedded log takes records up to ${limit}`),
      )
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, deadlineMs, resolve, reject })
      this.#schedule()
    })
  }

  prepare(topics: readonly string[]): void {
    this.#topics = topics
    try {
      this.#writer?.prepare(topics)
    } catch (error) {
      // Publishing makes a topic too: while another process holds the file there is nothing to be done.
      if (!isBusy(error)) this.#fail(error)
    }
  }

  ready(): true | string {
    if (this.#closing !== undefined) return "the log is closing"
    return this.#failure === undefined ? true : this.#failure.message
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = Promise.withResolvers()
      clearTimeout(this.#reopening)
      clearTimeout(this.#retaining)
      this.#schedule()
    }
    return this.#closing.promise
  }

  /** The queue is committed at the end of this turn of the event loop, with all that comes until then. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#scheduled = false
    const batch = this.#queue.take(steadyMs(), BATCH_BYTES)
    if (batch.length > 0 && !this.#publishBatch(batch)) return
    if (!this.#queue.isEmpty) this.#schedule()
    else if (this.#closing !== undefined) this.#end(this.#closing)
  }

  /** @returns whether the queue can go on now */
  #publishBatch(batch: Waiting[]): boolean {
    const startedAtMs = performance.now()
    let offsets: number[]
    try {
      offsets = this.#writer!.append(batch, this.#now())
    } catch (error) {
      this.#queue.putBack(batch)
      if (!isBusy(error)) {
        this.#fail(error)
        return true
      }
      this.#scheduled = true
      setTimeout(() => this.#flush(), BUSY_RETRY_MS)
      return false
    }
    const tookMs = performance.now() - startedAtMs
    this.#metrics.batch(batch.length, tookMs)
    for (let at = 0; at < batch.length; at++) batch[at]!.resolve({ partition: 0, offset: offsets[at]! })
    if (tookMs > SLOW_COMMIT_MS) {
      this.#log.warn({ directory: this.#directory, ms: Math.round(tookMs) }, "The log's disk is slow")
    }
    // After the answers that the acknowledgements set off have been written.
    setImmediate(() => this.#attempt((writer) => writer.checkpoint()))
    return true
  }

  /** Does what no publisher waits for. When another process holds the file, it is left for the next time. */
  #attempt<T>(work: (writer: LogWriter) => T): T | undefined {
    if (this.#writer === undefined) return undefined
    try {
      return work(this.#writer)
    } catch (error) {
      if (!isBusy(error)) this.#fail(error)
      return undefined
    }
  }

  #fail(cause: unknown): void {
    const reason = describeFailure(cause, this.#directory)
    this.#failure = new PublishError("unavailable", reason, { cause })
    this.#log.error(
      { directory: this.#directory, err: cause },
      `The embedded log can't be written: ${reason}`,
    )
    this.#queue.rejectAll(this.#failure)
    this.#closeWriter()
    if (this.#closing === undefined) this.#reopenLater()
  }

  #reopenLater(): void {
    this.#reopening = setTimeout(() => {
      try {
        this.#writer = new LogWriter(this.#directory)
      } catch (error) {
        this.#failure = new PublishError("unavailable", describeFailure(error, this.#directory), {
          cause: error,
        })
        this.#reopenLater()
        return
      }
      this.#failure = undefined
      this.#log.info({ directory: this.#directory }, "The embedded log can be written again")
      this.prepare(this.#topics)
    }, REOPEN_MS)
  }

  #retainIn(ms: number): void {
    if (this.#retentionMs === Number.POSITIVE_INFINITY && this.#retentionBytes === Number.POSITIVE_INFINITY)
      return
    this.#retaining = setTimeout(() => {
      const beforeMs = this.#now() - this.#retentionMs
      const more = this.#attempt((writer) => writer.trim(beforeMs, this.#retentionBytes))
      this.#retainIn(more === true ? RETENTION_SLICE_MS : RETENTION_MS)
    }, ms)
  }

  #closeWriter(): void {
    const writer = this.#writer
    this.#writer = undefined
    try {
      writer?.close()
    } catch (error) {
      // What was acknowledged is in the WAL, wherever it lies; a file that failed may fail here again.
      this.#log.warn({ directory: this.#directory, err: error }, "The embedded log's file can't be closed")
    }
  }

  #end(closing: PromiseWithResolvers<void>): void {
    this.#closeWriter()
    this.#lock.release()
    closing.resolve()
  }
}
