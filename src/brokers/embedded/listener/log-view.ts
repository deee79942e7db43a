import { createHash } from "node:crypto"
import type { Database, Statement } from "bun:sqlite"
import { steadyMs } from "../../../clock.ts"
import { logIn } from "../../../storage/database-file.ts"
import {
  endOf,
  firstAt,
  partitionRow,
  readIdentity,
  RECORD_COLUMNS,
  recordsTable,
  type PartitionRow,
  type RecordRow,
} from "../log-tables.ts"
import { readEpochs, Epochs } from "../log-epochs.ts"
import { openForReading } from "../reader.ts"
import { AheadBatches } from "./ahead-batches.ts"
import { encodeRecordBatch, setEpoch, type RecordBatch } from "./protocol/record-batch.ts"
import { RecentBatches } from "./recent-batches.ts"
import type { SharedCounters } from "./shared-counters.ts"

/** Between two looks for topics that are not there: clients ask again. */
const LOOK_MS = 50

/** A topic as clients see it. */
export interface Topic {
  readonly id: number
  readonly name: string
  /** In base64url; the same for as long as the log is. */
  readonly uuid: string
  /** How many it has, as of the last look. */
  partitions: number
}

/** A partition as a request names it. */
export interface PartitionOf {
  readonly topic: Topic
  readonly partition: number
}

/** Offsets of a partition: of its first record, and behind its last. */
export interface Offsets {
  readonly first: number
  readonly end: number
}

/** A record's offset and time. */
export interface Placed {
  readonly offset: number
  readonly timestampMs: number
}

/**
 * The log as the listener reads it. While the writer recovers its file, which it can't with readers around, the view is
 * closed, and requests wait for `whenOpen`.
 */
export class LogView {
  readonly directory: string
  #db: Database | undefined
  #opened = Promise.withResolvers<void>()
  #topics = new Map<string, Topic>()
  #topicsByUuid = new Map<string, Topic>()
  #statements = new Map<string, Statement<RecordRow, [number]>>()
  #clusterId = ""
  #epochs = new Epochs([])
  #lookedMs = Number.NEGATIVE_INFINITY
  readonly #counters: SharedCounters
  /** As of the change `#offsetsAt` of the log, by table. */
  readonly #offsets = new Map<string, Offsets>()
  #offsetsAt = 0
  readonly #recent = new RecentBatches()
  readonly #ahead = new AheadBatches()

  constructor(directory: string, counters: SharedCounters) {
    this.directory = directory
    this.#counters = counters
  }

  /** @throws HooklineError `no_input` */
  open(): void {
    if (this.#db !== undefined) return
    const db = openForReading(logIn(this.directory))
    this.#db = db
    this.#clusterId = readIdentity(db)!
    this.#epochs = readEpochs(db)
    this.#opened.resolve()
  }

  close(): void {
    if (this.#db === undefined) return
    for (const statement of this.#statements.values()) statement.finalize()
    this.#statements.clear()
    this.#offsets.clear()
    this.#recent.clear()
    this.#ahead.clear()
    this.#db.close(true)
    this.#db = undefined
    this.#opened = Promise.withResolvers()
  }

  /** Has all that is read meanwhile be as of one moment, and be found with one look at the WAL's index. */
  atOnce<T>(read: () => T): T {
    return this.#open.transaction(read)()
  }

  /** undefined: it is open. */
  whenOpen(): Promise<void> | undefined {
    return this.#db === undefined ? this.#opened.promise : undefined
  }

  get clusterId(): string {
    return this.#clusterId
  }

  get epoch(): number {
    return this.#epochs.current
  }

  /** The epoch of the record at an offset. */
  epochAt(of: PartitionOf, offset: number): number {
    return this.#epochs.at(tableOf(of), offset)
  }

  /** The newest epoch up to the one asked for, and where its records end. */
  epochUpTo(of: PartitionOf, epoch: number, { end }: Offsets): { epoch: number; end: number } {
    return { epoch: this.#epochs.upTo(epoch), end: this.#epochs.endOf(epoch, tableOf(of)) ?? end }
  }

  /** Up to where an offset committed in an epoch is of this log's records. */
  lastCommittable(topicName: string, partition: number, epoch: number): number {
    const topic = this.topic(topicName)
    const table = topic === undefined ? "" : tableOf({ topic, partition })
    return this.#epochs.endOf(epoch, table) ?? Number.POSITIVE_INFINITY
  }

  /** By name. */
  topics(): readonly Topic[] {
    const all = this.#open.query<{ id: number; name: string }, []>("SELECT id, name FROM topics").all()
    for (const { id, name } of all)
      if (!this.#topics.has(name)) this.#add({ id, name, uuid: this.#uuidOf(id), partitions: 1 })
    const others = this.#open
      .query<{ name: string; others: number }, []>(
        "SELECT name, count(*) AS others FROM partitions JOIN topics ON id = topic_id GROUP BY id",
      )
      .all()
    for (const { name, others: count } of others) this.#topics.get(name)!.partitions = 1 + count
    this.#lookedMs = steadyMs()
    return [...this.#topics.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  topic(name: string): Topic | undefined {
    if (!this.#topics.has(name)) this.#look()
    return this.#topics.get(name)
  }

  topicById(uuid: string): Topic | undefined {
    if (!this.#topicsByUuid.has(uuid)) this.#look()
    return this.#topicsByUuid.get(uuid)
  }

  /** Looks for new topics and partitions, once for all that a request asks for. */
  #look(): void {
    if (steadyMs() - this.#lookedMs >= LOOK_MS) this.topics()
  }

  /** The numbers of a topic's partitions. */
  partitions(topic: Topic): readonly number[] {
    this.#look()
    return [...Array(topic.partitions).keys()]
  }

  has({ topic, partition }: PartitionOf): boolean {
    if (partition >= topic.partitions) this.#look()
    return partition >= 0 && partition < topic.partitions
  }

  /** undefined: the topic has no such partition. */
  offsets(of: PartitionOf): Offsets | undefined {
    if (!this.has(of)) return undefined
    const { changes } = this.#counters
    if (changes !== this.#offsetsAt) this.#offsets.clear()
    this.#offsetsAt = changes
    const table = tableOf(of)
    const known = this.#offsets.get(table)
    if (known !== undefined) return known
    const row = this.#row(of)
    if (row === undefined) return undefined
    const offsets = { first: row.first_offset, end: endOf(this.#open, row).offset }
    this.#offsets.set(table, offsets)
    return offsets
  }

  /** Bytes of keys, values and headers. */
  bytes(of: PartitionOf): number {
    const row = this.#row(of)!
    return endOf(this.#open, row).position - row.first_position
  }

  /**
   * The records from an offset on, as one batch, which may have some before it.
   *
   * @param maxBytes as `encodeRecordBatch`
   */
  batch(of: PartitionOf, offset: number, maxBytes: number): RecordBatch | undefined {
    const table = tableOf(of)
    const { end = 0 } = this.offsets(of) ?? {}
    const recent = this.#recent.find(table, offset, end, maxBytes)
    if (recent !== undefined) return recent
    const batch = this.#ahead.take(table, offset, maxBytes) ?? this.#read(table, offset, maxBytes)
    // it has what was committed since, and the consumer will ask for what comes behind it
    if (batch !== undefined && batch.endOffset > end) this.#offsets.delete(table)
    if (batch !== undefined && batch.endOffset >= end) this.#recent.add(table, batch)
    return batch
  }

  /** Reads what will be asked for next, behind the answers of this turn of the event loop. */
  readAhead(of: PartitionOf, offset: number, maxBytes: number): void {
    setImmediate(() => {
      if (this.#db === undefined || !this.#ahead.hasRoom(maxBytes)) return
      const table = tableOf(of)
      try {
        const batch = this.#read(table, offset, maxBytes)
        if (batch !== undefined) this.#ahead.add(table, batch)
      } catch {
        // the request for it reads it again, and answers with the error
      }
    })
  }

  #read(table: string, offset: number, maxBytes: number): RecordBatch | undefined {
    let statement = this.#statements.get(table)
    if (statement === undefined) {
      statement = this.#open.prepare<RecordRow, [number]>(
        `SELECT ${RECORD_COLUMNS} FROM ${table} WHERE offset >= ? ORDER BY offset`,
      )
      this.#statements.set(table, statement)
    }
    const batch = encodeRecordBatch(statement.iterate(offset), maxBytes)
    if (batch !== undefined && this.epoch > 0) setEpoch(batch, this.#epochs.at(table, batch.endOffset - 1))
    return batch
  }

  /** The first record at or after a time; undefined: there is none. */
  firstAt(of: PartitionOf, timeMs: number): Placed | undefined {
    const row = this.#row(of)!
    const range = { first: row.first_offset, end: endOf(this.#open, row).offset }
    return this.#timeFrom(row, firstAt(this.#open, row, range, timeMs))
  }

  /** The last record; undefined: there is none. */
  last(of: PartitionOf): Placed | undefined {
    const row = this.#row(of)!
    return this.#timeFrom(row, endOf(this.#open, row).offset - 1)
  }

  #timeFrom(row: PartitionRow, offset: number): Placed | undefined {
    const found = this.#open
      .query<Placed, [number]>(
        `SELECT offset, timestamp AS timestampMs FROM ${recordsTable(row)}
         WHERE offset >= ? ORDER BY offset LIMIT 1`,
      )
      .get(offset)
    return found ?? undefined
  }

  #row({ topic, partition }: PartitionOf): PartitionRow | undefined {
    return partitionRow(this.#open, topic.id, partition)
  }

  #add(topic: Topic): void {
    this.#topics.set(topic.name, topic)
    this.#topicsByUuid.set(topic.uuid, topic)
  }

  #uuidOf(topicId: number): string {
    const hash = createHash("sha256").update(`${this.#clusterId}/${topicId}`).digest()
    return hash.subarray(0, 16).toString("base64url")
  }

  get #open(): Database {
    if (this.#db === undefined) throw new Error("the log is not open")
    return this.#db
  }
}

const tableOf = ({ topic: { id }, partition }: PartitionOf): string => recordsTable({ id, partition })
