import { Database } from "bun:sqlite"
import { existsSync } from "node:fs"
import { pause } from "../../clock.ts"
import { suggest } from "../../config/file/nearest.ts"
import { HooklineError } from "../../errors.ts"
import type { LogReader, OffsetRange, StoredRecord, TimeRange, TopicInfo } from "../broker.ts"
import { checkIsKind, describeFailure, logIn, type DatabaseLocation } from "../../storage/database-file.ts"
import {
  endOf,
  firstAt,
  recordsTable,
  type TopicRow,
  RECORD_COLUMNS,
  toStored,
  type RecordRow,
} from "./log-tables.ts"

/** Between two lookups of a reader that follows: they read pages in memory. */
const POLL_MS = 50
/** No transaction is open between slices, so that the writer's WAL can be reset. */
const SLICE_RECORDS = 64
/** For locks held while the file is recovered or closed. */
const BUSY_MS = 5000

/**
 * The reader of a log that any process may be writing.
 *
 * @throws HooklineError `no_log` if it is missing, `no_input` if it is unreadable
 */
export function openEmbeddedReader(directory: string): LogReader {
  const location = logIn(directory)
  if (!existsSync(location.file))
    throw new HooklineError("no_log", `There is no log in ${directory}: ${location.file} does not exist`)
  return new EmbeddedReader(openForReading(location))
}

/** Opens a log's file. @throws HooklineError `no_input` if it is another kind of file, or unreadable */
export function openForReading(location: DatabaseLocation): Database {
  let db: Database | undefined
  try {
    // Read-only, it never checkpoints when it closes: only the writer does, once the WAL is known to be durable.
    db = new Database(location.file, { readonly: true })
    db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    checkIsKind(db, location)
    return db
  } catch (error) {
    db?.close()
    const reason = error instanceof HooklineError ? error.message : describeFailure(error, location)
    throw new HooklineError("no_input", reason, { cause: error })
  }
}

/** Owns the file that it reads. */
export class EmbeddedReader implements LogReader {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async topics(): Promise<TopicInfo[]> {
    return this.#db.transaction(() =>
      this.#topicRows().map((row) => {
        const end = endOf(this.#db, row)
        return {
          topic: row.name,
          partitions: 1,
          records: end.offset - row.first_offset,
          bytes: end.position - row.first_position,
        }
      }),
    )()
  }

  async ranges(topic: string, { sinceMs, untilMs }: TimeRange = {}): Promise<OffsetRange[]> {
    return this.#db.transaction(() => {
      const row = this.#topicRow(topic)
      const whole = { partition: 0, first: row.first_offset, end: endOf(this.#db, row).offset }
      const first = sinceMs === undefined ? whole.first : firstAt(this.#db, row, whole, sinceMs)
      const end = untilMs === undefined ? whole.end : firstAt(this.#db, row, whole, untilMs)
      return [{ partition: 0, first, end: Math.max(first, end) }]
    })()
  }

  async *read(
    topic: string,
    ranges: readonly OffsetRange[],
    { signal, missed }: { readonly signal: AbortSignal; readonly missed?: (range: OffsetRange) => void },
  ): AsyncIterable<StoredRecord> {
    const row = this.#topicRow(topic)
    // An offset that retention has deleted stands for the first one that is left.
    const slice = this.#db.prepare<RecordRow, [number, number, number]>(
      `SELECT ${RECORD_COLUMNS} FROM ${recordsTable(row.id)}
       WHERE offset >= ? AND offset < ? ORDER BY offset LIMIT ?`,
    )
    try {
      for (const { partition, first, end } of ranges) {
        let next = first
        while (!signal.aborted && next < end) {
          const rows = slice.all(next, Math.min(end, Number.MAX_SAFE_INTEGER), SLICE_RECORDS)
          const there = rows[0]?.offset ?? end
          if (next < there && Number.isFinite(there)) missed?.({ partition, first: next, end: there })
          for (const record of rows) {
            yield toStored(topic, record)
            if (signal.aborted) return
            next = record.offset + 1
          }
          if (rows.length > 0) continue
          if (Number.isFinite(end)) break
          await pause(POLL_MS, signal)
        }
      }
    } finally {
      slice.finalize()
    }
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  #topicRows(): TopicRow[] {
    // the writer may be about to create them
    const made = this.#db.query("SELECT 1 FROM sqlite_schema WHERE name = 'topics'").get() !== null
    return made ? this.#db.query<TopicRow, []>("SELECT * FROM topics ORDER BY name").all() : []
  }

  #topicRow(topic: string): TopicRow {
    const rows = this.#topicRows()
    const row = rows.find(({ name }) => name === topic)
    if (row !== undefined) return row
    const names = rows.map(({ name }) => name)
    throw new HooklineError(
      "no_topic",
      `The log has no topic ${topic}${suggest(topic, names, (name) => name) || "; it has none at all"}`,
    )
  }
}
