import type { Database, Statement } from "bun:sqlite"
import { isDamage, logIn } from "../../../storage/database-file.ts"
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
import { DamagedRecords, readBeforeDamage, type Gap, type LostRecords } from "../damage.ts"
import { readEpochs, Epochs } from "../log-epochs.ts"
import { openForReading } from "../reader.ts"
import { AheadBatches } from "./ahead-batches.ts"
import { encodeRecordBatch, setEpoch, type RecordBatch } from "./protocol/record-batch.ts"
import { RecentBatches } from "./recent-batches.ts"
import type { SharedCounters } from "./shared-counters.ts"
import { Topics, type Topic } from "./topics.ts"

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
  readonly #topics = new Topics()
  #statements = new Map<string, Statement<RecordRow, [number]>>()
  #clusterId = ""
  #epochs = new Epochs([])
  readonly #counters: SharedCounters
  readonly #damaged: (records: LostRecords) => void
  /** As of the change `#offsetsAt` of the log, by table. */
  readonly #offsets = new Map<string, Offsets>()
  #offsetsAt = 0
  readonly #recent = new RecentBatches()
  readonly #ahead = new AheadBatches()

  /** @param damaged called with records that a client asked for, each time */
  constructor(
    directory: string,
    counters: SharedCounters,
    damaged: (records: LostRecords) => void = () => {},
  ) {
    this.directory = directory
    this.#damaged = damaged
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
    let done: { readonly value: T } | undefined
    try {
      return this.#open.transaction(() => (done = { value: read() }).value)()
    } catch (error) {
      // a damaged page that was met ends the transaction in an error, too
      if (done !== undefined && isDamage(error)) return done.value
      throw error
    }
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

  topics(): readonly Topic[] {
    return this.#topics.all(this.#open, this.#clusterId)
  }

  topic(name: string): Topic | undefined {
    return this.#topics.named(name) ?? (this.#look(), this.#topics.named(name))
  }

  topicById(uuid: string): Topic | undefined {
    return this.#topics.byId(uuid) ?? (this.#look(), this.#topics.byId(uuid))
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

  #look(): void {
    this.#topics.look(this.#open, this.#clusterId)
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
    let batch = this.#ahead.take(table, offset, maxBytes) ?? this.#read(table, offset, maxBytes)
    // retention deletes the first ones alone
    const isHere = batch !== undefined && batch.firstOffset <= offset
    if (!isHere && offset < end) batch = this.#readBeforeDamage(of, { first: offset, end }, maxBytes)
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
    try {
      return this.#inEpoch(table, encodeRecordBatch(statement.iterate(offset), maxBytes))
    } catch (error) {
      if (isDamage(error)) return undefined
      throw error
    }
  }

  /** @throws DamagedRecords */
  #readBeforeDamage(of: PartitionOf, range: Gap, maxBytes: number): RecordBatch | undefined {
    const table = tableOf(of)
    try {
      const rows = readBeforeDamage(this.#open, table, range, this.#row(of)!.first_offset)
      return this.#inEpoch(table, encodeRecordBatch(rows, maxBytes))
    } catch (error) {
      const { topic, partition } = of
      if (error instanceof DamagedRecords) this.#damaged({ topic: topic.name, partition, ...error.gap })
      throw error
    }
  }

  #inEpoch(table: string, batch: RecordBatch | undefined): RecordBatch | undefined {
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

  get #open(): Database {
    if (this.#db === undefined) throw new Error("the log is not open")
    return this.#db
  }
}

const tableOf = ({ topic: { id }, partition }: PartitionOf): string => recordsTable({ id, partition })
