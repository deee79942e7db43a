import type { Database } from "bun:sqlite"
import { endOf, partitionRows, recordsTable } from "./log-tables.ts"

/*
 * A log's leader epochs (KIP-320), in a table of its file. They distinguish the records of a log that was replaced by an
 * earlier copy of itself: the copy has other records at the offsets after its end. It begins an epoch there, by which consumers
 * that had read further find where to continue.
 *
 *   epochs
 *   epoch     starts
 *   59702400  {"records_1":100,"records_2":7}
 *
 * `starts` has the end of each partition, by its table, when the epoch began; a partition that did not exist begins at 0. Epoch
 * 0 precedes them and has no row. An epoch's number is its time in seconds since 2025, so that two copies of a log do not
 * give the same number to different records.
 */

type Starts = { readonly [table: string]: number }

export class Epochs {
  /** Ascending. */
  readonly #all: readonly { readonly epoch: number; readonly starts: Starts }[]
  readonly current: number

  constructor(all: readonly { readonly epoch: number; readonly starts: Starts }[]) {
    this.#all = all
    this.current = all.at(-1)?.epoch ?? 0
  }

  /** The epoch of the record at an offset. */
  at(table: string, offset: number): number {
    return this.#all.findLast(({ starts }) => (starts[table] ?? 0) <= offset)?.epoch ?? 0
  }

  /** The newest epoch that is not after the one asked for. */
  upTo(epoch: number): number {
    return this.#all.findLast((one) => one.epoch <= epoch)?.epoch ?? 0
  }

  /** The offset at which a partition's records of an epoch end; undefined: no later epoch has begun. */
  endOf(epoch: number, table: string): number | undefined {
    const next = this.#all.find((one) => one.epoch > epoch)
    return next === undefined ? undefined : (next.starts[table] ?? 0)
  }
}

export const createEpochs = (db: Database): void =>
  void db.run("CREATE TABLE IF NOT EXISTS epochs (epoch INTEGER PRIMARY KEY, starts TEXT NOT NULL) STRICT")

export const readEpochs = (db: Database): Epochs =>
  new Epochs(
    db
      .query<{ epoch: number; starts: string }, []>("SELECT epoch, starts FROM epochs ORDER BY epoch")
      .all()
      .map(({ epoch, starts }) => ({ epoch, starts: JSON.parse(starts) as Starts })),
  )

const FIRST_S = Date.UTC(2025, 0, 1) / 1000

/**
 * Begins an epoch at the end of each partition, within a transaction.
 *
 * @param after the newest epoch that a consumer of the log may have seen
 */
export function beginEpoch(db: Database, after: number, nowMs = Date.now()): void {
  const epoch = Math.max(after + 1, Math.floor(nowMs / 1000) - FIRST_S)
  const starts = partitionRows(db).map((row) => [recordsTable(row), endOf(db, row).offset])
  db.query("INSERT INTO epochs VALUES (?, ?)").run(epoch, JSON.stringify(Object.fromEntries(starts)))
}
