import { Database } from "bun:sqlite"
import { existsSync } from "node:fs"
import { pause } from "../../clock.ts"
import { suggest } from "../../config/file/nearest.ts"
import { HooklineError } from "../../errors.ts"
import type { LogReader, ReadFrom, StoredRecord, TopicInfo } from "../broker.ts"
import { checkIsKind, describeFailure, logIn, type DatabaseLocation } from "../../storage/database-file.ts"
import { recordsTable, type TopicRow, RECORD_COLUMNS, toStored, type RecordRow } from "./log-tables.ts"

/** How often a reader that follows looks for new records: one lookup in pages that are in memory. */
const POLL_MS = 50
/** Records read at once. Between slices no transaction is open, so that the writer's WAL can start over. */
const SLICE_RECORDS = 64
/** How long a reader waits for a lock that others hold while they recover or close the file. */
const BUSY_MS = 5000

/**
 * Opens the log in a directory for reading. It may be written to meanwhile, by this process or another one.
 *
 * @throws HooklineError `no_input` when there is no log, or it can't be read
 */
export function openEmbeddedReader(directory: string): LogReader {
  const location = logIn(directory)
  if (!existsSync(location.file))
    throw new HooklineError("no_input", `There is no log in ${directory}: ${location.file} does not exist`)
  return new EmbeddedReader(openForReading(location))
}

/**
 * Opens a log's file for reading.
 *
 * @throws HooklineError `no_input` when it is none or can't be read
 */
export function openForReading(location: DatabaseLocation): Database {
  let db: Database | undefined
  try {
    // Read-only: it shares the WAL's index, and recovers it when the writer was killed, but never checkpoints as it
    // closes: that is for the writer to do, once the WAL is known to be durable.
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

/** The reading side of a log's open file, which it closes. */
export class EmbeddedReader implements LogReader {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async topics(): Promise<TopicInfo[]> {
    return this.#db.transaction(() =>
      this.#topicRows().map((row) => {
        const end = this.#endOf(row)
        return {
          topic: row.name,
          partitions: 1,
          records: end.offset - row.first_offset,
          bytes: end.position - row.first_position,
        }
      }),
    )()
  }

  async *read(
    topic: string,
    { from, follow, signal }: { from: ReadFrom; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<StoredRecord> {
    const row = this.#topicRow(topic)
    const end = this.#endOf(row).offset
    const until = follow ? Number.MAX_SAFE_INTEGER : end
    // An offset that retention has deleted stands for the first one that is left.
    const slice = this.#db.prepare<RecordRow, [number, number, number]>(
      `SELECT ${RECORD_COLUMNS} FROM ${recordsTable(row.id)}
       WHERE offset >= ? AND offset < ? ORDER BY offset LIMIT ?`,
    )
    try {
      let next = from === "beginning" ? 0 : from === "end" ? end : from
      while (!signal.aborted) {
        const rows = slice.all(next, until, SLICE_RECORDS)
        for (const record of rows) {
          yield toStored(topic, record)
          if (signal.aborted) return
          next = record.offset + 1
        }
        if (rows.length > 0) continue
        if (!follow) return
        await pause(POLL_MS, signal)
      }
    } finally {
      slice.finalize()
    }
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  #topicRows(): TopicRow[] {
    // A log that was just made may not have its tables yet.
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

  /** Offset and position of the record that will come next. */
  #endOf(row: TopicRow): { offset: number; position: number } {
    const last = this.#db
      .query<{ offset: number; end_position: number }, []>(
        `SELECT offset, end_position FROM ${recordsTable(row.id)} ORDER BY offset DESC LIMIT 1`,
      )
      .get()
    return last === null
      ? { offset: row.first_offset, position: row.first_position }
      : { offset: last.offset + 1, position: last.end_position }
  }
}
