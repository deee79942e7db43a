// Hot path: `append`. Measured by `npm run bench`.
import type { Database, Statement } from "bun:sqlite"
import type { Record } from "../record.ts"
import {
  createRecordsTable,
  openLogFile,
  PAGE_BYTES,
  recordsTable,
  type LogPlace,
  type TopicRow,
} from "./embedded-file.ts"
import { packHeaders } from "./embedded-headers.ts"
import { checkpoint, closeFailed, type Checkpointed, type CheckpointMode } from "./embedded-recovery.ts"
import { sizeOf } from "./embedded-queue.ts"

/** A topic as the next commit finds it. */
export interface Topic {
  readonly id: number
  readonly name: string
  readonly insert: Statement
  firstOffset: number
  firstPosition: number
  nextOffset: number
  endPosition: number
}

export interface Mark {
  readonly offset: number
  readonly end_position: number
  readonly timestamp: number
}

/** What a topic holds. */
export interface Extent {
  readonly topic: string
  readonly records: number
  readonly bytes: number
}

/**
 * How many bytes may gather in the WAL before they are carried over into the database. A commit that meets it waits for
 * it: at 64 connections the 99th percentile was 3.4 ms with 1 MiB, 6 with 4, 21 with 16, 85 with 64, for the same CPU.
 */
const CHECKPOINT_BYTES = 1024 * 1024
/** The same by commits, each of which writes whole pages however small its records: this many are some 10 MiB. */
const CHECKPOINT_COMMITS = 256
/** A page in the WAL: https://sqlite.org/fileformat2.html#walformat */
const FRAME_BYTES = PAGE_BYTES + 24

/** The writing side of the log's file. Once one of its calls failed with something else than busy, it must be closed. */
export class LogWriter {
  protected readonly db: Database
  readonly #file: string
  readonly #begin: Statement
  readonly #commit: Statement
  protected readonly topics = new Map<string, Topic>()
  /** Time of the newest record when the file was opened, in milliseconds since 1970; undefined: there was none. */
  newestMs: number | undefined
  /** Bytes of keys, values and headers, over all topics. */
  protected bytesKept = 0
  /** Bytes that the last checkpoint had to leave in the WAL, since a reader needs what was there before; 0: none. */
  protected walHeldBytes = 0
  #uncheckpointed = 0
  #uncheckpointedCommits = 0
  /** Whether the last checkpoint was a whole one, with an fsync of the database. */
  #isSynced = true

  /** @throws HooklineError `log_io`, SQLiteError */
  constructor(place: LogPlace) {
    this.#file = place.file
    this.db = openLogFile(place)
    this.#begin = this.db.prepare("BEGIN IMMEDIATE")
    this.#commit = this.db.prepare("COMMIT")
    for (const row of this.db.query<TopicRow, []>("SELECT * FROM topics").all()) this.#load(row)
  }

  /** Makes the topics that are not there yet. */
  prepare(topics: readonly string[]): void {
    const missing = topics.filter((name) => !this.topics.has(name))
    if (missing.length === 0) return
    this.transact(() => {
      for (const name of missing) this.topic(name)
    })
  }

  /**
   * Writes records in one transaction; when it returns they are durable. When it throws, none is there.
   *
   * @param timestampMs milliseconds since 1970, for the records that have no time of their own
   * @returns the offset of each, in their order
   * @throws SQLiteError
   */
  append(records: readonly { readonly record: Record }[], timestampMs: number): number[] {
    const offsets: number[] = []
    this.transact(() => {
      for (const { record } of records) offsets.push(this.add(record, timestampMs))
    })
    return offsets
  }

  /** Asks for the write lock and gives it back; nothing is written. @throws SQLiteError busy: another process has it */
  askForLock(): void {
    this.#begin.run()
    this.#commit.run()
  }

  /**
   * Carries the WAL over into the database when much has gathered. Waits for no reader.
   *
   * @returns whether it did
   */
  checkpoint(): boolean {
    if (this.#uncheckpointed < CHECKPOINT_BYTES && this.#uncheckpointedCommits < CHECKPOINT_COMMITS)
      return false
    this.#uncheckpointed = 0
    this.#uncheckpointedCommits = 0
    this.carryOver()
    return true
  }

  /** What the topics hold that hold anything. */
  extents(): Extent[] {
    return [...this.topics.values()]
      .map(({ name, firstOffset, nextOffset, firstPosition, endPosition }) => {
        return { topic: name, records: nextOffset - firstOffset, bytes: endPosition - firstPosition }
      })
      .filter(({ records }) => records > 0)
  }

  /** Carries everything over into the database, where no reader prevents it, and closes the file. */
  close(): void {
    this.#endTransaction()
    this.db.close(true)
  }

  /** Carries the WAL over into the database, as far as readers allow, and gives its room back. */
  protected truncateWal(): void {
    this.checkpointNow("TRUNCATE")
  }

  /** All checkpoints go through here, so that it is known whether the database had its fsync. */
  protected checkpointNow(mode: CheckpointMode): Checkpointed {
    const done = checkpoint(this.db, mode)
    this.#isSynced = done.isWhole
    return done
  }

  /** Closes the file after one of the calls failed. */
  closeFailed(): void {
    this.#endTransaction()
    closeFailed(this.db, this.#file, this.#isSynced)
  }

  /** What is left of a failed batch would keep the file open. */
  #endTransaction(): void {
    if (this.db.inTransaction) this.db.run("ROLLBACK")
  }

  /** Adds a record, within a transaction; gives its offset. */
  protected add(record: Record, timestampMs: number): number {
    const topic = this.topic(record.topic)
    const { key, value, headers } = record
    const packed = headers === undefined || headers.length === 0 ? null : packHeaders(headers)
    const bytes = sizeOf(record) + (packed === null ? 0 : packed.length)
    topic.endPosition += bytes
    this.bytesKept += bytes
    this.gathered(bytes)
    const ms = record.timestampMs ?? timestampMs
    topic.insert.run(topic.nextOffset, topic.endPosition, ms, key ?? null, packed, value)
    return topic.nextOffset++
  }

  /** Counts what goes to the WAL, towards the next checkpoint. */
  protected gathered(bytes: number): void {
    this.#uncheckpointed += bytes
  }

  /**
   * Carries over what no reader prevents.
   *
   * @returns how many bytes the WAL has
   */
  protected carryOver(): number {
    const { isWhole, frames } = this.checkpointNow("PASSIVE")
    this.walHeldBytes = isWhole ? 0 : frames * FRAME_BYTES
    return frames * FRAME_BYTES
  }

  /** Makes changes durable as one. */
  protected transact(change: () => void): void {
    this.#begin.run()
    change()
    this.#commit.run()
    this.#uncheckpointedCommits++
  }

  /** Deletes a topic's records up to one, within a transaction. */
  protected dropThrough(topic: Topic, offset: number, endPosition: number): void {
    this.db.query(`DELETE FROM ${recordsTable(topic.id)} WHERE offset <= ?`).run(offset)
    this.db
      .query("UPDATE topics SET first_offset = ?, first_position = ? WHERE id = ?")
      .run(offset + 1, endPosition, topic.id)
    // freed pages are written to the WAL once, and many are filled again before they are carried over
    this.gathered((endPosition - topic.firstPosition) / 2)
    this.bytesKept -= endPosition - topic.firstPosition
    topic.firstOffset = offset + 1
    topic.firstPosition = endPosition
  }

  /** The oldest records of a topic. */
  protected oldest(topic: Topic, limit: number): Mark[] {
    return this.db
      .query<Mark, [number, number]>(
        `SELECT offset, end_position, timestamp FROM ${recordsTable(topic.id)}
         WHERE offset >= ? ORDER BY offset LIMIT ?`,
      )
      .all(topic.firstOffset, limit)
  }

  /** Finds a topic or makes it, within a transaction. */
  protected topic(name: string): Topic {
    const known = this.topics.get(name)
    if (known !== undefined) return known
    const row = this.db
      .query<TopicRow, [string]>("INSERT INTO topics (name) VALUES (?) RETURNING *")
      .get(name)!
    createRecordsTable(this.db, row.id)
    return this.#load(row)
  }

  #load(row: TopicRow): Topic {
    const table = recordsTable(row.id)
    const last = this.db
      .query<Mark, []>(`SELECT offset, end_position, timestamp FROM ${table} ORDER BY offset DESC LIMIT 1`)
      .get()
    if (last !== null) this.newestMs = Math.max(last.timestamp, this.newestMs ?? last.timestamp)
    const topic = {
      id: row.id,
      name: row.name,
      insert: this.db.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?)`),
      firstOffset: row.first_offset,
      firstPosition: row.first_position,
      nextOffset: last === null ? row.first_offset : last.offset + 1,
      endPosition: last === null ? row.first_position : last.end_position,
    }
    this.bytesKept += topic.endPosition - topic.firstPosition
    this.topics.set(row.name, topic)
    return topic
  }
}
