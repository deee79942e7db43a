import { Database, type Statement } from "bun:sqlite"
import { pause } from "../../clock/clock.ts"
import { suggest } from "../../config/file/nearest.ts"
import { HooklineError } from "../../errors.ts"
import { exists } from "../../process/paths.ts"
import type { LogReader, OffsetRange, StoredRecord, TimeRange, TopicInfo, TopicRetention } from "../broker.ts"
import { mergeByTime } from "../merge-by-time.ts"
import {
  checkIsKind,
  describeFailure,
  isDamage,
  logIn,
  makeTemporariesInMemory,
  type DatabaseLocation,
} from "../../storage/database-file.ts"
import { DamagedRecords, describeDamage, isSound, readBeforeDamage, UNKNOWN_END } from "./damage.ts"
import {
  endOf,
  firstAt,
  partitionRow,
  partitionRows,
  readIdentity,
  recordsTable,
  type PartitionRow,
  RECORD_COLUMNS,
  toStored,
  type RecordRow,
} from "./log-tables.ts"

/** Pause between two lookups of a reader that follows: they read pages in memory. */
const POLL_MS = 50
/** No transaction is open between slices, so that the writer's WAL can be reset. */
const SLICE_RECORDS = 64
/** How long locks are waited for that are held while the file is recovered or closed. */
const BUSY_MS = 5000

/**
 * The reader of a log that any process may be writing.
 *
 * @throws HooklineError `no_log` if it is missing, `no_input` if it is unreadable
 */
export function openEmbeddedReader(directory: string, kept: Kept = {}): LogReader {
  const location = logIn(directory)
  if (!exists(location.file))
    throw new HooklineError("no_log", `There is no log in ${directory}: ${location.file} does not exist`)
  return new EmbeddedReader(location, openForReading(location), kept)
}

/** The limits of its connection. */
type Kept = { readonly [key in "retention" | "retention_bytes"]?: number | undefined }

/** Opens a log's file. @throws HooklineError `no_input` if it is another kind of file, or unreadable */
export function openForReading(location: DatabaseLocation): Database {
  let db: Database | undefined
  try {
    // Read-only, it never checkpoints when it closes: only the writer does, once the WAL is known to be durable.
    db = new Database(location.file, { readonly: true })
    db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    makeTemporariesInMemory(db)
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
  readonly #location: DatabaseLocation
  readonly #kept: Kept

  /** @throws HooklineError `no_input` */
  constructor(location: DatabaseLocation, db = openForReading(location), kept: Kept = {}) {
    this.#location = location
    this.#db = db
    this.#kept = kept
  }

  async topics(): Promise<TopicInfo[]> {
    return this.#db.transaction(() => {
      const rows = Map.groupBy(partitionRows(this.#db), ({ name }) => name)
      return [...rows].map(([topic, partitions]) => {
        const ends = partitions.map((row) => endOf(this.#db, row))
        return {
          topic,
          partitions: partitions.length,
          records: partitions.reduce((sum, row, at) => sum + ends[at]!.offset - row.first_offset, 0),
          bytes: partitions.reduce((sum, row, at) => sum + ends[at]!.position - row.first_position, 0),
        }
      })
    })()
  }

  async clusterId(): Promise<string | undefined> {
    return readIdentity(this.#db)
  }

  async ranges(topic: string, { sinceMs, untilMs }: TimeRange = {}): Promise<OffsetRange[]> {
    return this.#db.transaction(() =>
      this.#partitionsOf(topic).map((row) => {
        const whole = { first: row.first_offset, end: endOf(this.#db, row).offset }
        const first = sinceMs === undefined ? whole.first : firstAt(this.#db, row, whole, sinceMs)
        const end = untilMs === undefined ? whole.end : firstAt(this.#db, row, whole, untilMs)
        return { partition: row.partition, first, end: Math.max(first, end) }
      }),
    )()
  }

  async retention(topic: string): Promise<TopicRetention> {
    const { retention: ms = Number.POSITIVE_INFINITY, retention_bytes: bytes = Number.POSITIVE_INFINITY } =
      this.#kept
    const all = bytes === Number.POSITIVE_INFINITY ? [] : await this.topics()
    const held = all.reduce((sum, it) => sum + it.bytes!, 0)
    return { ms, bytes, held: new Map(this.#partitionsOf(topic).map(({ partition }) => [partition, held])) }
  }

  async *read(
    topic: string,
    ranges: readonly OffsetRange[],
    { signal, missed }: { readonly signal: AbortSignal; readonly missed?: (range: OffsetRange) => void },
  ): AsyncIterable<StoredRecord> {
    const rows = this.#partitionsOf(topic)
    const known = ranges.filter(({ partition }) => partition < rows.length)
    const statements = known.map(({ partition }) => this.#slices(rows[partition]!))
    const readings = known.map((range, at) => {
      const row = rows[range.partition]!
      return new Reading(topic, range, statements[at]!, (from) => this.#readBeforeDamage(row, from), missed)
    })
    try {
      if (known.some(({ end }) => !Number.isFinite(end))) yield* follow(readings, signal)
      else if (readings.length === 1) yield* readings[0]!.whole(signal)
      else yield* mergeByTime(readings.map((reading) => reading.whole(signal)))
    } finally {
      for (const statement of statements) statement.finalize()
    }
  }

  async close(): Promise<void> {
    this.#db.close()
  }

  #slices(row: PartitionRow): Slices {
    // An offset that retention has deleted stands for the first one that is left.
    return this.#db.prepare(
      `SELECT ${RECORD_COLUMNS} FROM ${recordsTable(row)}
       WHERE offset >= ? AND offset < ? ORDER BY offset LIMIT ?`,
    )
  }

  /** @throws HooklineError `no_input` if the first record of the range is damaged */
  #readBeforeDamage(row: PartitionRow, range: OffsetRange): readonly RecordRow[] {
    try {
      const { first_offset: firstOffset } = partitionRow(this.#db, row.id, row.partition)!
      return readBeforeDamage(this.#db, recordsTable(row), range, firstOffset)
    } catch (cause) {
      if (!(cause instanceof DamagedRecords)) throw cause
      const { file, remedy } = this.#location
      const { end } = cause.gap
      const next =
        end < range.end ? `; hookline tail --offset ${row.partition}:${end} continues after them` : ""
      const what = describeDamage({ topic: row.name, partition: row.partition, ...cause.gap })
      throw new HooklineError("no_input", `${file} is damaged (${what})${next}; ${remedy}`, { cause })
    }
  }

  /** By number. */
  #partitionsOf(topic: string): PartitionRow[] {
    const rows = partitionRows(this.#db, topic)
    if (rows.length > 0) return rows
    const names = [...new Set(partitionRows(this.#db).map(({ name }) => name))]
    throw new HooklineError(
      "no_topic",
      `The log has no topic ${topic}${suggest(topic, names, (name) => name) || "; it has none at all"}`,
    )
  }
}

type Slices = Statement<RecordRow, [number, number, number]>

/** A partition and how far it was read. */
class Reading {
  readonly #topic: string
  readonly #range: OffsetRange
  readonly #slices: Slices
  readonly #beforeDamage: (range: OffsetRange) => readonly RecordRow[]
  readonly #missed: ((range: OffsetRange) => void) | undefined
  #next: number

  constructor(
    topic: string,
    range: OffsetRange,
    slices: Slices,
    beforeDamage: (range: OffsetRange) => readonly RecordRow[],
    missed?: (range: OffsetRange) => void,
  ) {
    this.#topic = topic
    this.#range = range
    this.#slices = slices
    this.#beforeDamage = beforeDamage
    this.#missed = missed
    this.#next = range.first
  }

  get isDone(): boolean {
    return this.#next >= this.#range.end
  }

  /** Records up to a slice; without any a range that ends is read. */
  *slice(signal: AbortSignal): Generator<StoredRecord> {
    const { partition, end } = this.#range
    const rows = this.#rows(Math.min(end, UNKNOWN_END))
    const there = rows[0]?.offset ?? end
    if (this.#next < there && Number.isFinite(there))
      this.#missed?.({ partition, first: this.#next, end: there })
    for (const row of rows) {
      yield toStored(this.#topic, row, partition)
      if (signal.aborted) return
      this.#next = row.offset + 1
    }
    if (rows.length === 0 && Number.isFinite(end)) this.#next = end
  }

  #rows(end: number): readonly RecordRow[] {
    const first = this.#next
    try {
      const rows = this.#slices.all(first, end, SLICE_RECORDS)
      if (rows.every((row, at) => row.offset === first + at && isSound(row, first))) return rows
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    return this.#beforeDamage({ ...this.#range, first, end })
  }

  /** To the end. */
  async *whole(signal: AbortSignal): AsyncGenerator<StoredRecord> {
    while (!signal.aborted && !this.isDone) yield* this.slice(signal)
  }
}

/** Reads slices of each in turn, and waits for more where there was none. */
async function* follow(readings: readonly Reading[], signal: AbortSignal): AsyncGenerator<StoredRecord> {
  while (!signal.aborted && readings.some((reading) => !reading.isDone)) {
    let isIdle = true
    for (const reading of readings) {
      if (reading.isDone) continue
      for (const record of reading.slice(signal)) {
        isIdle = false
        yield record
      }
      if (signal.aborted) return
    }
    if (isIdle) await pause(POLL_MS, signal)
  }
}
