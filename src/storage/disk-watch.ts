import { dirname } from "node:path"
import { steadyMs } from "../clock/clock.ts"
import { Lasting } from "../clock/lasting.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"

/** A disk that does not answer for so long is logged. */
const STALLED_MS = 1000

/** Notices that the disk of a file does not answer. */
export class DiskWatch {
  readonly #location: DatabaseLocation
  readonly #log: Logger
  /** Since when the request that is first in line waits. */
  #sinceMs = 0
  readonly #stall = new Lasting()

  constructor(location: DatabaseLocation, log: Logger) {
    this.#location = location
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
    if (this.#stall.ended() === undefined) return
    const { file } = this.#location
    this.#log.warn({ file, ms }, `the disk of ${dirname(file)} answers again`)
  }

  /** Why a request that waits is not answered. */
  get problem(): string | undefined {
    const ms = steadyMs() - this.#sinceMs
    if (ms < STALLED_MS) return undefined
    return `the disk of ${dirname(this.#location.file)} has not answered for ${(ms / 1000).toFixed(1)} s`
  }

  /** Logs that once. */
  report(problem: string): void {
    if (this.#stall.began() !== undefined) this.#log.warn({ file: this.#location.file }, problem)
  }
}
