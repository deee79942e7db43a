// Hot path: every record that a consumer reads.
import type { Database, Statement } from "bun:sqlite"
import type { Log, LogRecord, Offsets, PartitionOf, Placed, TopicOfLog } from "../../kafka-listener/log.ts"
import { isDamage, logIn, openForReading } from "../../storage/database-file.ts"
import { isSound, readBeforeDamage } from "./damage.ts"
import { EpochsRead } from "./log-epochs.ts"
import {
  endOf,
  firstAt,
  partitionRow,
  readIdentity,
  RECORD_COLUMNS,
  recordsTable,
  type PartitionRow,
  type RecordRow,
} from "./log-tables.ts"

/** A log's file, open for reading, as the listener for Kafka clients sees it. */
export class KafkaLog implements Log {
  readonly directory: string
  readonly clusterId: string
  readonly #db: Database
  readonly #epochs: EpochsRead
  readonly #statements = new Map<string, Statement<RecordRow, [number]>>()

  /** @throws HooklineError `no_input` */
  constructor(directory: string) {
    this.directory = directory
    this.#db = openForReading(logIn(directory))
    this.clusterId = readIdentity(this.#db)!
    this.#epochs = new EpochsRead(this.#db)
  }

  get epoch(): number {
    return this.#epochs.now.current
  }

  close(): void {
    for (const statement of this.#statements.values()) statement.finalize()
    this.#epochs.close()
    this.#db.close(true)
  }

  /** The WAL's index is searched once for all that is read meanwhile. */
  atOnce<T>(read: () => T): T {
    let done: { readonly value: T } | undefined
    try {
      return this.#db.transaction(() => (done = { value: read() }).value)()
    } catch (error) {
      // a damaged page that was met ends the transaction in an error, too
      if (done !== undefined && isDamage(error)) return done.value
      throw error
    }
  }

  topics(): readonly TopicOfLog[] {
    return this.#db
      .query<TopicOfLog, []>(
        `SELECT id, name, 1 + count(number) AS partitions
         FROM topics LEFT JOIN partitions ON id = topic_id GROUP BY id`,
      )
      .all()
  }

  offsets(of: PartitionOf): Offsets | undefined {
    const row = partitionRow(this.#db, of.topic.id, of.partition)
    return row && { first: row.first_offset, end: endOf(this.#db, row).offset }
  }

  bytes(of: PartitionOf): number {
    const row = this.#row(of)
    return endOf(this.#db, row).position - row.first_position
  }

  *records(of: PartitionOf, offset: number, end: number): Iterable<LogRecord> {
    let next = offset
    try {
      for (const row of this.#statement(tableOf(of)).iterate(offset)) {
        if (row.offset !== next || !isSound(row, next)) break
        yield row
        next++
      }
    } catch (error) {
      if (!isDamage(error)) throw error
    }
    // retention deletes the first ones alone
    if (next === offset && offset < end)
      yield* readBeforeDamage(this.#db, tableOf(of), { first: offset, end }, this.#row(of).first_offset)
  }

  firstAt(of: PartitionOf, timeMs: number): Placed | undefined {
    const row = this.#row(of)
    const range = { first: row.first_offset, end: endOf(this.#db, row).offset }
    return this.#timeFrom(row, firstAt(this.#db, row, range, timeMs))
  }

  last(of: PartitionOf): Placed | undefined {
    const row = this.#row(of)
    return this.#timeFrom(row, endOf(this.#db, row).offset - 1)
  }

  #timeFrom(row: PartitionRow, offset: number): Placed | undefined {
    const found = this.#db
      .query<Placed, [number]>(
        `SELECT offset, timestamp AS timestampMs FROM ${recordsTable(row)}
         WHERE offset >= ? ORDER BY offset LIMIT 1`,
      )
      .get(offset)
    return found ?? undefined
  }

  epochAt(of: PartitionOf, offset: number): number {
    return this.#epochs.now.at(tableOf(of), offset)
  }

  epochUpTo(epoch: number): number {
    return this.#epochs.now.upTo(epoch)
  }

  epochEnd(of: PartitionOf, epoch: number): number | undefined {
    return this.#epochs.now.endOf(epoch, tableOf(of))
  }

  #statement(table: string): Statement<RecordRow, [number]> {
    return this.#statements.getOrInsertComputed(table, () =>
      this.#db.prepare<RecordRow, [number]>(
        `SELECT ${RECORD_COLUMNS} FROM ${table} WHERE offset >= ? ORDER BY offset`,
      ),
    )
  }

  #row({ topic, partition }: PartitionOf): PartitionRow {
    return partitionRow(this.#db, topic.id, partition)!
  }
}

const tableOf = ({ topic: { id }, partition }: PartitionOf): string => recordsTable({ id, partition })
