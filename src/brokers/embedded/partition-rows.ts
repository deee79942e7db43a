import type { Database } from "bun:sqlite"
import { Damage, unlessDamaged } from "../../storage/damage.ts"
import { pragma } from "../../storage/database-file.ts"
import { allBounds, boundsOf, type Bounds, type PartitionBounds } from "./log-bounds.ts"

/*
 * The partitions of a log's file (log-tables.ts), by its bounds; a partition whose bounds are damaged, or that a file of an
 * earlier version has without them, by the tables `topics` and `partitions`.
 */

/** A partition. */
export interface PartitionRow {
  /** Id of its topic. */
  readonly id: number
  readonly name: string
  readonly partition: number
  readonly first_offset: number
  readonly first_position: number
  /** undefined: the file has none, since an earlier version wrote it; `damaged`: they are not what was written. */
  readonly bounds: Bounds | "damaged" | undefined
}

/** `PRAGMA user_version` of a file with `bounds`. */
export const BOUNDED = 3

export type PlacedPartition = Omit<PartitionRow, "bounds">

export const startOf = ({
  first_offset,
  first_position,
}: Pick<Bounds, "first_offset" | "first_position">) => ({
  first_offset,
  first_position,
})

const FIRST_PARTITIONS = "SELECT id, name, 0 AS partition, first_offset, first_position FROM topics"
const OTHER_PARTITIONS = `SELECT id, name, number AS partition, partitions.first_offset, partitions.first_position
   FROM partitions JOIN topics ON id = topic_id`

/**
 * By topic, then number; of one topic, where it is named. A file that a writer has just begun, or that is of an earlier
 * version, has fewer tables.
 *
 * @throws Damage if the list of topics is missing
 */
export function partitionRows(db: Database, topic?: string): PartitionRow[] {
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE name IN ('topics', 'partitions')")
    .all()
  if (tables.length === 0 && pragma(db, "application_id") !== 0)
    throw new Damage("the list of topics is missing")
  if (tables.length === 0) return []
  const all = tables.length === 1 ? FIRST_PARTITIONS : `${FIRST_PARTITIONS} UNION ALL ${OTHER_PARTITIONS}`
  const listed = (): PlacedPartition[] =>
    topic === undefined
      ? db.query<PlacedPartition, []>(all).all()
      : db.query<PlacedPartition, [string]>(`SELECT * FROM (${all}) WHERE name = ?`).all(topic)
  if (!hasBounds(db))
    return listed()
      .map((row) => ({ ...row, bounds: undefined }))
      .toSorted(byPlace)
  const bounds = allBounds(db, topic)
  const known = new Set(bounds.map(({ id, partition }) => `${id} ${partition}`))
  // bounds stand for lists that can't be read
  const rows = bounds.length > 0 ? (unlessDamaged(db, listed) ?? []) : listed()
  const others = rows.filter(
    ({ id, partition, name }) => typeof name === "string" && !known.has(`${id} ${partition}`),
  )
  // of a topic whose name is damaged in one of the two lists
  const lost = topic === undefined ? others : others.filter((row) => boundsOf(db, row) === undefined)
  return [...bounds.map(ofBounds), ...lost.map((row) => ({ ...row, bounds: DAMAGED }))].toSorted(byPlace)
}

const DAMAGED = "damaged" as const

export const hasBounds = (db: Database): boolean => pragma(db, "user_version") >= BOUNDED

const ofBounds = ({ id, name, partition, ...bounds }: PartitionBounds): PartitionRow => ({
  id,
  name,
  partition,
  ...startOf(bounds),
  bounds,
})

const byPlace = (a: PlacedPartition, b: PlacedPartition): number =>
  Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)) || a.partition - b.partition

/** undefined: there is none. */
export function partitionRow(db: Database, topicId: number, partition: number): PartitionRow | undefined {
  const isBounded = hasBounds(db)
  const bounds = isBounded ? boundsOf(db, { id: topicId, partition }) : undefined
  if (bounds !== undefined) return ofBounds(bounds)
  const row =
    partition === 0
      ? db.query<PlacedPartition, [number]>(`${FIRST_PARTITIONS} WHERE id = ?`).get(topicId)
      : db
          .query<PlacedPartition, [number, number]>(`${OTHER_PARTITIONS} WHERE topic_id = ? AND number = ?`)
          .get(topicId, partition)
  return row === null ? undefined : { ...row, bounds: isBounded ? DAMAGED : undefined }
}

/** Writes the lists of topics and partitions anew. */
export function listPartitions(db: Database, rows: readonly PartitionRow[]): void {
  for (const table of ["topics", "partitions"]) db.run(`DELETE FROM ${table}`)
  for (const { id, name, partition, first_offset: offset, first_position: position } of rows)
    if (partition === 0) db.query("INSERT INTO topics VALUES (?, ?, ?, ?)").run(id, name, offset, position)
    else db.query("INSERT INTO partitions VALUES (?, ?, ?, ?)").run(id, partition, offset, position)
}

/** Notes where a partition begins, within a transaction, which saves its bounds, too. */
export function moveFirst(
  db: Database,
  { id, partition }: Pick<PartitionRow, "id" | "partition">,
  offset: number,
  position: number,
): void {
  if (partition === 0)
    db.query("UPDATE topics SET first_offset = ?, first_position = ? WHERE id = ?").run(offset, position, id)
  else
    db.query(
      "UPDATE partitions SET first_offset = ?, first_position = ? WHERE topic_id = ? AND number = ?",
    ).run(offset, position, id, partition)
}
