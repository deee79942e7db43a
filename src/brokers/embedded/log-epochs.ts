import type { Database, Statement } from "bun:sqlite"
import { randomInt } from "node:crypto"
import { hasTable } from "../../storage/database-file.ts"
import type { PartitionEpochs } from "../log-place.ts"

/*
 * A log's leader epochs (KIP-320), in a table of its file. One begins with the first commit of each opening of the file, in its
 * transaction: of an epoch and offset no two records exist, whatever copies of the log there are. By its epoch a position tells
 * an earlier copy that was put back, which has other records at the offsets after its end, and where the two agree.
 *
 *   epochs
 *   epoch     starts
 *   59702400  {"records_1":100,"records_2":7,"id":3915…}
 *   59788800  {"records_1":120,"id":7290…}
 *
 * `starts` has the end of partitions, by their tables, when the epoch began. One that is not among them has had no record since
 * the last epoch that names it, and begins where it did then, without any at 0. Epoch 0 precedes them and has no row. An epoch's
 * number is its time in seconds since 2025, so that copies do not give one number to different records. Those that are opened in
 * one second do, which `id`, a random number, tells apart. Epochs whose records were all deleted are deleted, too.
 */

type Starts = { readonly [table: string]: number }

/** Among the starts; no table has this name. */
const ID = "id"

interface EpochRow {
  readonly epoch: number
  readonly starts: Starts
}

/** A partition's end, and its first offset, by its table. */
export type Extents = ReadonlyMap<string, { readonly first: number; readonly end: number }>

export class Epochs {
  /** Ascending. */
  readonly #all: readonly EpochRow[]
  readonly current: number

  constructor(all: readonly EpochRow[]) {
    this.#all = all
    this.current = all.at(-1)?.epoch ?? 0
  }

  /** The epoch of the record at an offset. */
  at(table: string, offset: number): number {
    const next = this.#all.findIndex(({ starts }) => (starts[table] ?? 0) > offset)
    return next === -1 ? this.current : (this.#all[next - 1]?.epoch ?? 0)
  }

  /** The newest epoch that is not after the one asked for. */
  upTo(epoch: number): number {
    return this.#all.findLast((one) => one.epoch <= epoch)?.epoch ?? 0
  }

  /** The offset at which a partition's records of an epoch end; undefined: no later epoch has begun. */
  endOf(epoch: number, table: string): number | undefined {
    const next = this.#all.findIndex((one) => one.epoch > epoch)
    return next === -1 ? undefined : this.#startOf(next, table)
  }

  /** Those of a partition. */
  of(table: string): PartitionEpochs {
    return {
      before: (offset) => {
        const number = this.at(table, offset - 1)
        const at = this.#all.findLastIndex((it) => it.epoch <= number)
        return { number, id: this.#all[at]?.starts[ID], start: this.#startOf(at, table) }
      },
      has: ({ number, id }) => {
        const known = this.#all.find(({ epoch }) => epoch === number)
        const knownId = known?.starts[ID]
        if (known !== undefined) return id === undefined || knownId === undefined || id === knownId
        // earlier ones may have been deleted
        return number < (this.#all[0]?.epoch ?? 1)
      },
      endOf: (epoch) => this.endOf(epoch, table),
    }
  }

  /**
   * Another epoch from the ends on.
   *
   * @returns its row and, in the place of those whose records were all deleted, `oldest`, if there are any
   */
  next(
    epoch: number,
    id: number,
    extents: Extents,
  ): { readonly row: EpochRow; readonly oldest: EpochRow | undefined } {
    const starts = new Map<string, number>()
    const add = (row: EpochRow): void => {
      for (const [table, start] of Object.entries(row.starts)) starts.set(table, start)
    }
    for (const row of this.#all) add(row)
    const moved = [...extents].filter(([table, { end }]) => end !== (starts.get(table) ?? 0))
    const starting = moved.map(([table, { end }]) => [table, end])
    const row = { epoch, starts: { ...(Object.fromEntries(starting) as Starts), [ID]: id } }
    const all = [...this.#all, row]
    const isLeft = (one: EpochRow): boolean =>
      Object.entries(one.starts).some(([table, start]) => start > (extents.get(table)?.first ?? start))
    const left = all.findIndex(isLeft)
    const oldest = (left === -1 ? all.length : left) - 1
    if (oldest <= 0) return { row, oldest: undefined }
    starts.clear()
    for (const one of all.slice(0, oldest + 1)) add(one)
    return { row, oldest: { epoch: all[oldest]!.epoch, starts: Object.fromEntries(starts) } }
  }

  #startOf(at: number, table: string): number {
    for (let from = at; from >= 0; from--) {
      const start = this.#all[from]!.starts[table]
      if (start !== undefined) return start
    }
    return 0
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

/** The epochs of a file that another process may be writing. */
export class EpochsRead {
  readonly #db: Database
  #newest: Statement<{ newest: number | null }, []> | undefined
  #epochs: Epochs | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** As of the last commit. Called after records were read, it knows their epochs. */
  get now(): Epochs {
    this.#newest ??= this.#prepare()
    const newest = this.#newest?.get()?.newest ?? 0
    if (this.#epochs?.current !== newest) this.#epochs = newest === 0 ? new Epochs([]) : readEpochs(this.#db)
    return this.#epochs!
  }

  close(): void {
    this.#newest?.finalize()
  }

  /** undefined: an older version wrote the file, and no newer one has opened it since. */
  #prepare(): Statement<{ newest: number | null }, []> | undefined {
    return hasTable(this.#db, "epochs")
      ? this.#db.prepare("SELECT max(epoch) AS newest FROM epochs")
      : undefined
  }
}

const FIRST_S = Date.UTC(2025, 0, 1) / 1000

/**
 * Begins an epoch, within a transaction.
 *
 * @param extents of all partitions @returns its number and id
 */
export function beginEpoch(
  db: Database,
  extents: Extents,
  nowMs = Date.now(),
): { readonly number: number; readonly id: number } {
  const before = readEpochs(db)
  const epoch = Math.max(before.current + 1, Math.floor(nowMs / 1000) - FIRST_S)
  const id = randomInt(2 ** 47)
  const { row, oldest } = before.next(epoch, id, extents)
  const put = db.query("INSERT OR REPLACE INTO epochs VALUES (?, ?)")
  put.run(row.epoch, JSON.stringify(row.starts))
  if (oldest === undefined) return { number: epoch, id }
  db.query("DELETE FROM epochs WHERE epoch < ?").run(oldest.epoch)
  put.run(oldest.epoch, JSON.stringify(oldest.starts))
  return { number: epoch, id }
}
