import type { Database } from "bun:sqlite"
import { statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { doubled } from "../../clock/backoff.ts"
import { HooklineError } from "../../errors.ts"
import type { Checkpointed, CheckpointMode } from "../../storage/recovery.ts"
import { PAGE_BYTES } from "./log-tables.ts"

/** A page in the WAL: https://sqlite.org/fileformat2.html#walformat */
const FRAME_BYTES = PAGE_BYTES + 24
/** A larger WAL is held by a reader; without one it has some 10 MiB. */
const HELD_BYTES = 64 * 1024 * 1024
/**
 * From here on a checkpoint waits for readers, to reset the WAL: between several that read without a pause there is never a
 * moment without one (360 MB after 8 s with four). Each of their reads takes some milliseconds.
 */
const RESTART_BYTES = 16 * 1024 * 1024
/** How long it waits, and for how long it is not repeated; both double with each that a reader outlasts. */
const RESTART_WAIT_MS = { first: 50, longest: 400 }
const RESTART_PAUSE_MS = { first: 100, longest: 10_000 }
/** With less space on the disk than this, the WAL is reset before each slice of work. */
const LITTLE_SPACE_BYTES = 4 * 1024 * 1024
/** Then a restart waits this long, and this long after one that a reader outlasted: commits wait for a tenth of the time. */
const LITTLE_SPACE_WAIT_MS = 50
const LITTLE_SPACE_PAUSE_MS = 450
/** For pages that a slice changes in addition to those that it frees or moves. */
const SLICE_OVERHEAD_BYTES = 8 * PAGE_BYTES

/**
 * The WAL of a log's file, which readers can keep from being reset: it would grow, and deletions would free nothing. While one
 * holds a large WAL, or with little disk space any, no slice of work is done. With little space the WAL is reset before each,
 * so that it is written over and needs no space: retention has to free a full disk.
 */
export class Wal {
  readonly #db: Database
  readonly #file: string
  readonly #checkpoint: (mode: CheckpointMode) => Checkpointed
  /** Bytes that the last checkpoint left for a reader. */
  #leftBytes = 0
  #restartMs = Number.NEGATIVE_INFINITY
  #outlasted = 0
  /** When readers outlasted a restart with little space. */
  #waitedMs = Number.NEGATIVE_INFINITY

  constructor(db: Database, file: string, checkpoint: (mode: CheckpointMode) => Checkpointed) {
    this.#db = db
    this.#file = file
    this.#checkpoint = checkpoint
  }

  /** Bytes that a reader's snapshot keeps from being reset; 0: none does. */
  get heldBytes(): number {
    return this.#leftBytes > HELD_BYTES ? this.#leftBytes : 0
  }

  /** Checkpoints it, without waiting for readers unless it is large. @throws HooklineError `log_io` as `#checkSpace` */
  checkpoint(): void {
    const { isWhole, frames } = this.#checkpoint("PASSIVE")
    const bytes = frames * FRAME_BYTES
    this.#leftBytes = isWhole ? 0 : bytes
    const pauseMs = doubled(RESTART_PAUSE_MS, this.#outlasted)
    if (bytes >= RESTART_BYTES && performance.now() - this.#restartMs >= pauseMs) {
      const isRestarted = this.#restart(doubled(RESTART_WAIT_MS, this.#outlasted))
      this.#restartMs = performance.now()
      this.#outlasted = isRestarted ? 0 : this.#outlasted + 1
    }
    this.#checkSpace()
  }

  /** Does a slice of work that writes to the WAL. @param work its bytes at most @returns undefined: it has to wait for readers */
  slice<T>(work: (bytes: number) => T): T | undefined {
    if (this.heldBytes > 0) return undefined
    const space = this.#space()
    if (space === undefined) return undefined
    const done = work(space / 2)
    if (space < LITTLE_SPACE_BYTES) this.checkpoint()
    return done
  }

  /** Bytes that may be written; undefined: none until readers let the WAL be reset. */
  #space(): number | undefined {
    const free = freeBytes(this.#file) - SLICE_OVERHEAD_BYTES
    if (free >= LITTLE_SPACE_BYTES) return free
    if (performance.now() - this.#waitedMs < LITTLE_SPACE_PAUSE_MS) return undefined
    if (!this.#restart(LITTLE_SPACE_WAIT_MS)) {
      this.#waitedMs = performance.now()
      return undefined
    }
    return Math.max(0, free + sizeOfFile(`${this.#file}-wal`))
  }

  /** Waits for readers, so that the next transaction writes over the WAL from its beginning. @returns whether it will */
  #restart(waitMs: number): boolean {
    this.#db.run(`PRAGMA busy_timeout = ${waitMs}`)
    const { isWhole } = this.#checkpoint("RESTART")
    this.#db.run("PRAGMA busy_timeout = 0")
    if (isWhole) this.#leftBytes = 0
    return isWhole
  }

  /**
   * Once the reader is gone the WAL has to fit into the file: without space for it the disk would stay full.
   *
   * @throws HooklineError `log_io`
   */
  #checkSpace(): void {
    if (this.heldBytes === 0 || freeBytes(this.#file) >= this.heldBytes) return
    throw new HooklineError(
      "log_io",
      `a process that reads ${this.#file} keeps ${Math.round(this.heldBytes / 1024 / 1024)} MiB in ${this.#file}-wal, and the disk has no space for as much again; end it (fuser -v ${this.#file})`,
    )
  }
}

function freeBytes(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize
}

/** 0 without the file. */
export const sizeOfFile = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
