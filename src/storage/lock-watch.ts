import { steadyMs } from "../clock/clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"

/** How often an idle writer polls the write lock. */
export const POLL_MS = 500
/** Readers and backups hold the lock for less. */
const HELD_MS = 1000

/** Notices that another process holds the write lock of a file. */
export class LockWatch {
  readonly #location: DatabaseLocation
  readonly #log: Logger
  #heldSinceMs: number | undefined
  #logged = false

  constructor(location: DatabaseLocation, log: Logger) {
    this.#location = location
    this.#log = log
  }

  /** Another process has the lock. */
  held(): void {
    this.#heldSinceMs ??= steadyMs()
    const { problem } = this
    if (problem === undefined || this.#logged) return
    this.#logged = true
    this.#log.error(
      { file: this.#location.file },
      `${problem}: nothing can be committed until it releases it`,
    )
  }

  /** The lock was acquired. */
  free(): void {
    const sinceMs = this.#heldSinceMs
    this.#heldSinceMs = undefined
    if (sinceMs === undefined || !this.#logged) return
    this.#logged = false
    const heldMs = Math.round(steadyMs() - sinceMs)
    this.#log.info({ file: this.#location.file, held_ms: heldMs }, "the write lock is free again")
  }

  /** Why nothing can be committed. */
  get problem(): string | undefined {
    const ms = this.#heldSinceMs === undefined ? 0 : steadyMs() - this.#heldSinceMs
    if (ms < HELD_MS) return undefined
    return `another process holds the write lock of ${this.#location.file}`
  }
}
