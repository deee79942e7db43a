import type { Database } from "bun:sqlite"
import type { Offsets, UnreadRecords } from "../../kafka-listener/log.ts"
import { DatabaseCopy } from "../../storage/database-copy.ts"
import { DamagedFile, isDamage, logIn } from "../../storage/database-file.ts"
import { createGaps, describeDamage, scan, sizeOfRow, UNKNOWN_END, type PlacedRow } from "./damage.ts"
import { moveFirst, partitionRows, recordsTable, type PartitionRow } from "./log-tables.ts"

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

export class LogCopy implements Disposable {
  readonly #copy: DatabaseCopy
  readonly #kind: "backup" | "rescue"
  #ranges: readonly Range[] = []
  /** Size of the keys, values and headers. */
  bytes = 0
  records = 0

  /** @param kind of a rescue, damage is left out @throws HooklineError `no_input` */
  constructor(directory: string, file: string, kind: "backup" | "rescue") {
    this.#kind = kind
    this.#copy = new DatabaseCopy(logIn(directory), file)
  }

  get source(): DatabaseCopy {
    return this.#copy
  }

  /** Copies what is not records. Call it after `begin` of the source, which it ends. */
  copyTables(): void {
    const copy = this.#copy
    copy.copyTables((name) => !isRecords(name))
    const rows = partitionRows(copy.db)
    if (this.#kind === "backup")
      this.#ranges = copy.reading(() =>
        rows.map((row) => rangeOf(copy.db, `source.${recordsTable(row)}`, row)),
      )
    copy.end()
    // a damaged page would end the transaction
    if (this.#kind === "rescue")
      this.#ranges = rows.map((row) => {
        try {
          return rangeOf(copy.reader, recordsTable(row), row)
        } catch (error) {
          if (!isDamage(error)) throw error
          return { ...row, first: row.first_offset, end: UNKNOWN_END, bytes: 0 }
        }
      })
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
    const { db } = this.#copy
    const insert = db.query(`INSERT INTO main.${recordsTable(range)} VALUES (?, ?, ?, ?, ?, ?)`)
    let first: PlacedRow | undefined
    let position = range.first_position
    for (const found of scan(this.#copy.reader, recordsTable(range), range)) {
      if ("gap" in found) {
        lost(found.gap)
        continue
      }
      first ??= found.rows[0]
      for (const { offset, end_position: end, timestamp, key, headers, value } of found.rows)
        insert.run(offset, end, timestamp, key, headers, value)
      this.records += found.rows.length
      const end = found.rows.at(-1)!.end_position
      progressed(end - position)
      position = end
    }
    if (first === undefined) {
      // all of them were deleted, or can't be read
      if (range.end < UNKNOWN_END) moveFirst(db, range, range.end, range.first_position + range.bytes)
    } else if (first.offset > range.first)
      moveFirst(db, range, first.offset, first.end_position - sizeOfRow(first))
  }
}

function rangeOf(db: Database, table: string, row: PartitionRow): Range {
  const { first_offset: first, first_position: position } = row
  const last = db
    .query<Pick<PlacedRow, "offset" | "end_position">, []>(
      `SELECT offset, end_position FROM ${table} ORDER BY offset DESC LIMIT 1`,
    )
    .get()
  if (last === null) return { ...row, first, end: first, bytes: 0 }
  return { ...row, first, end: last.offset + 1, bytes: last.end_position - position }
}

/** For a backup, which has to be whole. @throws DamagedFile */
export const refuseDamage =
  (directory: string) =>
  (records: UnreadRecords): never => {
    throw new DamagedFile(logIn(directory), describeDamage(records))
  }
