import { Database } from "bun:sqlite"
import type { Offsets, UnreadRecords } from "../../kafka-listener/log.ts"
import { DatabaseCopy } from "../../storage/database-copy.ts"
import { DamagedFile, salvage } from "../../storage/damage.ts"
import { logIn } from "../../storage/database-file.ts"
import { createGaps, describeDamage, firstOffsetOf, scan } from "./damage.ts"
import { prepareBounds, saveBounds, seedOf } from "./log-bounds.ts"
import { embeddedLayout } from "./embedded-layout.ts"
import { countColumns, createRecordsTable, hasChecksums, recordsTable, type PlacedRow } from "./log-tables.ts"
import { endOrUnknown, UNKNOWN_END } from "./partition-end.ts"
import { listPartitions, moveFirst, partitionRows, type PartitionRow } from "./partition-rows.ts"
import { sizeOfRow } from "./stored-rows.ts"

/*
 * Copies an embedded log, which a process may be writing: the same id, topics, offsets, times and dedupe keys.
 *
 * `begin` fixes the ends of the partitions and copies the rest; then records up to those ends, which never change, are read a
 * few at a time, so that the writer's WAL can be reset meanwhile. Of what retention deletes before it is read, the copy
 * begins later.
 */

/** A partition with records to be copied. */
interface Range extends PartitionRow, Offsets {
  readonly bytes: number
}

const isRecords = (table: string): boolean => table.startsWith("records_")

/** The lists of partitions, which stand for each other. */
const isList = (table: string): boolean => ["topics", "partitions", "bounds"].includes(table)

export class LogCopy implements Disposable {
  readonly #copy: DatabaseCopy
  readonly #kind: "backup" | "rescue"
  #ranges: readonly Range[] = []
  /** Tables that are damaged, and were left out: of a rescue, none without which the rest is of no use. */
  readonly left: string[] = []
  /** Size of the keys, values and headers. */
  bytes = 0
  records = 0

  /** @param kind of a rescue, damage is left out @throws HooklineError `no_input` */
  constructor(directory: string, file: string, kind: "backup" | "rescue") {
    this.#kind = kind
    const copy = (this.#copy = new DatabaseCopy(logIn(directory), file))
    if (kind === "rescue") for (const db of [copy.db, copy.reader]) salvage(db)
  }

  get source(): DatabaseCopy {
    return this.#copy
  }

  /** Copies what is not records. Call it after `begin` of the source of a backup, which it ends. */
  copyTables(): void {
    const copy = this.#copy
    const damaged = (table: string, error: unknown): void => {
      if (table === "identity") throw error
      if (!isList(table)) this.left.push(table)
    }
    const isCopied = (name: string): boolean => !isRecords(name)
    if (this.#kind === "backup") copy.copyTables(isCopied)
    else copy.copyTables(isCopied, { damaged, descriptions: describeTables() })
    this.#ranges = copy.reading(() => partitionRows(copy.db).map((row) => rangeOf(copy.db, row)))
    copy.end()
    for (const range of this.#ranges)
      createRecordsTable(copy.db, recordsTable(range), countColumns(copy.reader, range))
    if (this.#kind === "rescue") listPartitions(copy.db, this.#ranges)
    this.bytes = this.#ranges.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /**
   * Copies the records.
   *
   * @param progressed called with bytes
   * @param lost called with records that can't be read
   */
  copyRecords(progressed: (bytes: number) => void, lost: (records: UnreadRecords) => void): void {
    for (const range of this.#ranges) {
      const { db } = this.#copy
      db.run("BEGIN")
      this.#copyPartition(range, progressed, (gap) => {
        lost({ topic: range.name, partition: range.partition, ...gap })
        createGaps(db)
        db.query("INSERT INTO gaps VALUES (?, ?, ?)").run(recordsTable(range), gap.first, gap.end)
      })
      db.run("COMMIT")
    }
  }

  /** Closes the copy, which is durable then. */
  close(): void {
    this.#copy.close()
  }

  [Symbol.dispose](): void {
    this.#copy[Symbol.dispose]()
  }

  #copyPartition(range: Range, progressed: (bytes: number) => void, lost: (gap: Offsets) => void): void {
    const { db, reader } = this.#copy
    const columns = countColumns(db, range)
    const insert = db.query(
      `INSERT INTO main.${recordsTable(range)} VALUES (${Array(columns).fill("?").join(", ")})`,
    )
    let first: PlacedRow | undefined
    let last: PlacedRow | undefined
    let position = range.first_position
    // of a rescue, nothing is deleted meanwhile
    const firstOffset = this.#kind === "backup" ? firstOffsetOf(reader, range) : undefined
    for (const found of scan(reader, range, range, firstOffset)) {
      if ("gap" in found) {
        lost(found.gap)
        continue
      }
      first ??= found.rows[0]
      for (const { offset, end_position: end, timestamp, key, headers, value, crc, clock } of found.rows)
        insert.run(...[offset, end, timestamp, key, headers, value, crc, clock].slice(0, columns))
      this.records += found.rows.length
      last = found.rows.at(-1)!
      progressed(last.end_position - position)
      position = last.end_position
    }
    const end = range.end === UNKNOWN_END ? (last?.offset ?? range.first - 1) + 1 : range.end
    const endPosition = Math.max(range.first_position + range.bytes, position)
    this.#saveBounds(range, { end, endPosition, first })
  }

  /** @param first the first record; undefined: all of them were deleted, or can't be read */
  #saveBounds(
    range: Range,
    { end, endPosition, first }: { end: number; endPosition: number; first: PlacedRow | undefined },
  ): void {
    const { db } = this.#copy
    const offset = first?.offset ?? end
    const position = first === undefined ? endPosition : first.end_position - sizeOfRow(first)
    if (offset > range.first) moveFirst(db, range, offset, position)
    if (range.bounds === undefined) return
    using to = prepareBounds(db)
    saveBounds(to, range, seedOf(range.name), {
      first_offset: offset,
      first_position: position,
      next_offset: end,
      end_position: endPosition,
      // without them all that can be read is taken
      unchecked: range.bounds !== "damaged" ? range.bounds.unchecked : hasChecksums(db, range) ? end : null,
    })
  }
}

/** The tables as they are created: a description in a damaged file may name a column otherwise, and still be one. */
function describeTables(): ReadonlyMap<string, string> {
  using db = new Database(":memory:")
  embeddedLayout().createTables(db)
  createGaps(db)
  const all = db.query<{ name: string; sql: string }, []>(
    "SELECT name, sql FROM sqlite_schema WHERE type = 'table'",
  )
  return new Map(all.all().map(({ name, sql }) => [name, sql]))
}

/** What is to be copied, as the snapshot of the source has it. */
function rangeOf(db: Database, row: PartitionRow): Range {
  const { first_offset: first, first_position: position } = row
  const end = endOrUnknown(db, row, "source")
  return { ...row, first, end: end.offset, bytes: end.position - position }
}

/** For a backup, which has to be whole. @throws DamagedFile */
export const refuseDamage =
  (directory: string) =>
  (records: UnreadRecords): never => {
    throw new DamagedFile(logIn(directory), describeDamage(records))
  }
