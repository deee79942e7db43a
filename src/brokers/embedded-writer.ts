// Hot path: `append`. Measured by `npm run bench`.
import type { Database, Statement } from "bun:sqlite"
import type { Record } from "../record.ts"
import {
  createRecordsTable,
  openLogFile,
  recordsTable,
  type LogPlace,
  type TopicRow,
} from "./embedded-file.ts"
import { packHeaders } from "./embedded-headers.ts"
import { checkpoint, closeFailed } from "./embedded-recovery.ts"
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
/** Records that one slice of retention deletes at most: a commit that waits for it waits for about a millisecond. */
const SLICE_RECORDS = 500

/** The writing side of the log's file. Once one of its calls failed with something else than busy, it must be closed. */
export class LogWriter {
  protected readonly db: Database
  readonly #file: string
  readonly #begin: Statement
  readonly #commit: Statement
  protected readonly topics = new Map<string, Topic>()
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

  /** Carries the WAL over into the database when much has gathered. Waits for no reader. */
  checkpoint(): void {
    if (this.#uncheckpointed < CHECKPOINT_BYTES && this.#uncheckpointedCommits < CHECKPOINT_COMMITS) return
    this.#uncheckpointed = 0
    this.#uncheckpointedCommits = 0
    this.#isSynced = checkpoint(this.db, "PASSIVE")
  }

  /**
   * Deletes a slice of the oldest records: those from before a time (milliseconds since 1970), and as many as make the
   * keys, values and headers of all topics fit into `maxBytes`. Which topic's records go first is exact to a slice.
   *
   * @returns whether there may be more to delete
   */
  trim(beforeMs: number, maxBytes: number): boolean {
    let excess = -maxBytes
    let oldest: { topic: Topic; marks: Mark[] } | undefined
    for (const topic of this.topics.values()) {
      excess += topic.endPosition - topic.firstPosition
      const marks = this.oldest(topic, 1)
      if (marks.length === 0) continue
      if (oldest === undefined || marks[0]!.timestamp < oldest.marks[0]!.timestamp) oldest = { topic, marks }
    }
    if (oldest === undefined || (excess <= 0 && oldest.marks[0]!.timestamp >= beforeMs)) return false
    const { topic } = oldest
    let last: Mark | undefined
    for (const mark of this.oldest(topic, SLICE_RECORDS)) {
      if (
        mark.timestamp >= beforeMs &&
        (last?.end_position ?? topic.firstPosition) - topic.firstPosition >= excess
      )
        break
      last = mark
    }
    if (last === undefined) return false
    this.transact(() => this.dropThrough(topic, last.offset, last.end_position))
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
    this.#isSynced = checkpoint(this.db, "TRUNCATE")
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
    this.gathered(bytes)
    const ms = record.timestampMs ?? timestampMs
    topic.insert.run(topic.nextOffset, topic.endPosition, ms, key ?? null, packed, value)
    return topic.nextOffset++
  }

  /** Counts what goes to the WAL, towards the next checkpoint. */
  protected gathered(bytes: number): void {
    this.#uncheckpointed += bytes
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
    const topic = {
      id: row.id,
      name: row.name,
      insert: this.db.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?)`),
      firstOffset: row.first_offset,
      firstPosition: row.first_position,
      nextOffset: last === null ? row.first_offset : last.offset + 1,
      endPosition: last === null ? row.first_position : last.end_position,
    }
    this.topics.set(row.name, topic)
    return topic
  }
}
