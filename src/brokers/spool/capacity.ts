import { dirname } from "node:path"
import { PublishError } from "../../errors.ts"
import type { Record } from "../../pipeline/record.ts"
import type { Logger } from "../../telemetry/log.ts"
import { sizeOf } from "../batch-publisher.ts"

/** A spool that was full accepts events again below this part of its limit. */
const AGAIN_AT = 0.95

/**
 * Whether a spool has space: within `maxBytes`, and on the disk. A disk counts as full while the reserve is deleted
 * (reserve.ts); forwarding continues and frees space.
 */
export class SpoolCapacity {
  readonly #file: string
  readonly #log: Logger
  #maxBytes: number
  isDiskFull = false
  #isFull = false
  #usedBytes = 0
  /** Bytes of records that are about to be committed. */
  #pendingBytes = 0

  constructor(file: string, maxBytes: number, log: Logger) {
    this.#file = file
    this.#maxBytes = maxBytes
    this.#log = log
  }

  get maxBytes(): number {
    return this.#maxBytes
  }

  /** Why nothing can be taken now; undefined: something can. */
  get problem(): string | undefined {
    if (this.isDiskFull) return `the disk of ${dirname(this.#file)} is full`
    return this.#isFull ? `the spool is full: it holds ${this.#usedBytes} bytes` : undefined
  }

  /** Takes space for a record that is about to be committed. @returns undefined: it has it, else why not */
  take(record: Record): PublishError | undefined {
    const bytes = sizeOf(record)
    if (bytes > this.#maxBytes)
      return new PublishError("unavailable", `the event is larger than the spool: ${bytes} bytes`)
    if (!this.#isFull && this.#usedBytes + this.#pendingBytes + bytes > this.#maxBytes) {
      this.#isFull = true
      this.#log.error(
        { bytes: this.#usedBytes, max_bytes: this.#maxBytes },
        "spool is full: events are refused until some of it is forwarded",
      )
    }
    const { problem } = this
    if (problem !== undefined) return new PublishError("unavailable", problem)
    this.#pendingBytes += bytes
    return undefined
  }

  taken(record: Record): void {
    this.#pendingBytes -= sizeOf(record)
    this.#endFull()
  }

  /** Takes another `maxBytes`. A spool that holds more by then takes nothing until it holds less. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes
    this.used(this.#usedBytes)
  }

  used(bytes: number): void {
    this.#usedBytes = bytes
    this.#endFull()
  }

  diskFull(isFull: boolean): void {
    if (isFull === this.isDiskFull) return
    this.isDiskFull = isFull
    const line = { file: this.#file }
    if (isFull) this.#log.error(line, "disk of the spool is full: events are refused until it has space")
    else this.#log.info(line, "disk of the spool has space again")
  }

  #endFull(): void {
    const bytes = this.#usedBytes
    if (!this.#isFull || bytes + this.#pendingBytes > this.#maxBytes * AGAIN_AT) return
    this.#isFull = false
    this.#log.info({ bytes, max_bytes: this.#maxBytes }, "spool has space again")
  }
}
