// Hot path: `save`, once a partition and commit.
import type { Database, Statement } from "bun:sqlite"
import { crc32 } from "node:zlib"
import { unlessDamaged } from "../../storage/damage.ts"
import type { PlaceOfRecords } from "./record-checksum.ts"

/*
 * Where each partition of a log's file begins and ends, as written by the same commits as its records:
 *
 *   bounds
 *   topic_id  partition  topic     first_offset  first_position  next_offset  end_position  unchecked  crc
 *   1         0          webhooks  900           40310           1310         61742         0          -19…
 *
 * - The rows of hundreds of partitions are in one page, so that a commit writes one page more than those of its records. A page
 *   of records that is lost, or is an earlier one, leaves an end here that the records don't reach: that is damage, and never
 *   an end.
 * - The topic's name, `first_offset` and `first_position` are those of the topic's or partition's row, too, which change with
 *   retention only. Where one of the two is damaged, the other one stands for it.
 * - Records before the offset `unchecked` have no checksum: an earlier version of Hookline wrote them. NULL: their table has
 *   no column for it, until the next record comes.
 * - `crc` is the CRC-32 of the topic's name (UTF-8) and the seven numbers before it as float64, little endian; -1 for NULL.
 */

/** A partition's first and next offset, and the positions of both. */
export interface Bounds {
  readonly first_offset: number
  readonly first_position: number
  readonly next_offset: number
  readonly end_position: number
  /** The offset before which records have no checksum; null: none has. */
  readonly unchecked: number | null
}

interface BoundsRow extends Bounds {
  readonly topic_id: number
  readonly partition: number
  readonly topic: string
  readonly crc: number
}

/** Bounds with the partition that they are of. */
export interface PartitionBounds extends Bounds, PlaceOfRecords {
  readonly name: string
}

const numbers = new Float64Array(7)
const numberBytes = new Uint8Array(numbers.buffer)

/** What `checksumOfBounds` begins with for the partitions of a topic. */
export const seedOf = (topic: string): number => crc32(topic)

function checksumOfBounds({ id, partition }: PlaceOfRecords, seed: number, bounds: Bounds): number {
  numbers[0] = id
  numbers[1] = partition
  numbers[2] = bounds.first_offset
  numbers[3] = bounds.first_position
  numbers[4] = bounds.next_offset
  numbers[5] = bounds.end_position
  numbers[6] = bounds.unchecked ?? -1
  return crc32(numberBytes, seed) | 0
}

export const createBounds = (db: Database): void =>
  void db.run(
    `CREATE TABLE IF NOT EXISTS bounds (
      topic_id INTEGER NOT NULL,
      partition INTEGER NOT NULL,
      topic TEXT NOT NULL,
      first_offset INTEGER NOT NULL,
      first_position INTEGER NOT NULL,
      next_offset INTEGER NOT NULL,
      end_position INTEGER NOT NULL,
      unchecked INTEGER,
      crc INTEGER NOT NULL,
      PRIMARY KEY (topic_id, partition)
    ) STRICT, WITHOUT ROWID`,
  )

type SavedBounds = [number, number, string, number, number, number, number, number | null, number]

export const prepareBounds = (db: Database): Statement<unknown, SavedBounds> =>
  db.prepare("INSERT OR REPLACE INTO bounds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")

/** Writes a partition's bounds within a transaction. @param seed as seedOf */
export function saveBounds(
  to: Statement<unknown, SavedBounds>,
  place: PlaceOfRecords & { readonly name: string },
  seed: number,
  bounds: Bounds,
): void {
  const { id, partition, name } = place
  const { first_offset: first, first_position: from, next_offset: next, end_position: end } = bounds
  const sum = checksumOfBounds(place, seed, bounds)
  to.run(id, partition, name, first, from, next, end, bounds.unchecked, sum)
}

/** The bounds of a partition; undefined: they are missing, or not what was written. */
export const boundsOf = (db: Database, { id, partition }: PlaceOfRecords): PartitionBounds | undefined =>
  read(db, () =>
    db
      .query<BoundsRow, [number, number]>("SELECT * FROM bounds WHERE topic_id = ? AND partition = ?")
      .all(id, partition),
  )[0]

/** Those of all partitions, or a topic's, which are what was written. */
export const allBounds = (db: Database, topic?: string): PartitionBounds[] =>
  read(db, () =>
    topic === undefined
      ? db.query<BoundsRow, []>("SELECT * FROM bounds").all()
      : db.query<BoundsRow, [string]>("SELECT * FROM bounds WHERE topic = ?").all(topic),
  )

function read(db: Database, rows: () => BoundsRow[]): PartitionBounds[] {
  const all = unlessDamaged(db, rows) ?? []
  return all.flatMap(({ topic_id: id, topic: name, crc, ...bounds }) => {
    const isWritten =
      typeof name === "string" &&
      checksumOfBounds({ id, partition: bounds.partition }, seedOf(name), bounds) === crc
    return isWritten ? [{ id, name, ...bounds }] : []
  })
}
