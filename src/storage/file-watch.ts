import { dirname } from "node:path"
import { steadyMs } from "../clock/clock.ts"
import { Lasting } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"

/** How often an idle writer polls the write lock. */
export const POLL_MS = 500
/** Readers and backups hold the lock for less. */
const HELD_MS = 1000
/** A disk that does not answer for this long is logged. */
const STALLED_MS = 1000

/** Notices why nothing can be committed to an open file: its disk does not answer, or another process holds the write lock. */
export class FileWatch {
  readonly #file: string
  readonly #log: Logger
  /** Since when the request that is first in line waits. */
  #sinceMs = 0
  readonly #stalled = new Lasting()
  readonly #held = new Lasting({ afterMs: HELD_MS })

  constructor({ file }: DatabaseLocation, log: Logger) {
    this.#file = file
    this.#log = log
  }

  /** A request is first in line. */
  waits(): void {
    this.#sinceMs = steadyMs()
  }

  /** It was answered; the next one may be first in line. */
  answers(): void {
    const ms = Math.round(steadyMs() - this.#sinceMs)
    this.waits()
    if (this.#stalled.ended() === undefined) return
    this.#log.warn({ file: this.#file, ms }, `the disk of ${dirname(this.#file)} answers again`)
  }

  /** Why a request that waits is not answered. */
  get stall(): string | undefined {
    const ms = steadyMs() - this.#sinceMs
    if (ms < STALLED_MS) return undefined
    return `the disk of ${dirname(this.#file)} has not answered for ${(ms / 1000).toFixed(1)} s`
  }

  /** Logs that once. */
  reportStall(problem: string): void {
    if (this.#stalled.began() !== undefined) this.#log.warn({ file: this.#file }, problem)
  }

  /** Another process has the write lock. */
  held(): void {
    if (this.#held.began() === undefined) return
    this.#log.error({ file: this.#file }, `${this.lock}: nothing can be committed until it releases it`)
  }

  /** The write lock was acquired. */
  free(): void {
    const heldMs = this.#held.ended()
    if (heldMs === undefined) return
    this.#log.info({ file: this.#file, held_ms: heldMs }, "the write lock is free again")
  }

  /** Who keeps commits from the write lock. */
  get lock(): string | undefined {
    if ((this.#held.ms ?? 0) < HELD_MS) return undefined
    return `another process holds the write lock of ${this.#file}`
  }
}
