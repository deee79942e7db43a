// Hot path: `commit`. Measured by `npm run bench`.
import type { Statement } from "bun:sqlite"
import type { Record } from "../../pipeline/record.ts"
import { Damage } from "../../storage/damage.ts"
import { type DatabaseLocation, type Layout } from "../../storage/database-file.ts"
import { DurableDatabase } from "../../storage/durable-database.ts"
import type { OpenPartition, OpenTopic, RecordEnd } from "./open-partition.ts"
import { isPlaced, partitionFor } from "../placement.ts"
import { type CommittedRecords, sizeOf } from "../batch-publisher.ts"
import { unpackBatch, type PackedBatch } from "./batch.ts"
import { describeDamage, lastRecord } from "./damage.ts"
import { prepareBounds, saveBounds, seedOf } from "./log-bounds.ts"
import {
  addColumns,
  createPartition,
  LOG_LAYOUT,
  PAGE_BYTES,
  recordsTable,
  tablesWithClock,
} from "./log-tables.ts"
import { packHeaders } from "../packed-headers.ts"
import { checksumOf } from "./record-checksum.ts"
import { endOf } from "./partition-end.ts"
import { moveFirst, partitionRows, type PartitionRow } from "./partition-rows.ts"

/** As many bytes without a key go to one partition: `batch.size` of Kafka's producer. */
const STICKY_BYTES = 16_384

/** Topics created, or given more partitions, in one transaction. */
const PREPARE_TOPICS = 16

export interface Committed extends CommittedRecords {
  /** The batch's memory, for the next one. */
  readonly transfer: readonly ArrayBuffer[]
}

/** A file of topics, open for writing: the embedded log's, and a spool's. */
export abstract class LogFile extends DurableDatabase {
  readonly topics = new Map<string, OpenTopic>()
  /** The largest clock of a partition's last record when the file was opened; undefined: none has one. */
  newestClock: number | undefined
  /** The time of the log's clock that records get; null: it has none. */
  protected clockMs: number | null = null
  /** Bytes of keys, values and headers, over all topics. */
  bytesKept = 0
  /** How many partitions topics have at least once they are written to. */
  #leastPartitions = 1
  /** Topics that have fewer partitions than they are to have, or do not exist. */
  readonly #unprepared = new Set<string>()
  /** Partitions that the transaction has changed. */
  readonly #changed = new Set<OpenPartition>()
  readonly #bounds: ReturnType<typeof prepareBounds>

  constructor(location: DatabaseLocation, layout: Layout = LOG_LAYOUT) {
    super(location, layout)
    this.#bounds = this.load(() => prepareBounds(this.db))
    this.load(() => {
      const withClock = tablesWithClock(this.db)
      for (const row of partitionRows(this.db)) this.#load(row, withClock.has(recordsTable(row)))
    })
  }

  /**
   * Sets how many partitions topics have at least; a topic gets them before it is written to. Creates topics, and adds
   * partitions to those that exist, a few in each call: each takes milliseconds where there are thousands.
   *
   * @param topics to be created, in addition to those that earlier calls have left
   * @returns whether some are left for the next call
   */
  prepare(leastPartitions: number, topics: readonly string[]): boolean {
    const others = leastPartitions === this.#leastPartitions ? [] : this.topics.keys()
    this.#leastPartitions = leastPartitions
    for (const name of [...topics, ...others])
      if ((this.topics.get(name)?.partitions.length ?? 0) < leastPartitions) this.#unprepared.add(name)
    const some = [...this.#unprepared.values().take(PREPARE_TOPICS)]
    if (some.length > 0)
      this.transact(() => {
        for (const name of some) this.topic(name)
      })
    for (const name of some) this.#unprepared.delete(name)
    return this.#unprepared.size > 0
  }

  /**
   * Commits records; as `transact`.
   *
   * @param timestampMs for records without a time of their own, in milliseconds since 1970
   * @param also what else the transaction changes
   */
  commit(batch: PackedBatch, timestampMs: number, also?: () => void): Committed {
    const startedAtMs = performance.now()
    const offsets: number[] = []
    let partitions: number[] | undefined
    this.transact(() => {
      for (const { record } of unpackBatch(batch)) {
        const { partition, nextOffset } = this.add(record, timestampMs)
        if (partition > 0) partitions ??= offsets.map(() => 0)
        partitions?.push(partition)
        offsets.push(nextOffset - 1)
      }
      also?.()
    })
    const ms = performance.now() - startedAtMs
    return { offsets, ...(partitions !== undefined && { partitions }), ms, transfer: [batch.bytes] }
  }

  /** Adds a record within a transaction. @returns its partition, whose last record it is */
  protected add(record: Record, timestampMs: number): OpenPartition {
    const topic = this.topic(record.topic)
    const partition = topic.partitions.length === 1 ? topic.partitions[0]! : this.#place(topic, record)
    const { key, value, headers } = record
    const packed = headers === undefined || headers.length === 0 ? null : packHeaders(headers)
    const bytes = sizeOf(record) + (packed === null ? 0 : packed.length)
    partition.endPosition += bytes
    this.bytesKept += bytes
    this.gathered(bytes)
    const row = {
      offset: partition.nextOffset,
      end_position: partition.endPosition,
      timestamp: record.timestampMs ?? timestampMs,
      key: key ?? null,
      headers: packed,
      value,
      clock: this.clockMs,
    }
    partition.insert ??= this.#prepareInsert(partition)
    const sum = checksumOf(partition, row)
    partition.insert.run(row.offset, row.end_position, row.timestamp, row.key, packed, value, sum, row.clock)
    partition.nextOffset++
    this.#changed.add(partition)
    return partition
  }

  /** Commits changes together with the bounds of the partitions that they change; as DurableDatabase. */
  protected override transact(change: () => void): void {
    super.transact(() => {
      change()
      for (const one of this.#changed)
        saveBounds(this.#bounds, one, one.seed, {
          first_offset: one.firstOffset,
          first_position: one.firstPosition,
          next_offset: one.nextOffset,
          end_position: one.endPosition,
          unchecked: one.unchecked,
        })
    })
    for (const one of this.#changed) one.committedEnd = one.nextOffset
    this.#changed.clear()
  }

  /** Within a transaction, which adds what a table of an earlier version does not have. */
  #prepareInsert(partition: OpenPartition): Statement {
    if (!partition.hasClock) {
      addColumns(this.db, partition)
      partition.hasClock = true
      partition.oldest = undefined
    }
    partition.unchecked ??= partition.nextOffset
    return this.db.prepare(`INSERT INTO ${recordsTable(partition)} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
  }

  /** Deletes a partition's records up to an offset within a transaction. */
  protected dropThrough(partition: OpenPartition, offset: number, endPosition: number): void {
    partition.drop ??= this.db.prepare(`DELETE FROM ${recordsTable(partition)} WHERE offset <= ?`)
    partition.drop.run(offset)
    moveFirst(this.db, partition, offset + 1, endPosition)
    // freed pages go to the WAL once, and many are filled again before the checkpoint
    this.gathered(Math.max(PAGE_BYTES, (endPosition - partition.firstPosition) / 2))
    this.bytesKept -= endPosition - partition.firstPosition
    partition.firstOffset = offset + 1
    partition.firstPosition = endPosition
    this.#changed.add(partition)
  }

  /** Deletes the records of partitions up to the last of each that `take` returns, in its transaction; as `transact`. */
  deleteThrough(take: () => ReadonlyMap<OpenPartition, RecordEnd>): void {
    this.transact(() => {
      for (const [partition, { offset, end_position: endPosition }] of take())
        this.dropThrough(partition, offset, endPosition)
    })
  }

  /**
   * The first records of a partition.
   *
   * @param after those after this one @throws Damage where their offsets or positions can't be right
   */
  oldest(partition: OpenPartition, limit: number, after?: RecordEnd): RecordEnd[] {
    let [next, position] =
      after === undefined
        ? [partition.firstOffset, partition.firstPosition]
        : [after.offset + 1, after.end_position]
    partition.oldest ??= this.db.prepare(
      `SELECT offset, end_position, timestamp, ${partition.hasClock ? "clock" : "NULL AS clock"}
       FROM ${recordsTable(partition)} WHERE offset >= ? ORDER BY offset LIMIT ?`,
    )
    const records = partition.oldest.all(next, limit)
    for (const { offset, end_position: end } of records) {
      const isPlaced = offset >= next && offset < partition.nextOffset
      if (!isPlaced || end < position || end > partition.endPosition)
        throw new Damage(describeDamage({ topic: partition.name, ...partition, first: next, end: next + 1 }))
      next = offset + 1
      position = end
    }
    return records
  }

  /** Finds a topic with enough partitions; what is missing is created within a transaction. */
  protected topic(name: string): OpenTopic {
    const known = this.topics.get(name)
    if (known !== undefined && known.partitions.length >= this.#leastPartitions) return known
    let topic = known ?? this.#load(createPartition(this.db, name, undefined, 0), true)
    for (let number = topic.partitions.length; number < this.#leastPartitions; number++)
      topic = this.#load(createPartition(this.db, name, topic.id, number), true)
    return topic
  }

  /** The partition of a record by its key, as Kafka's producer chooses it; records without one share what is next. */
  #place(topic: OpenTopic, record: Record): OpenPartition {
    const { partitions } = topic
    if (isPlaced(record)) return partitions[partitionFor(record, partitions.length)]!
    if (topic.stickyCommit !== this.commits || topic.stickyBytes >= STICKY_BYTES) {
      topic.sticky = (topic.sticky + 1) % partitions.length
      topic.stickyBytes = 0
      topic.stickyCommit = this.commits
    }
    topic.stickyBytes += record.value.length
    return partitions[topic.sticky]!
  }

  #load(row: PartitionRow, hasClock: boolean): OpenTopic {
    const { offset, position } = endOf(this.db, row)
    const lastMs = lastRecord(this.db, row, offset)?.clock ?? undefined
    if (lastMs !== undefined) this.newestClock = Math.max(lastMs, this.newestClock ?? lastMs)
    const { id, name, partition } = row
    const topic = this.topics.get(name) ?? {
      id,
      name,
      partitions: [],
      sticky: -1,
      stickyBytes: 0,
      stickyCommit: -1,
    }
    topic.partitions.push({
      id,
      name,
      partition,
      insert: undefined,
      hasClock,
      oldest: undefined,
      drop: undefined,
      firstOffset: row.first_offset,
      firstPosition: row.first_position,
      nextOffset: offset,
      committedEnd: offset,
      endPosition: position,
      unchecked: row.bounds === "damaged" || row.bounds === undefined ? null : row.bounds.unchecked,
      seed: seedOf(name),
    })
    this.bytesKept += position - row.first_position
    this.topics.set(name, topic)
    return topic
  }
}
