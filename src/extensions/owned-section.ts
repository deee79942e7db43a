import { join, resolve } from "node:path"
import type { Connection } from "../brokers/define-connection.ts"
import { pause } from "../clock/clock.ts"
import { DEFAULT_FOLDER } from "../dedupe/location.ts"
import { Lasting } from "../clock/lasting.ts"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"

/** Pause before a section that does not run is tried again. */
const RETRY_MS = 2000
/** How long a section does not run before that is logged, and how often while it lasts. */
const WAITING = { afterMs: 30_000, remindMs: 24 * 3_600_000 }

const ELSEWHERE = "another process runs this section; this one takes over when it stops"

/**
 * A section of the configuration that runs next to the pipelines, in one process of the service: a lock, on its file or in
 * Redis, says which. What fails is tried again; nothing of it fails a start or a reload.
 */
export abstract class OwnedSection {
  protected readonly log: Logger
  /** Why it does not run; undefined: it does. */
  problem: string | undefined
  /** Another process runs it. */
  isElsewhere = false
  readonly #failed: string
  readonly #stopping = new AbortController()
  readonly #waiting = new Lasting(WAITING)
  #running: Promise<void> = Promise.resolve()

  /** @param log its lines name the section @param failed the log line for when it can't run */
  constructor(log: Logger, failed: string) {
    this.log = log
    this.#failed = failed
  }

  start(): void {
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#stopping.abort(new HooklineError("closing", "the application is stopping"))
    await this.#running
  }

  protected get signal(): AbortSignal {
    return this.#stopping.signal
  }

  /** Called by `run` once the section has its lock and runs. */
  protected runs(): void {
    this.problem = undefined
    this.isElsewhere = false
    this.#waiting.ended()
  }

  /** Runs until the signal aborts, or once; it is called again after a pause. */
  protected abstract run(): Promise<void>

  async #run(): Promise<void> {
    const { signal } = this
    while (!signal.aborted) {
      try {
        await this.run()
      } catch (error) {
        // another process of the service has it, what it needs is down, or the disk fails
        this.problem = (error as Error).message
        this.isElsewhere = error instanceof HooklineError && error.code === "log_locked"
        if (this.#waiting.began(this.problem) !== undefined)
          this.log[this.isElsewhere ? "info" : "warn"](
            { problem: this.problem },
            this.isElsewhere ? ELSEWHERE : this.#failed,
          )
      }
      await pause(RETRY_MS, signal)
    }
  }
}

/** Where a section of a connection has its file: the embedded log's folder, else one next to the configuration file. */
export const sectionFolder = (connection: Connection | undefined, baseDir: string): string =>
  resolve(connection?.kind.logFolder?.(connection.values) ?? join(baseDir, DEFAULT_FOLDER))
