// Hot path: `commit`. Measured by `npm run bench`.
import type { Statement } from "bun:sqlite"
import type { Record } from "../../pipeline/record.ts"
import { Damage, type DatabaseLocation, type Layout } from "../../storage/database-file.ts"
import { DurableDatabase } from "../../storage/durable-database.ts"
import { isPlaced, partitionFor } from "../placement.ts"
import { sizeOf, unpackBatch, type PackedBatch } from "./batch.ts"
import { describeDamage, lastRecord } from "./damage.ts"
import { prepareBounds, saveBounds, seedOf } from "./log-bounds.ts"
import { addChecksums, createPartition, LOG_LAYOUT, recordsTable } from "./log-tables.ts"
import { packHeaders } from "./packed-headers.ts"
import { checksumOf } from "./record-checksum.ts"
import { endOf } from "./partition-end.ts"
import { moveFirst, partitionRows, type PartitionRow } from "./partition-rows.ts"

/** A partition as the next commit finds it. */
export interface OpenPartition {
  /** Id of its topic. */
  readonly id: number
  /** Its topic's. */
  readonly name: string
  readonly partition: number
  /** Prepared when the partition gets its first record: most of thousands of topics may be idle. */
  insert: Statement | undefined
  firstOffset: number
  firstPosition: number
  nextOffset: number
  endPosition: number
  /** As of its bounds. */
  unchecked: number | null
  /** As seedOf. */
  readonly seed: number
}

export interface OpenTopic {
  readonly id: number
  readonly name: string
  /** By number; at least one. */
  readonly partitions: OpenPartition[]
  /** The number of the one that records without a key go to, in one commit and up to STICKY_BYTES. */
  sticky: number
  stickyBytes: number
  stickyCommit: number
}

/** As many bytes without a key go to one partition: `batch.size` of Kafka's producer. */
const STICKY_BYTES = 16_384

/** Topics created, or given more partitions, in one transaction. */
const PREPARE_TOPICS = 16

/** Where a record ends in its partition. */
export interface RecordEnd {
  readonly offset: number
  readonly end_position: number
  readonly timestamp: number
}

export interface Committed {
  /** The offset of each record. */
  readonly offsets: readonly number[]
  /** The partition of each record; absent: all are in 0. */
  readonly partitions?: readonly number[]
  /** Duration of the transaction. */
  readonly ms: number
  /** The batch's memory, for the next one. */
  readonly transfer: readonly ArrayBuffer[]
}

/** A file of topics, open for writing: the embedded log's, and a spool's. */
export abstract class LogFile extends DurableDatabase {
  readonly topics = new Map<string, OpenTopic>()
  /** Time of the newest record when the file was opened, in milliseconds since 1970; undefined: none. */
  newestMs: number | undefined
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
      for (const row of partitionRows(this.db)) this.#load(row)
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
    }
    partition.insert ??= this.#prepareInsert(partition)
    const sum = checksumOf(partition, row)
    partition.insert.run(row.offset, row.end_position, row.timestamp, row.key, packed, value, sum)
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
      this.#changed.clear()
    })
  }

  /** Within a transaction, which adds checksums to a table of an earlier version. */
  #prepareInsert(partition: OpenPartition): Statement {
    if (partition.unchecked === null) {
      addChecksums(this.db, partition)
      partition.unchecked = partition.nextOffset
    }
    return this.db.prepare(`INSERT INTO ${recordsTable(partition)} VALUES (?, ?, ?, ?, ?, ?, ?)`)
  }

  /** Deletes a partition's records up to an offset within a transaction. */
  protected dropThrough(partition: OpenPartition, offset: number, endPosition: number): void {
    this.db.query(`DELETE FROM ${recordsTable(partition)} WHERE offset <= ?`).run(offset)
    moveFirst(this.db, partition, offset + 1, endPosition)
    // freed pages go to the WAL once, and many are filled again before the checkpoint
    this.gathered((endPosition - partition.firstPosition) / 2)
    this.bytesKept -= endPosition - partition.firstPosition
    partition.firstOffset = offset + 1
    partition.firstPosition = endPosition
    this.#changed.add(partition)
  }

  /** Deletes a partition's records up to an offset; as `transact`. */
  deleteThrough(partition: OpenPartition, { offset, end_position: endPosition }: RecordEnd): void {
    this.transact(() => this.dropThrough(partition, offset, endPosition))
  }

  /** The first records of a partition. @throws Damage where their offsets or positions can't be right */
  oldest(partition: OpenPartition, limit: number): RecordEnd[] {
    const records = this.db
      .query<RecordEnd, [number, number]>(
        `SELECT offset, end_position, timestamp FROM ${recordsTable(partition)}
         WHERE offset >= ? ORDER BY offset LIMIT ?`,
      )
      .all(partition.firstOffset, limit)
    let [next, position] = [partition.firstOffset, partition.firstPosition]
    for (const { offset, end_position: end } of records) {
      const isPlaced = offset >= next && offset < partition.nextOffset
      if (!isPlaced || end < position || end > partition.endPosition)
        throw new Damage(describeDamage({ topic: partition.name, ...partition, first: next, end: next + 1 }))
      next = offset + 1
      position = end
    }
    return records
  }

  /** The time of a record, or where a log that was rescued has a gap, of the next one; without any infinite. */
  timeAt(partition: OpenPartition, offset: number): number {
    const found = this.db
      .query<{ timestamp: number }, [number]>(
        `SELECT timestamp FROM ${recordsTable(partition)} WHERE offset >= ? ORDER BY offset LIMIT 1`,
      )
      .get(offset)
    return found?.timestamp ?? Number.POSITIVE_INFINITY
  }

  /** Finds a topic with enough partitions; what is missing is created within a transaction. */
  protected topic(name: string): OpenTopic {
    const known = this.topics.get(name)
    if (known !== undefined && known.partitions.length >= this.#leastPartitions) return known
    let topic = known ?? this.#load(createPartition(this.db, name, undefined, 0))
    for (let number = topic.partitions.length; number < this.#leastPartitions; number++)
      topic = this.#load(createPartition(this.db, name, topic.id, number))
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

  #load(row: PartitionRow): OpenTopic {
    const { offset, position } = endOf(this.db, row)
    const lastMs = lastRecord(this.db, row, offset)?.timestamp
    if (lastMs !== undefined) this.newestMs = Math.max(lastMs, this.newestMs ?? lastMs)
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
      firstOffset: row.first_offset,
      firstPosition: row.first_position,
      nextOffset: offset,
      endPosition: position,
      unchecked: row.bounds === "damaged" || row.bounds === undefined ? null : row.bounds.unchecked,
      seed: seedOf(name),
    })
    this.bytesKept += position - row.first_position
    this.topics.set(name, topic)
    return topic
  }
}
