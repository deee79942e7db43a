import { statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { doubled } from "../../clock/backoff.ts"
import { HooklineError } from "../../errors.ts"
import type { Record } from "../../pipeline/record.ts"
import { Ages } from "./record-ages.ts"
import { pragma, type DatabaseLocation, type Layout } from "../../storage/database-file.ts"
import type { Checkpointed } from "../../storage/recovery.ts"
import { LOG_LAYOUT, PAGE_BYTES, recordsTable } from "./log-tables.ts"
import { LogWriter, type Partition, type RecordEnd } from "./writer.ts"

/*
 * Retention's work on the embedded log's file, in slices that a commit can wait for:
 *
 *   trim      deletes from the front of the partition with the oldest record
 *   giveBack  returns free pages to the disk, but for some that the next records fill: used pages at the end of the file move
 *             forward, and the next checkpoint truncates it. A file without pointer maps (`PRAGMA auto_vacuum`) keeps its size
 *
 * Both write to the WAL. With little disk space slices are smaller, and before each the WAL is reset, so that it is written
 * over and needs no space: retention has to free a full disk. Neither runs while a reader keeps the WAL from being reset, with
 * little space any WAL, else a large one: it would grow, and the disk gain nothing.
 */

/** What retention keeps. Times in milliseconds since 1970. */
export interface Limits {
  /** Older records are deleted. */
  readonly beforeMs: number
  /** The time from which `beforeMs` was computed. */
  readonly nowMs: number
  /** For keys, values and headers of all topics; exact to a slice. */
  readonly maxBytes: number
}

export type Reason = "age" | "size"

export type Deletions = { readonly [reason in Reason]: { readonly records: number; readonly bytes: number } }

/** A slice of deletions takes about a millisecond. */
const SLICE_RECORDS = 500
export const SLICE_BYTES = 512 * 1024
/** With less space for the WAL, slices are smaller. */
const LITTLE_SPACE_BYTES = 4 * 1024 * 1024
/** A page in the WAL: https://sqlite.org/fileformat2.html#walformat */
const FRAME_BYTES = PAGE_BYTES + 24
/** For pages that a slice changes besides those that it frees or moves. */
const SLICE_OVERHEAD_BYTES = 8 * PAGE_BYTES
/** Free pages are given back from so many on that are a quarter of the file, down to KEPT_PAGES. */
const FREE_PAGES = (16 * 1024 * 1024) / PAGE_BYTES
const KEPT_PAGES = (4 * 1024 * 1024) / PAGE_BYTES
const MOST_PAGES = 64
const SLICE_MS = 1
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
/** The same with little space: commits wait for a tenth of the time at most. */
const LITTLE_SPACE_WAIT_MS = 50
const LITTLE_SPACE_PAUSE_MS = 450
/** `PRAGMA auto_vacuum` */
const INCREMENTAL = 2

export class TrimmingWriter extends LogWriter {
  readonly #ages = new Ages<Partition>()
  readonly #canShrink: boolean
  /** Bytes that the last checkpoint left in the WAL for a reader. */
  #walHeldBytes = 0
  /** Partitions whose first record was not compared with the time yet. */
  readonly #unseen: Partition[]
  /** Something was deleted since the free pages were counted. */
  #hasDeleted = true
  #isShrinking = false
  #slicePages = MOST_PAGES
  #restartMs = Number.NEGATIVE_INFINITY
  #outlasted = 0
  /** When readers outlasted a restart with little space. */
  #waitedMs = Number.NEGATIVE_INFINITY

  constructor(location: DatabaseLocation, layout: Layout = LOG_LAYOUT) {
    super(location, { ...layout, canShrink: true })
    this.#canShrink = this.load(() => pragma(this.db, "auto_vacuum")) === INCREMENTAL
    this.#unseen = [...this.topics.values()].flatMap(({ partitions }) => partitions)
    this.load(() => this.#unseen.forEach((partition) => this.#begins(partition)))
  }

  /** Bytes in a WAL that a reader's snapshot keeps from being reset; 0: none does. */
  get heldBytes(): number {
    return this.#walHeldBytes > HELD_BYTES ? this.#walHeldBytes : 0
  }

  /** As Ages.oldestMs. */
  get oldestMs(): number {
    return this.#ages.oldestMs
  }

  override checkpoint(): boolean {
    const isDone = super.checkpoint()
    if (isDone) this.#checkSpace()
    return isDone
  }

  /** Checkpoints what a reader held, should it be gone. @throws HooklineError `log_io` as `#checkSpace` */
  recover(): void {
    this.checkpointPassively()
    this.#checkSpace()
  }

  /** Whether there is anything to delete; reads nothing if there is not. */
  isDue({ beforeMs, nowMs, maxBytes }: Limits): boolean {
    for (const partition of this.#unseen.splice(0)) this.#lookBehind(partition, nowMs)
    return this.bytesKept > maxBytes || this.#ages.oldestMs < beforeMs
  }

  /** Deletes a slice of what is due; undefined: nothing is. */
  trim(limits: Limits): Deletions | undefined {
    if (this.heldBytes > 0 || !this.isDue(limits)) return undefined
    const partition = this.#ages.oldest()
    if (partition === undefined) return undefined
    const space = this.#space()
    if (space === undefined) return undefined
    const sliceBytes = Math.min(SLICE_BYTES, space / 2)
    const excess = this.bytesKept - limits.maxBytes
    const floor = this.#ages.floor(partition, limits.beforeMs)
    const deleted = noDeletions()
    let last: RecordEnd | undefined
    let bytes = 0
    for (const record of this.oldest(partition, SLICE_RECORDS)) {
      const isOld = record.timestamp < limits.beforeMs || record.offset < floor
      if (!isOld && bytes >= excess) break
      if (last !== undefined && bytes >= sliceBytes) break
      const kind = deleted[isOld ? "age" : "size"]
      kind.records++
      kind.bytes += record.end_position - partition.firstPosition - bytes
      bytes = record.end_position - partition.firstPosition
      last = record
    }
    if (last === undefined) return undefined
    this.transact(() => this.dropThrough(partition, last.offset, last.end_position))
    this.#hasDeleted = true
    this.#begins(partition)
    this.#lookBehind(partition, limits.nowMs)
    if (space < LITTLE_SPACE_BYTES) this.recover()
    return deleted
  }

  /** Gives back a slice of free pages if there are many. @returns whether there may be more */
  giveBack(): boolean {
    if (this.heldBytes > 0) return false
    this.#isShrinking ||= this.#shouldShrink()
    if (!this.#isShrinking) return false
    const space = this.#space()
    if (space === undefined) return false
    const pages = Math.max(1, Math.min(this.#slicePages, Math.floor(space / 2 / PAGE_BYTES)))
    const startedMs = performance.now()
    this.db.run(`PRAGMA incremental_vacuum(${pages})`)
    const ms = performance.now() - startedMs
    if (space < LITTLE_SPACE_BYTES) this.recover()
    this.gathered(pages * PAGE_BYTES)
    if (ms > SLICE_MS) this.#slicePages = Math.max(1, this.#slicePages >> 1)
    else if (ms < SLICE_MS / 2) this.#slicePages = Math.min(MOST_PAGES, this.#slicePages * 2)
    this.#isShrinking = pragma(this.db, "freelist_count") > KEPT_PAGES
    return this.#isShrinking
  }

  protected override checkpointPassively(): Checkpointed {
    const done = super.checkpointPassively()
    this.#walHeldBytes = done.isWhole ? 0 : done.frames * FRAME_BYTES
    const pauseMs = doubled(RESTART_PAUSE_MS, this.#outlasted)
    if (done.frames * FRAME_BYTES < RESTART_BYTES || performance.now() - this.#restartMs < pauseMs)
      return done
    const restarted = this.#restart(doubled(RESTART_WAIT_MS, this.#outlasted))
    this.#restartMs = performance.now()
    this.#outlasted = restarted.isWhole ? 0 : this.#outlasted + 1
    return restarted
  }

  /** Waits for readers, so that the next transaction writes over the WAL from its beginning. */
  #restart(waitMs: number): Checkpointed {
    this.db.run(`PRAGMA busy_timeout = ${waitMs}`)
    const restarted = this.checkpointNow("RESTART")
    this.db.run("PRAGMA busy_timeout = 0")
    if (restarted.isWhole) this.#walHeldBytes = 0
    return restarted
  }

  protected override add(record: Record, timestampMs: number): Partition {
    const partition = super.add(record, timestampMs)
    const offset = partition.nextOffset - 1
    this.#ages.added(partition, offset, record.timestampMs ?? timestampMs, timestampMs)
    return partition
  }

  #shouldShrink(): boolean {
    if (!this.#canShrink || !this.#hasDeleted) return false
    this.#hasDeleted = false
    const free = pragma(this.db, "freelist_count")
    return free >= FREE_PAGES && free * 4 >= pragma(this.db, "page_count")
  }

  /** Bytes that a slice may write; undefined: none until readers let the WAL be reset. */
  #space(): number | undefined {
    const { file } = this.location
    const { bavail, bsize } = statfsSync(dirname(file))
    const free = bavail * bsize - SLICE_OVERHEAD_BYTES
    if (free >= LITTLE_SPACE_BYTES) return free
    if (performance.now() - this.#waitedMs < LITTLE_SPACE_PAUSE_MS) return undefined
    if (!this.#restart(LITTLE_SPACE_WAIT_MS).isWhole) {
      this.#waitedMs = performance.now()
      return undefined
    }
    const wal = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
    return Math.max(0, free + wal)
  }

  #begins(partition: Partition): void {
    const [first] = this.oldest(partition, 1)
    this.#ages.begins(partition, partition.firstOffset, first?.timestamp ?? Number.POSITIVE_INFINITY)
  }

  /** Finds a record behind those at the front that are dated ahead, in doubling steps and then by halves. */
  #lookBehind(partition: Partition, nowMs: number): void {
    if (!this.#ages.isDatedAhead(partition, nowMs)) return
    // a log that was rescued has gaps
    const timeAt = (offset: number): number =>
      this.db
        .query<{ timestamp: number }, [number]>(
          `SELECT timestamp FROM ${recordsTable(partition)} WHERE offset >= ? ORDER BY offset LIMIT 1`,
        )
        .get(offset)!.timestamp
    const end = partition.nextOffset - 1
    let ahead = partition.firstOffset
    let behind = ahead
    for (let step = 1; timeAt(behind) > nowMs; step *= 2) {
      if (behind === end) return
      ahead = behind
      behind = Math.min(end, behind + step)
    }
    while (behind - ahead > 1) {
      const middle = Math.floor((ahead + behind) / 2)
      if (timeAt(middle) > nowMs) ahead = middle
      else behind = middle
    }
    this.#ages.follows(partition, behind, timeAt(behind))
  }

  /**
   * Once the reader is gone the WAL has to fit into the file: without space for it the disk would stay full.
   *
   * @throws HooklineError `log_io`
   */
  #checkSpace(): void {
    const { file } = this.location
    if (this.heldBytes === 0) return
    const { bavail, bsize } = statfsSync(dirname(file))
    if (bavail * bsize >= this.heldBytes) return
    throw new HooklineError(
      "log_io",
      `a process that reads ${file} keeps ${Math.round(this.heldBytes / 1024 / 1024)} MiB in ${file}-wal, and the disk has no space for as much again; end it (fuser -v ${file})`,
    )
  }
}

export const noDeletions = (): { [reason in Reason]: { records: number; bytes: number } } => ({
  age: { records: 0, bytes: 0 },
  size: { records: 0, bytes: 0 },
})
