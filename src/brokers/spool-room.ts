import { randomFillSync } from "node:crypto"
import { rmSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { PublishError } from "../errors.ts"
import type { Record } from "../record.ts"
import { createPrivateFile } from "../storage/private-files.ts"
import type { Logger } from "../telemetry/log.ts"
import { isDiskFull, type LogPlace } from "./embedded-file.ts"
import { sizeOf } from "./embedded-queue.ts"
import { SpoolWriter } from "./spool-file.ts"

/** What deleting needs on a full disk: the WAL takes some pages before those that it frees can be used again. */
const RESERVE_BYTES = 8 * 1024 * 1024
const LOOK_AGAIN_MS = 500
/** A spool that was full takes events again when it is filled to this part. */
const ROOM_AGAIN = 0.95

/**
 * Whether a spool has room. Two things fill it: `maxBytes`, and the disk. On a full disk records can't even be deleted,
 * so a file of RESERVE_BYTES lies beside the spool (`<file>.reserve`) and makes way then. From that moment the spool
 * takes nothing until the disk has room for a reserve again; forwarding goes on and frees what it has forwarded.
 */
export class SpoolRoom {
  readonly #place: LogPlace
  #maxBytes: number
  readonly #log: Logger
  readonly #reserve: string
  #diskIsFull = false
  #isFull = false
  #usedBytes = 0
  /** Of records that are about to be committed. */
  #comingBytes = 0
  #looking: Timer | undefined

  constructor(place: LogPlace, maxBytes: number, log: Logger) {
    this.#place = place
    this.#maxBytes = maxBytes
    this.#log = log
    this.#reserve = `${place.file}.reserve`
  }

  /** Opens the spool's file, on a full disk with the help of the reserve. */
  readonly open = (place: LogPlace): SpoolWriter => {
    try {
      return new SpoolWriter(place)
    } catch (error) {
      if (!isDiskFull(error) || this.#diskIsFull) throw error
      this.diskFailed(error)
      return new SpoolWriter(place)
    }
  }

  /** Takes the reserve's room; to be called when the file is open. */
  begin(): void {
    if (!this.#diskIsFull && !this.#holdsReserve() && !this.#makeReserve()) this.#becomeDiskFull()
  }

  /** Why nothing can be taken now; undefined: something can. */
  get problem(): string | undefined {
    if (this.#diskIsFull) return `the disk of ${dirname(this.#place.file)} is full`
    return this.#isFull ? `the spool is full: it holds ${this.#usedBytes} bytes` : undefined
  }

  /** Takes room for a record that is about to be committed; undefined: it has it, else why not. */
  take(record: Record): PublishError | undefined {
    const bytes = sizeOf(record)
    if (bytes > this.#maxBytes)
      return new PublishError("unavailable", `the event is larger than the spool: ${bytes} bytes`)
    if (!this.#isFull && this.#usedBytes + this.#comingBytes + bytes > this.#maxBytes) {
      this.#isFull = true
      this.#log.error(
        { bytes: this.#usedBytes, max_bytes: this.#maxBytes },
        "the spool is full: events are refused until some of it is forwarded",
      )
    }
    const { problem } = this
    if (problem !== undefined) return new PublishError("unavailable", problem)
    this.#comingBytes += bytes
    return undefined
  }

  /** What `take` took room for was committed, or was not. */
  taken(record: Record): void {
    this.#comingBytes -= sizeOf(record)
  }

  /** Takes another `maxBytes`. A spool that holds more by then takes nothing until it holds less. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes
    this.uses(this.#usedBytes)
  }

  /** Takes note of what the file holds. */
  uses(bytes: number): void {
    this.#usedBytes = bytes
    if (!this.#isFull || bytes > this.#maxBytes * ROOM_AGAIN) return
    this.#isFull = false
    this.#log.info({ bytes, max_bytes: this.#maxBytes }, "the spool has room again")
  }

  /** The file could not be written. */
  readonly diskFailed = (cause: unknown): void => {
    if (isDiskFull(cause) && !this.#diskIsFull) this.#becomeDiskFull()
  }

  close(): void {
    clearTimeout(this.#looking)
  }

  #becomeDiskFull(): void {
    this.#diskIsFull = true
    rmSync(this.#reserve, { force: true })
    this.#log.error(
      { file: this.#place.file },
      "the spool's disk is full: events are refused until it has room",
    )
    this.#lookLater()
  }

  #lookLater(): void {
    this.#looking = setTimeout(() => {
      try {
        const { bavail, bsize } = statfsSync(dirname(this.#place.file))
        if (bavail * bsize < 2 * RESERVE_BYTES || !this.#makeReserve()) return this.#lookLater()
      } catch (error) {
        this.#log.warn({ file: this.#place.file, err: error }, "the spool's disk can't be looked at")
        return this.#lookLater()
      }
      this.#diskIsFull = false
      this.#log.info({ file: this.#place.file }, "the spool's disk has room again")
    }, LOOK_AGAIN_MS)
  }

  #holdsReserve(): boolean {
    return statSync(this.#reserve, { throwIfNoEntry: false })?.size === RESERVE_BYTES
  }

  /** Writes bytes that no file system makes smaller. */
  #makeReserve(): boolean {
    try {
      rmSync(this.#reserve, { force: true })
      createPrivateFile(this.#reserve, randomFillSync(Buffer.alloc(RESERVE_BYTES)))
      return true
    } catch (error) {
      if ((error as { code?: string }).code !== "ENOSPC") throw error
      rmSync(this.#reserve, { force: true })
      return false
    }
  }
}
