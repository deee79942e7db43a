// Hot path: `commit`. Measured by `npm run bench`.
import type { Statement } from "bun:sqlite"
import type { Record } from "../../pipeline/record.ts"
import type { DatabaseLocation, Layout } from "../../storage/database-file.ts"
import { DurableDatabase } from "../../storage/durable-database.ts"
import { unpackBatch, type PackedBatch } from "./batch.ts"
import { createRecordsTable, endOf, LOG_LAYOUT, recordsTable, type TopicRow } from "./log-tables.ts"
import { sizeOf } from "./pending-records.ts"
import { packHeaders } from "./record-headers.ts"

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

/** Where a record ends in its topic. */
export interface RecordEnd {
  readonly offset: number
  readonly end_position: number
  readonly timestamp: number
}

export interface Committed {
  /** Of each record. */
  readonly offsets: readonly number[]
  /** Duration of the transaction. */
  readonly ms: number
  /** The batch's memory, for the next one. */
  readonly transfer: readonly ArrayBuffer[]
}

/** The writing side of a file of topics: the embedded log's, and a spool's. */
export class LogWriter extends DurableDatabase {
  protected readonly topics = new Map<string, Topic>()
  /** Time of the newest record when the file was opened, in milliseconds since 1970; undefined: none. */
  newestMs: number | undefined
  /** Bytes of keys, values and headers, over all topics. */
  protected bytesKept = 0

  constructor(location: DatabaseLocation, layout: Layout = LOG_LAYOUT) {
    super(location, layout)
    this.load(() => {
      for (const row of this.db.query<TopicRow, []>("SELECT * FROM topics").all()) this.#load(row)
    })
  }

  /** Creates missing topics. */
  prepare(topics: readonly string[]): void {
    const missing = topics.filter((name) => !this.topics.has(name))
    if (missing.length === 0) return
    this.transact(() => {
      for (const name of missing) this.topic(name)
    })
  }

  /**
   * Commits records; as `transact`.
   *
   * @param timestampMs for records without a time of their own, in milliseconds since 1970
   * @param also what else the transaction changes
   */
  commit(batch: PackedBatch, timestampMs: number, also?: () => void): Committed {
    const startedAtMs = performance.now()
    const offsets: number[] = []
    this.transact(() => {
      for (const { record } of unpackBatch(batch)) offsets.push(this.add(record, timestampMs))
      also?.()
    })
    return { offsets, ms: performance.now() - startedAtMs, transfer: [batch.bytes] }
  }

  /** Adds a record within a transaction. @returns its offset */
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

  /** Deletes a topic's records up to an offset within a transaction. */
  protected dropThrough(topic: Topic, offset: number, endPosition: number): void {
    this.db.query(`DELETE FROM ${recordsTable(topic.id)} WHERE offset <= ?`).run(offset)
    this.db
      .query("UPDATE topics SET first_offset = ?, first_position = ? WHERE id = ?")
      .run(offset + 1, endPosition, topic.id)
    // freed pages go to the WAL once, and many are filled again before the checkpoint
    this.gathered((endPosition - topic.firstPosition) / 2)
    this.bytesKept -= endPosition - topic.firstPosition
    topic.firstOffset = offset + 1
    topic.firstPosition = endPosition
  }

  protected oldest(topic: Topic, limit: number): RecordEnd[] {
    return this.db
      .query<RecordEnd, [number, number]>(
        `SELECT offset, end_position, timestamp FROM ${recordsTable(topic.id)}
         WHERE offset >= ? ORDER BY offset LIMIT ?`,
      )
      .all(topic.firstOffset, limit)
  }

  /** Finds a topic, or creates it within a transaction. */
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
    const { offset, position, lastMs } = endOf(this.db, row)
    if (lastMs !== undefined) this.newestMs = Math.max(lastMs, this.newestMs ?? lastMs)
    const topic = {
      id: row.id,
      name: row.name,
      insert: this.db.prepare(`INSERT INTO ${recordsTable(row.id)} VALUES (?, ?, ?, ?, ?, ?)`),
      firstOffset: row.first_offset,
      firstPosition: row.first_position,
      nextOffset: offset,
      endPosition: position,
    }
    this.bytesKept += topic.endPosition - topic.firstPosition
    this.topics.set(row.name, topic)
    return topic
  }
}
