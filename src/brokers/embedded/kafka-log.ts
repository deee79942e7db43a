// Hot path: every record that a consumer reads.
import type { Database, Statement } from "bun:sqlite"
import {
  Unreadable,
  type Log,
  type LogRecord,
  type Offsets,
  type PartitionOf,
  type Placed,
  type TopicOfLog,
} from "../../kafka-listener/log.ts"
import { Damage, meetsDamage } from "../../storage/damage.ts"
import { logIn, openForReading } from "../../storage/database-file.ts"
import { whyNotRead } from "../../storage/recovery.ts"
import { readBeforeDamage } from "./damage.ts"
import { firstAt } from "./first-at.ts"
import { EpochsRead } from "./log-epochs.ts"
import { readIdentity, recordColumns, recordsTable, type PlacedRow } from "./log-tables.ts"
import { isSound, sourceOf, type SourceOfRows } from "./stored-rows.ts"
import { endOrUnknown, UNKNOWN_END } from "./partition-end.ts"
import { partitionRow, partitionRows, type PartitionRow } from "./partition-rows.ts"

/** Reads a partition's records. */
interface Source extends SourceOfRows {
  readonly statement: Statement<PlacedRow, [number]>
}

/** A log's file, open for reading, as the listener for Kafka clients sees it. */
export class KafkaLog implements Log {
  readonly directory: string
  readonly clusterId: string
  readonly #db: Database
  readonly #epochs: EpochsRead
  readonly #sources = new Map<string, Source>()

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
    for (const { statement } of this.#sources.values()) statement.finalize()
    this.#epochs.close()
    this.#db.close(true)
  }

  explain(error: unknown): unknown {
    return whyNotRead(error instanceof Unreadable ? new Damage(error.message) : error, this.#db) ?? error
  }

  /** The WAL's index is searched once for all that is read meanwhile. */
  atOnce<T>(read: () => T): T {
    let done: { readonly value: T } | undefined
    try {
      return this.#db.transaction(() => (done = { value: read() }).value)()
    } catch (error) {
      // a damaged page that was met ends the transaction in an error, too
      if (done !== undefined && meetsDamage(this.#db, error)) return done.value
      throw error
    }
  }

  topics(): readonly TopicOfLog[] {
    const topics = Map.groupBy(partitionRows(this.#db), ({ id }) => id)
    return [...topics].map(([id, rows]) => ({ id, name: rows[0]!.name, partitions: rows.length }))
  }

  offsets(of: PartitionOf): Offsets | undefined {
    const row = partitionRow(this.#db, of.topic.id, of.partition)
    return row && this.#range(row)
  }

  bytes(of: PartitionOf): number {
    const row = this.#row(of)
    return endOrUnknown(this.#db, row).position - row.first_position
  }

  *records(of: PartitionOf, offset: number, end: number): Iterable<LogRecord> {
    let next = offset
    try {
      const source = this.#source(of)
      for (const row of source.statement.iterate(offset)) {
        if (row.offset !== next || !isSound(source, row, next)) break
        yield row
        next++
      }
    } catch (error) {
      if (!meetsDamage(this.#db, error)) throw error
    }
    // retention deletes the first ones alone
    if (next === offset && offset < end)
      yield* readBeforeDamage(this.#db, this.#row(of), { first: offset, end })
  }

  firstAt(of: PartitionOf, timeMs: number): Placed | undefined {
    const row = this.#row(of)
    const range = this.#range(row)
    return this.#placed(of, firstAt(this.#db, row, range, timeMs), range.end)
  }

  last(of: PartitionOf): Placed | undefined {
    const { first, end } = this.#range(this.#row(of))
    return end > first ? this.#placed(of, end - 1, end) : undefined
  }

  #placed(of: PartitionOf, offset: number, end: number): Placed | undefined {
    if (offset >= end) return undefined
    for (const { offset: found, timestamp: timestampMs } of this.records(of, offset, end))
      return { offset: found, timestampMs }
    return undefined
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

  /** @throws Unreadable of a partition whose end can't be known */
  #range(row: PartitionRow): Offsets {
    const range = { first: row.first_offset, end: endOrUnknown(this.#db, row).offset }
    if (range.end === UNKNOWN_END) throw new Unreadable(range)
    return range
  }

  #source(of: PartitionOf): Source {
    const table = tableOf(of)
    const known = this.#sources.get(table)
    if (known !== undefined && known.unchecked < Number.POSITIVE_INFINITY) return known
    const row = this.#row(of)
    // the first record since an earlier version wrote the others brings checksums
    if (known !== undefined && known.unchecked === sourceOf(row).unchecked) return known
    known?.statement.finalize()
    const columns = recordColumns(this.#db, row)
    const statement = this.#db.prepare<PlacedRow, [number]>(
      `SELECT ${columns} FROM ${table} WHERE offset >= ? ORDER BY offset`,
    )
    const source = { ...sourceOf(row), statement }
    this.#sources.set(table, source)
    return source
  }

  #row({ topic, partition }: PartitionOf): PartitionRow {
    return partitionRow(this.#db, topic.id, partition)!
  }
}

const tableOf = ({ topic: { id }, partition }: PartitionOf): string => recordsTable({ id, partition })
