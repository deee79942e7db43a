import type { Database, Statement } from "bun:sqlite"
import { meetsDamage, unlessDamaged } from "../../storage/damage.ts"
import { recordColumns, recordsTable, type PlacedRow, type RecordRow } from "./log-tables.ts"
import { checksumOf, type PlaceOfRecords } from "./record-checksum.ts"
import { type PartitionRow } from "./partition-rows.ts"

/*
 * The records of a partition as far as they are what was written, which their checksums tell. SQLite refuses a page whose
 * structure is wrong, and reads whatever else there is: rows of damaged cells, others at their offsets, or none.
 *
 * A search for an offset compares those of the page that it leads to, damaged ones too, and may miss a record that is whole.
 * So `salvage` goes through the rows as they lie in the pages, from both sides of the damage, and over those that can't be
 * read.
 */

/** Bytes of a record in its partition. */
export const sizeOfRow = ({ key, headers, value }: RecordRow): number =>
  value.length + (key?.length ?? 0) + (headers?.length ?? 0)

const isBytes = (value: unknown): boolean => value instanceof Uint8Array

/** Where records are, and from which offset on they have checksums. */
export interface SourceOfRows extends PlaceOfRecords {
  readonly unchecked: number
}

export function sourceOf({ id, partition, bounds }: PartitionRow): SourceOfRows {
  // without bounds those that have one are checked
  const unchecked = bounds === undefined || bounds === "damaged" ? null : bounds.unchecked
  return { id, partition, unchecked: unchecked ?? Number.POSITIVE_INFINITY }
}

/** Whether a row of a partition read in order is what was written; not the one that damage made of it. */
export function isSound(source: SourceOfRows, row: PlacedRow, from: number): boolean {
  const { offset, timestamp, key, headers, value, crc } = row
  const isRecord =
    offset >= from &&
    typeof timestamp === "number" &&
    isBytes(value) &&
    (key === null || isBytes(key)) &&
    (headers === null || isBytes(headers))
  if (!isRecord) return false
  return crc === null ? offset < source.unchecked : crc === checksumOf(source, row)
}

/** About as many are salvaged at a time. */
const SOME_RECORDS = 64
const SOME_BYTES = 16 * 1024 * 1024
/** Rows before the damage from which it is approached: more than a page has of all but the smallest. */
const APPROACH = 512
/** Rows in succession that are none of the records. */
const MOST_STRANGE = 2048
/** So many offsets after an unreadable one are tried one by one; then the steps grow with the distance. */
const STEPS = 1024

type Slices = Statement<PlacedRow, [number, number, number]>

export class StoredRows implements Disposable {
  readonly #db: Database
  readonly #source: SourceOfRows
  readonly #table: string
  readonly #columns: string
  readonly #slices: Slices

  /** @param schema `source` is that of a database-copy */
  constructor(db: Database, row: PartitionRow, schema: "main" | "source" = "main") {
    this.#db = db
    this.#source = sourceOf(row)
    this.#table = `${schema}.${recordsTable(row)}`
    this.#columns = recordColumns(db, row)
    this.#slices = db.prepare(
      `SELECT ${this.#columns} FROM ${this.#table} WHERE offset >= ? AND offset < ? ORDER BY offset LIMIT ?`,
    )
  }

  /** The first records of a range, in order; undefined: not all of them are what was written. @param before the one before */
  read(
    from: number,
    end: number,
    limit = SOME_RECORDS,
    before?: PlacedRow,
  ): readonly PlacedRow[] | undefined {
    const rows = unlessDamaged(this.#db, () => this.#slices.all(from, end, limit))
    const isWhole = rows?.every((row, at) => {
      const last = rows[at - 1] ?? before
      const least = at === 0 ? from : rows[at - 1]!.offset + 1
      return isSound(this.#source, row, least) && follows(row, last)
    })
    return isWhole === true ? rows : undefined
  }

  /** The row that comes last, if it is what was written. */
  last(): PlacedRow | undefined {
    using rows = this.#db.prepare<PlacedRow, []>(
      `SELECT ${this.#columns} FROM ${this.#table} ORDER BY offset DESC LIMIT 1`,
    )
    const row = unlessDamaged(this.#db, () => rows.get()) ?? undefined
    return row !== undefined && isSound(this.#source, row, 0) ? row : undefined
  }

  /** Some of the records of a range that are whole, in order, and none between them that is; none: there is no other. */
  salvage(from: number, end: number): readonly PlacedRow[] {
    let after: PlacedRow[] = []
    for (const start of [from - APPROACH, from - 1]) {
      if (after.length > 0) break
      for (const row of this.#whole(">=", Math.max(0, start))) {
        if (row.offset >= from && row.offset < end) after.push(row)
        if (row.offset >= end || after.length >= SOME_RECORDS) break
      }
    }
    const first = after.reduce((least, { offset }) => Math.min(least, offset), end)
    // those before it that no search has led to
    const before: PlacedRow[] = []
    let bytes = 0
    const last = first < end ? first - 1 : Math.min(this.#firstReadable(from, end), end - 1)
    for (const row of this.#whole("<=", last)) {
      if (row.offset < from) break
      if (row.offset >= end) continue
      bytes += sizeOfRow(row)
      before.push(row)
      // the others are those of the next call
      if (bytes > SOME_BYTES) {
        after = []
        bytes -= sizeOfRow(before.shift()!)
      }
    }
    const found = new Map([...before, ...after].map((row) => [row.offset, row]))
    return [...found.values()].toSorted((a, b) => a.offset - b.offset)
  }

  /** The records from an offset on, or back, as they lie in the pages. */
  *#whole(direction: ">=" | "<=", from: number): Generator<PlacedRow> {
    let strange = 0
    for (const row of this.#walk(direction, from)) {
      const isWhole = isSound(this.#source, row, 0)
      strange = isWhole ? 0 : strange + 1
      if (isWhole) yield row
      else if (strange > MOST_STRANGE) return
    }
  }

  [Symbol.dispose](): void {
    this.#slices.finalize()
  }

  /** The rows from an offset on, or back, as they lie in the pages, up to a page that can't be read. */
  *#walk(direction: ">=" | "<=", from: number): Generator<PlacedRow> {
    const order = `FROM ${this.#table} WHERE offset ${direction} ? ORDER BY offset ${direction === ">=" ? "ASC" : "DESC"}`
    using rows = this.#db.prepare<PlacedRow, [number, number]>(
      `SELECT ${this.#columns} ${order} LIMIT -1 OFFSET ?`,
    )
    // reads no more of a row than that it is there
    using places = this.#db.prepare<{ offset: number }, [number, number]>(
      `SELECT offset ${order} LIMIT 1 OFFSET ?`,
    )
    for (let passed = 0; ; passed++) {
      try {
        for (const row of rows.iterate(from, passed)) {
          passed++
          yield row
        }
        return
      } catch (error) {
        if (!meetsDamage(this.#db, error)) throw error
      }
      // none, or one that can't be read
      if ((unlessDamaged(this.#db, () => places.get(from, passed)) ?? null) === null) return
    }
  }

  /** The offset of the first record that a search finds after an offset; `end` without one. */
  #firstReadable(bad: number, end: number): number {
    const find = (from: number): number | undefined => {
      const found = this.read(from, end, 1)
      return found && (found[0]?.offset ?? end)
    }
    for (let last = bad; ;) {
      let readable = Math.min(end, last + 1 + Math.floor((last - bad) / STEPS))
      if (readable === end) return end
      let found = find(readable)
      if (found === undefined) {
        last = readable
        continue
      }
      while (readable - last > 1) {
        const middle = Math.floor((last + readable) / 2)
        const nearer = find(middle)
        if (nearer === undefined) last = middle
        else [readable, found] = [middle, nearer]
      }
      return found
    }
  }
}

/** Whether a record is as long as the positions of two that follow each other say. */
function follows(row: PlacedRow, before?: PlacedRow): boolean {
  if (before === undefined || before.offset + 1 !== row.offset) return true
  return row.end_position - before.end_position === sizeOfRow(row)
}
