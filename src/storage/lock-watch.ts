import { Lasting } from "../clock/lasting.ts"
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
  readonly #held = new Lasting({ afterMs: HELD_MS })

  constructor(location: DatabaseLocation, log: Logger) {
    this.#location = location
    this.#log = log
  }

  /** Another process has the lock. */
  held(): void {
    if (this.#held.began() === undefined) return
    const { file } = this.#location
    this.#log.error({ file }, `${this.problem}: nothing can be committed until it releases it`)
  }

  /** The lock was acquired. */
  free(): void {
    const heldMs = this.#held.ended()
    if (heldMs === undefined) return
    this.#log.info({ file: this.#location.file, held_ms: heldMs }, "the write lock is free again")
  }

  /** Why nothing can be committed. */
  get problem(): string | undefined {
    if ((this.#held.ms ?? 0) < HELD_MS) return undefined
    return `another process holds the write lock of ${this.#location.file}`
  }
}
