import { Damage } from "../../storage/damage.ts"
import { isDiskFull, pragma, type DatabaseLocation } from "../../storage/database-file.ts"
import { packBatch, type PackedBatch } from "../embedded/batch.ts"
import {
  LOG_LAYOUT,
  recordColumns,
  recordsTable,
  toStored,
  type PlacedRow,
  type RecordRow,
} from "../embedded/log-tables.ts"
import { describeDamage } from "../embedded/damage.ts"
import { isSound, sourceOf } from "../embedded/stored-rows.ts"
import {
  addQuarantined,
  createQuarantine,
  firstQuarantined,
  type Quarantined,
  type QuarantinedRow,
} from "./quarantine-table.ts"
import { LogFile, type Committed } from "../embedded/log-file.ts"
import type { OpenPartition } from "../embedded/open-partition.ts"
import { Reserve } from "./reserve.ts"
import { partitionRow } from "../embedded/partition-rows.ts"

/*
 * A spool's file is a log's file (embedded/log-tables.ts) of another application id, so that neither is taken for the other.
 * What was forwarded is deleted from the front: `topics.first_offset` is the next record to be forwarded. Beside it `set_aside`
 * (quarantine-table.ts) holds what the broker refused for good. Each record is in one of the two tables, whatever crash comes.
 */

/** The spool of a file. Lock and holder's note lie next to it. */
export function spoolAt(file: string): DatabaseLocation {
  return {
    file,
    lockFile: `${file}.lock`,
    applicationId: 0x484b5350, // HKSP
    kind: "spool",
    title: `The spool ${file}`,
    alternative: "another file",
    remedy: "stop Hookline, then copy what can be read with hookline log rescue, or restore a backup",
  }
}

/** Records that are forwarded together, and after a kill -9 in the middle of it once more. */
const WINDOW_RECORDS = 1000
const WINDOW_BYTES = 2 * 1024 * 1024
/** Quarantined records that are requeued in one transaction. */
const SLICE_RECORDS = 500
/** Free pages that are worth rewriting the file. */
const FREE_PAGES = 1024
const LITTLE_BYTES = 1024 * 1024

/** The oldest records of a topic, whose offsets have no gaps. */
export interface PackedWindow {
  readonly firstOffset: number
  readonly batch: PackedBatch
  /** Whether the topic has no other. */
  readonly isAll: boolean
  readonly transfer: readonly ArrayBuffer[]
}

/** What a spool's file holds. */
export interface Contents {
  /** Records that wait to be forwarded. */
  readonly records: number
  /** Bytes of keys, values and headers, of quarantined records as well. */
  readonly bytes: number
  readonly oldestMs: number | undefined
  readonly quarantined: number
  /** Those that have records. */
  readonly topics: readonly string[]
  /** Whether the reserve lies next to it; without one the disk is full. */
  readonly hasReserve: boolean
}

/** Opens a spool's file, on a full disk with the help of the reserve. @throws as DurableDatabase */
export function openSpoolDatabase(location: DatabaseLocation): SpoolDatabase {
  try {
    return new SpoolDatabase(location)
  } catch (error) {
    const reserve = new Reserve(location.file)
    if (!isDiskFull(error) || !reserve.exists) throw error
    reserve.remove()
    return new SpoolDatabase(location)
  }
}

/** The file in the thread that has it open. */
export class SpoolDatabase extends LogFile {
  readonly #reserve: Reserve
  #hasReserve: boolean
  readonly #oldestMs = new Map<OpenPartition, number>()
  #quarantined = { records: 0, bytes: 0 }

  readonly operations = {
    commit: (batch: PackedBatch, timestampMs: number) => this.commitSpooled(batch, timestampMs),
    window: (topic: string) => this.window(topic),
    settle: (...settled: Parameters<SpoolDatabase["settle"]>) => this.settle(...settled),
    requeue: () => this.requeue(),
    shrink: () => this.shrink(),
    makeReserve: () => this.makeReserve(),
  }

  constructor(location: DatabaseLocation) {
    super(location, {
      ...LOG_LAYOUT,
      createTables(db) {
        LOG_LAYOUT.createTables(db)
        createQuarantine(db)
      },
    })
    this.#reserve = new Reserve(location.file)
    this.#hasReserve = this.#reserve.exists
    this.load(() => this.#load())
  }

  override state(): Contents {
    const filled = [...this.topics.values()].filter(
      ({ partitions: [only] }) => only!.nextOffset > only!.firstOffset,
    )
    return {
      records: filled.reduce((sum, { partitions: [only] }) => sum + only!.nextOffset - only!.firstOffset, 0),
      bytes: this.bytesKept + this.#quarantined.bytes,
      oldestMs: this.#oldestMs.size === 0 ? undefined : Math.min(...this.#oldestMs.values()),
      quarantined: this.#quarantined.records,
      topics: filled.map(({ name }) => name),
      hasReserve: this.#hasReserve,
    }
  }

  commitSpooled(batch: PackedBatch, timestampMs: number): Committed & { readonly contents: Contents } {
    const committed = this.commit(batch, timestampMs)
    for (const name of batch.topics) {
      const partition = this.#only(name)!
      if (!this.#oldestMs.has(partition)) this.#noteOldest(partition)
    }
    return { ...committed, contents: this.state() }
  }

  /** The records of a topic that are to be forwarded next: at least one where there is one. */
  window(name: string): PackedWindow {
    const partition = this.#only(name)
    const rows = partition === undefined ? [] : this.#oldestRows(partition)
    const batch = packBatch(rows.map((row) => ({ record: toStored(name, row) })))
    const firstOffset = partition?.firstOffset ?? 0
    const isAll = partition === undefined || firstOffset + rows.length === partition.nextOffset
    return { firstOffset, batch, isAll, transfer: [batch.bytes] }
  }

  /** @throws Damage if they are not what was written */
  #oldestRows(partition: OpenPartition): PlacedRow[] {
    const { firstOffset, firstPosition } = partition
    const row = partitionRow(this.db, partition.id, partition.partition)!
    const rows = this.db
      .query<PlacedRow, [number, number, number, number]>(
        `SELECT ${recordColumns(this.db, row)} FROM ${recordsTable(partition)}
         WHERE offset >= ? AND (end_position <= ? OR offset = ?) ORDER BY offset LIMIT ?`,
      )
      .all(firstOffset, firstPosition + WINDOW_BYTES, firstOffset, WINDOW_RECORDS)
    const source = sourceOf(row)
    const bad = rows.findIndex(
      (one, at) => one.offset !== firstOffset + at || !isSound(source, one, firstOffset),
    )
    const first = firstOffset + (bad === -1 ? rows.length : bad)
    if (bad !== -1 || (rows.length === 0 && first < partition.nextOffset))
      throw new Damage(describeDamage({ topic: partition.name, ...partition, first, end: first + 1 }))
    return rows
  }

  /** Deletes records from the front of a topic, and quarantines those that were refused. @param refused why, by offset */
  settle(name: string, lastOffset: number, refused: ReadonlyMap<number, string>): Contents {
    const partition = this.#only(name)
    // an answer that was lost is asked for again
    if (partition === undefined || lastOffset < partition.firstOffset) return this.state()
    const table = recordsTable(partition)
    this.transact(() => {
      const last = this.db
        .query<{ end_position: number }, [number]>(`SELECT end_position FROM ${table} WHERE offset = ?`)
        .get(lastOffset)!
      addQuarantined(
        this.db,
        [...refused].flatMap(([offset, reason]) => {
          const row = this.#rowAt(partition, offset)
          return row === undefined ? [] : { ...row, topic: name, reason }
        }),
      )
      this.dropThrough(partition, lastOffset, last.end_position)
    })
    this.#noteOldest(partition)
    if (refused.size > 0) this.#countQuarantined()
    return this.state()
  }

  /** Adds records of another spool, with their times. */
  adopt(topic: string, rows: readonly RecordRow[]): void {
    this.transact(() => {
      for (const row of rows) this.add(toStored(topic, row), row.timestamp)
    })
  }

  /** Adds quarantined records. */
  quarantine(rows: readonly Quarantined[]): void {
    this.transact(() => addQuarantined(this.db, rows))
  }

  /** Puts the quarantined records after the others of their topics, to be tried again. */
  requeue(): Contents {
    const next = (): readonly QuarantinedRow[] => firstQuarantined(this.db, SLICE_RECORDS)
    for (let rows = next(); rows.length > 0; rows = next()) {
      this.transact(() => {
        for (const row of rows) this.add(toStored(row.topic, { ...row, offset: row.id }), row.timestamp)
        this.db.query("DELETE FROM set_aside WHERE id <= ?").run(rows.at(-1)!.id)
      })
    }
    this.#load()
    return this.state()
  }

  /** Gives the space of what was deleted back to the disk, when that is much and little is left, so that it is quick. */
  shrink(): void {
    if (this.state().bytes > LITTLE_BYTES || pragma(this.db, "freelist_count") < FREE_PAGES) return
    this.runAlone(() => this.db.run("VACUUM"))
    this.checkpointNow("TRUNCATE")
  }

  /** Allocates the reserve if it does not exist. As `Reserve.makeAgain`, or `make` at the start. */
  makeReserve(isStart = false): boolean {
    this.#hasReserve = this.#reserve.exists || (isStart ? this.#reserve.make() : this.#reserve.makeAgain())
    return this.#hasReserve
  }

  /** On a full disk the reserve makes way for the file. */
  override closeFailed(cause?: unknown): void {
    if (isDiskFull(cause)) this.#reserve.remove()
    super.closeFailed(cause)
  }

  #rowAt({ id, partition }: OpenPartition, offset: number): RecordRow | undefined {
    const columns = "offset, timestamp, key, headers, value"
    const table = recordsTable({ id, partition })
    return (
      this.db.query<RecordRow, [number]>(`SELECT ${columns} FROM ${table} WHERE offset = ?`).get(offset) ??
      undefined
    )
  }

  #load(): void {
    this.#countQuarantined()
    for (const { partitions } of this.topics.values()) this.#noteOldest(partitions[0]!)
  }

  /** A topic's only partition. */
  #only(topic: string): OpenPartition | undefined {
    return this.topics.get(topic)?.partitions[0]
  }

  #noteOldest(partition: OpenPartition): void {
    const [oldest] = this.oldest(partition, 1)
    if (oldest === undefined) this.#oldestMs.delete(partition)
    else this.#oldestMs.set(partition, oldest.timestamp)
  }

  #countQuarantined(): void {
    this.#quarantined = this.db
      .query<{ records: number; bytes: number }, []>(
        "SELECT count(*) AS records, coalesce(sum(bytes), 0) AS bytes FROM set_aside",
      )
      .get()!
  }
}
