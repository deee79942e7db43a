import type { StoredRecord } from "./broker.ts"
import { recordsTable, type LogPlace } from "./embedded-file.ts"
import { RECORD_COLUMNS, toStored, type RecordRow } from "./embedded-row.ts"
import { LogWriter } from "./embedded-writer.ts"
import { unpackHeaders } from "./embedded-headers.ts"

/*
 * A spool's file is a log's file (embedded-file.ts) of another application id, so that neither is taken for the other.
 * What was forwarded is deleted from the front: `topics.first_offset` is the next record to be forwarded. Beside it:
 *
 *   set_aside
 *   id  topic     timestamp  key   headers  value   bytes  reason
 *   1   webhooks  1795…      NULL  NULL     {"id":… 31     the record is larger than topic webhooks takes
 *
 * holds what the broker refused for good. Each record is in one of the two tables, whatever crash comes.
 */

/** The spool of a file. Lock and holder's note lie beside it. */
export function spoolAt(file: string): LogPlace {
  return {
    file,
    lockFile: `${file}.lock`,
    holderFile: `${file}.pid`,
    applicationId: 0x484b5350, // HKSP
    kind: "spool",
    title: `The spool ${file}`,
    alternative: "another file",
  }
}

/** Records that are forwarded together, and after a kill -9 in the middle of it once more. */
const WINDOW_RECORDS = 1000
const WINDOW_BYTES = 2 * 1024 * 1024
/** Set-aside records that are put back in one transaction. */
const SLICE_RECORDS = 500
/** So many free pages are worth the rewriting of a file. */
const FREE_PAGES = 1024
const LITTLE_BYTES = 1024 * 1024

/** The oldest records of a topic. */
export interface Window {
  readonly records: readonly StoredRecord[]
  /** Whether the topic has no other. */
  readonly isAll: boolean
}

/** What a spool's file holds; as in `SpoolState`. */
export interface Contents {
  readonly records: number
  readonly bytes: number
  readonly oldestMs: number | undefined
  readonly setAside: number
}

/** The writing side of a spool's file. As with LogWriter, after a failure it must be closed. */
export class SpoolWriter extends LogWriter {
  #setAside = { records: 0, bytes: 0 }

  constructor(place: LogPlace) {
    super(place)
    try {
      this.db.run(
        `CREATE TABLE IF NOT EXISTS set_aside (
          id INTEGER PRIMARY KEY,
          topic TEXT NOT NULL,
          timestamp INTEGER NOT NULL,
          key BLOB,
          headers BLOB,
          value BLOB NOT NULL,
          bytes INTEGER NOT NULL,
          reason TEXT NOT NULL
        ) STRICT`,
      )
      this.#countSetAside()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** The records of a topic that are to be forwarded next: at least one where there is one. */
  window(name: string): Window {
    const topic = this.topics.get(name)
    if (topic === undefined) return { records: [], isAll: true }
    const records = this.db
      .query<RecordRow, [number, number, number, number]>(
        `SELECT ${RECORD_COLUMNS} FROM ${recordsTable(topic.id)}
         WHERE offset >= ? AND (end_position <= ? OR offset = ?) ORDER BY offset LIMIT ?`,
      )
      .all(topic.firstOffset, topic.firstPosition + WINDOW_BYTES, topic.firstOffset, WINDOW_RECORDS)
      .map((row) => toStored(name, row))
    return { records, isAll: (records.at(-1)?.offset ?? topic.nextOffset - 1) === topic.nextOffset - 1 }
  }

  /**
   * Deletes records from the front of a topic, and sets those aside that were refused.
   *
   * @param records the first ones of a window, without gaps
   * @param refused why, by offset
   */
  settle(name: string, records: readonly StoredRecord[], refused: ReadonlyMap<number, string>): void {
    const topic = this.topics.get(name)
    const last = records.at(-1)
    if (topic === undefined || last === undefined) return
    const table = recordsTable(topic.id)
    this.transact(() => {
      const mark = this.db
        .query<{ end_position: number }, [number]>(`SELECT end_position FROM ${table} WHERE offset = ?`)
        .get(last.offset)!
      for (const [offset, reason] of refused) {
        this.db
          .query(
            `INSERT INTO set_aside (topic, timestamp, key, headers, value, bytes, reason)
             SELECT ?, timestamp, key, headers, value,
               length(value) + coalesce(length(key), 0) + coalesce(length(headers), 0), ?
             FROM ${table} WHERE offset = ?`,
          )
          .run(name, reason, offset)
      }
      this.dropThrough(topic, last.offset, mark.end_position)
    })
    if (refused.size > 0) this.#countSetAside()
  }

  /**
   * Puts some of the records that were set aside behind the others of their topics, to be tried again.
   *
   * @returns whether there are more
   */
  putBack(): boolean {
    const rows = this.db
      .query<RecordRow & { id: number; topic: string }, [number]>(
        `SELECT id, topic, 0 AS offset, timestamp, key, headers, value FROM set_aside ORDER BY id LIMIT ?`,
      )
      .all(SLICE_RECORDS)
    if (rows.length === 0) return false
    this.transact(() => {
      for (const { topic, timestamp, key, headers, value } of rows) {
        const more = headers === null ? {} : { headers: unpackHeaders(headers) }
        this.add({ topic, key: key ?? undefined, value, ...more }, timestamp)
      }
      this.db.query("DELETE FROM set_aside WHERE id <= ?").run(rows.at(-1)!.id)
    })
    this.#countSetAside()
    return this.#setAside.records > 0
  }

  contents(): Contents {
    const extents = this.extents()
    const oldest = extents.map(({ topic }) => this.oldest(this.topics.get(topic)!, 1)[0]!.timestamp)
    return {
      records: extents.reduce((sum, { records }) => sum + records, 0),
      bytes: this.bytes(),
      oldestMs: oldest.length === 0 ? undefined : Math.min(...oldest),
      setAside: this.#setAside.records,
    }
  }

  /** Bytes of keys, values and headers. */
  bytes(): number {
    return this.extents().reduce((sum, { bytes }) => sum + bytes, this.#setAside.bytes)
  }

  /** Gives the room of what was deleted back to the disk, when that is much and little is left, so that it is quick. */
  shrink(): void {
    if (this.bytes() > LITTLE_BYTES) return
    const { freelist_count } = this.db.query<{ freelist_count: number }, []>("PRAGMA freelist_count").get()!
    if (freelist_count < FREE_PAGES) return
    this.db.run("VACUUM")
    this.truncateWal()
  }

  #countSetAside(): void {
    this.#setAside = this.db
      .query<{ records: number; bytes: number }, []>(
        "SELECT count(*) AS records, coalesce(sum(bytes), 0) AS bytes FROM set_aside",
      )
      .get()!
  }
}
