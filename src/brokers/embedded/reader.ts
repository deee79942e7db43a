import type { Database } from "bun:sqlite"
import { pause } from "../../clock/clock.ts"
import { suggest } from "../../words.ts"
import { HooklineError } from "../../errors.ts"
import { exists } from "../../process/paths.ts"
import type { LogReader, OffsetRange, StoredRecord, TimeRange, TopicInfo, TopicRetention } from "../broker.ts"
import { mergeByTime } from "../merge-by-time.ts"
import { Unreadable } from "../../kafka-listener/log.ts"
import { Damage, isDamage, ReadError } from "../../storage/damage.ts"
import { describeFailure, logIn, openForReading, type DatabaseLocation } from "../../storage/database-file.ts"
import { whyNotRead } from "../../storage/recovery.ts"
import { allGaps, describeDamage, readBeforeDamage } from "./damage.ts"
import { firstAt } from "./first-at.ts"
import type { PartitionEpochs } from "../log-place.ts"
import { EpochsRead } from "./log-epochs.ts"
import { readIdentity, type PlacedRow, recordsTable, toStored } from "./log-tables.ts"
import { StoredRows } from "./stored-rows.ts"
import { endOrUnknown, UNKNOWN_END, endOf } from "./partition-end.ts"
import { partitionRow, partitionRows, type PartitionRow } from "./partition-rows.ts"

/** Pause between two lookups of a reader that follows: they read pages in memory. */
const POLL_MS = 50
/** No transaction is open between slices, so that the writer's WAL can be reset. */
const SLICE_RECORDS = 64

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

/** Owns the file that it reads. */
export class EmbeddedReader implements LogReader {
  #db: Database
  readonly #location: DatabaseLocation
  readonly #kept: Kept
  #epochs: EpochsRead
  /** Its disk did not read the file: the next call opens it anew. */
  #isUnread = false

  /** @throws HooklineError `no_input` */
  constructor(location: DatabaseLocation, db = openForReading(location), kept: Kept = {}) {
    this.#location = location
    this.#db = db
    this.#kept = kept
    this.#epochs = new EpochsRead(db)
  }

  async topics(): Promise<TopicInfo[]> {
    return this.#atOnce(() => {
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
    })
  }

  async clusterId(): Promise<string | undefined> {
    this.#reopen()
    return readIdentity(this.#db)
  }

  epochs(topic: string, partition: number): PartitionEpochs {
    const row = this.#partitionsOf(topic)[partition]!
    const now = (): PartitionEpochs => this.#epochs.now.of(recordsTable(row))
    return {
      before: (offset) => now().before(offset),
      has: (epoch) => now().has(epoch),
      endOf: (epoch) => now().endOf(epoch),
    }
  }

  partitions(): ReturnType<NonNullable<LogReader["partitions"]>> {
    return this.#atOnce(() => {
      const clusterId = readIdentity(this.#db)
      const epochs = this.#epochs.now
      const rows = partitionRows(this.#db)
      const all = rows.map((row) => ({
        topic: row.name,
        partition: row.partition,
        clusterId,
        end: endOrUnknown(this.#db, row).offset,
        epochs: epochs.of(recordsTable(row)),
      }))
      const byTable = new Map(rows.map((row) => [recordsTable(row), row]))
      const gaps = allGaps(this.#db).flatMap(({ records, first, end }) => {
        const row = byTable.get(records)
        return row === undefined ? [] : [{ topic: row.name, partition: row.partition, first, end }]
      })
      return { all, gaps }
    })
  }

  async ranges(topic: string, { sinceMs, untilMs }: TimeRange = {}): Promise<OffsetRange[]> {
    return this.#atOnce(() =>
      this.#partitionsOf(topic).map((row) => {
        const whole = { first: row.first_offset, end: endOrUnknown(this.#db, row).offset }
        const first = sinceMs === undefined ? whole.first : firstAt(this.#db, row, whole, sinceMs)
        const end = untilMs === undefined ? whole.end : firstAt(this.#db, row, whole, untilMs)
        return { partition: row.partition, first, end: Math.max(first, end) }
      }),
    )
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
    this.#reopen()
    const rows = this.#partitionsOf(topic)
    const positions = ranges
      .filter(({ partition }) => partition < rows.length)
      .map(({ partition, first, end }): Position => {
        const row = rows[partition]!
        return { row, next: first, end, stored: this.#atOnce(() => new StoredRows(this.#db, row)) }
      })
    const slice = (position: Position): Generator<StoredRecord> => this.#slice(position, signal, missed)
    const whole = async function* (position: Position): AsyncGenerator<StoredRecord> {
      while (!signal.aborted && position.next < position.end) yield* slice(position)
    }
    try {
      if (positions.some(({ end }) => !Number.isFinite(end))) yield* follow(positions, slice, signal)
      else if (positions.length === 1) yield* whole(positions[0]!)
      else yield* mergeByTime(positions.map(whole))
    } catch (error) {
      this.#isUnread ||= error instanceof ReadError
      throw error
    } finally {
      for (const { stored } of positions) stored[Symbol.dispose]()
    }
  }

  async close(): Promise<void> {
    this.#epochs.close()
    this.#db.close()
  }

  /** Yields the records up to a slice; without any a range that ends is read. */
  *#slice(
    position: Position,
    signal: AbortSignal,
    missed: ((range: OffsetRange) => void) | undefined,
  ): Generator<StoredRecord> {
    const { row, end, next } = position
    const { name, partition } = row
    const records = this.#records(position)
    const there = records[0]?.offset ?? end
    if (next < there && Number.isFinite(there)) missed?.({ partition, first: next, end: there })
    for (const record of records) {
      yield toStored(name, record, partition)
      if (signal.aborted) return
      position.next = record.offset + 1
    }
    if (records.length === 0 && Number.isFinite(end)) position.next = end
  }

  /**
   * Some records from a position on. An offset that retention has deleted stands for the first one that is left.
   *
   * @throws HooklineError `no_input` if the first record is damaged
   */
  #records({ row, next: first, end: wanted, stored }: Position): readonly PlacedRow[] {
    const rows = stored.read(first, Math.min(wanted, UNKNOWN_END), SLICE_RECORDS)
    const isNext = rows?.every(({ offset }, at) => offset === first + at) === true
    if (isNext && rows!.length > 0) return rows!
    const now = partitionRow(this.#db, row.id, row.partition)!
    const end = Math.min(wanted, endOrUnknown(this.#db, now).offset)
    if (first >= end) return []
    try {
      return readBeforeDamage(this.#db, now, { first, end })
    } catch (cause) {
      throw cause instanceof Unreadable ? this.#damaged(row, cause, end) : cause
    }
  }

  /** @param end of what was to be read */
  #damaged({ name: topic, partition }: PartitionRow, cause: Unreadable, end: number): HooklineError {
    const { file, remedy } = this.#location
    const unread = whyNotRead(new Damage(cause.message), this.#db)
    if (unread !== undefined) return unread
    const { records } = cause
    const next =
      records.end < end ? `; hookline tail --offset ${partition}:${records.end} continues after them` : ""
    const what = describeDamage({ topic, partition, ...records })
    return new HooklineError("no_input", `${file} is damaged (${what})${next}; ${remedy}`, { cause })
  }

  #reopen(): void {
    if (!this.#isUnread) return
    const db = openForReading(this.#location)
    this.#epochs.close()
    this.#db.close()
    this.#db = db
    this.#epochs = new EpochsRead(db)
    this.#isUnread = false
  }

  /** Reads as of one moment. @throws HooklineError `no_input` if it meets damage */
  #atOnce<T>(read: () => T): T {
    this.#reopen()
    try {
      return this.#db.transaction(read)()
    } catch (error) {
      const cause = whyNotRead(error, this.#db) ?? error
      this.#isUnread = cause instanceof ReadError
      if (!isDamage(cause)) throw cause
      throw new HooklineError("no_input", describeFailure(cause, this.#location), { cause })
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

/** A partition and how far it was read. */
interface Position {
  readonly row: PartitionRow
  next: number
  /** Reading ends before this offset. */
  readonly end: number
  readonly stored: StoredRows
}

/** Reads slices of each in turn, and waits for more where there was none. */
async function* follow(
  positions: readonly Position[],
  slice: (position: Position) => Generator<StoredRecord>,
  signal: AbortSignal,
): AsyncGenerator<StoredRecord> {
  const isOpen = ({ next, end }: Position): boolean => next < end
  while (!signal.aborted && positions.some(isOpen)) {
    let isIdle = true
    for (const position of positions.filter(isOpen)) {
      for (const record of slice(position)) {
        isIdle = false
        yield record
      }
      if (signal.aborted) return
    }
    if (isIdle) await pause(POLL_MS, signal)
  }
}
