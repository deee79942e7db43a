import { steadyMs } from "../clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"

/** How often the owner of a file asks for its write lock while it commits nothing. */
export const ASK_MS = 500
/** A lock that another process holds for so long is no moment of a reader or a backup. */
const HELD_MS = 1000

/** Notices that another process holds the write lock of a file, so that nothing is committed. */
export class LockWatch {
  readonly #location: DatabaseLocation
  readonly #log: Logger
  #heldSinceMs: number | undefined
  #logged = false

  constructor(location: DatabaseLocation, log: Logger) {
    this.#location = location
    this.#log = log
  }

  /** The lock was asked for, and another process has it. */
  held(): void {
    this.#heldSinceMs ??= steadyMs()
    const { problem } = this
    if (problem === undefined || this.#logged) return
    this.#logged = true
    this.#log.error({ file: this.#location.file }, `${problem}: nothing can be committed until it lets go`)
  }

  /** The lock was asked for, and was to be had. */
  free(): void {
    const sinceMs = this.#heldSinceMs
    this.#heldSinceMs = undefined
    if (sinceMs === undefined || !this.#logged) return
    this.#logged = false
    const line = { file: this.#location.file, held_ms: Math.round(steadyMs() - sinceMs) }
    this.#log.info(line, "the write lock is free again")
  }

  /** Why nothing can be committed; undefined: no other process is in the way. */
  get problem(): string | undefined {
    const ms = this.#heldSinceMs === undefined ? 0 : steadyMs() - this.#heldSinceMs
    if (ms < HELD_MS) return undefined
    return `another process holds the write lock of ${this.#location.file}`
  }
}
