import { Database } from "bun:sqlite"
import type { Epoch } from "../brokers/log-place.ts"
import type { ReplayFailure, ReplayPosition } from "./progress.ts"

/*
 * Where a replay or a forward has got to, in a file of its own, `<kind>s/<name>.sqlite` in the state folder; in WAL mode
 * with synchronous=FULL. What is saved is durable when `save` returns, as a whole.
 *
 *   about      JSON: what is replayed or forwarded, and to where; replayed and failed, counts
 *   positions  partition | next: the next offset
 *   epochs     partition | number | start | id: the leader epoch of the record before it, with its first offset
 *   failures   partition | offset | timestamp of the record | at: when it was refused, both in milliseconds since 1970
 *              | reason
 *   waiting    why nothing is sent now, at most one row: since, in milliseconds since 1970 | reason, the last one. Of the
 *              process that has the lock
 *   paused     one row while nothing is to be sent: since, in milliseconds since 1970
 *
 * One process at a time advances it, with a lock next to the file (storage/writer-lock.ts). Others may read it, pause it, or
 * take failures out of it.
 */
export const PAGE_BYTES = 4096

/** A refused record as it is kept. */
export interface KeptFailure extends Pick<ReplayFailure, "partition" | "offset" | "timestampMs" | "reason"> {
  /** When it was refused, in milliseconds since 1970. */
  readonly atMs: number
}

/** Why nothing is sent now. */
export interface Waiting {
  /** Milliseconds since 1970. */
  readonly sinceMs: number
  readonly reason: string
}

/** What a file holds in addition to failures. */
export interface Stored<About> {
  readonly about: About
  readonly position: ReplayPosition
}

/** Where the position of a forward is kept. What `save` was given is durable when it returns, or resolves. */
export interface PositionStore<About> {
  read(): Promise<Stored<About> | undefined> | Stored<About> | undefined
  begin(about: About, position: ReplayPosition): Promise<void> | void
  describe(about: About): Promise<void> | void
  save(position: ReplayPosition, failures: readonly ReplayFailure[]): Promise<void> | void
  /** Sets partitions back to where the log and the position agree; what was refused from there on is forgotten. */
  setBack(position: ReplayPosition): Promise<void> | void
  setWaiting(reason: string | undefined): Promise<void> | void
  /** Whether nothing is to be sent. Other processes may change it. */
  isPaused(): Promise<boolean> | boolean
}

/** One that has the pause of its own, where no group has it. */
export interface PositionFile<About> extends PositionStore<About> {
  setPaused(isPaused: boolean): Promise<void> | void
}

/** How a file's tables are used. */
export interface TableUse {
  do<T>(action: () => T): T
  /** Commits changes durably, all or none. */
  change(action: () => void): void
}

const NO_EPOCHS: ReadonlyMap<number, Epoch> = new Map()

/** The tables of a file of positions. */
export class PositionTables<About> {
  readonly #db: Database
  readonly #how: TableUse
  #waiting: Waiting | undefined
  /** What was written last, by partition. */
  readonly #epochs = new Map<number, Epoch>()

  constructor(db: Database, how: TableUse) {
    this.#db = db
    this.#how = how
  }

  /** undefined: nothing was saved yet. */
  read(): Stored<About> | undefined {
    return this.#how.do(() => readStored<About>(this.#db))
  }

  /** Begins anew: nothing is left of what was saved before. */
  begin(about: About, position: ReplayPosition): void {
    this.#how.change(() => {
      this.#epochs.clear()
      for (const table of ["about", "positions", "epochs", "failures"]) this.#db.run(`DELETE FROM ${table}`)
      this.#db.query("INSERT INTO about VALUES (1, ?, 0, 0)").run(JSON.stringify(about))
      this.#setPosition(position)
    })
  }

  /** Changes what the file says it is about. */
  describe(about: About): void {
    this.#how.change(() => this.#db.query("UPDATE about SET json = ?").run(JSON.stringify(about)))
  }

  save(position: ReplayPosition, failures: readonly ReplayFailure[] = []): void {
    this.#how.change(() => {
      this.#setPosition(position)
      for (const { partition, offset, timestampMs, reason } of failures)
        this.#db
          .query("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)")
          .run(partition, offset, timestampMs, Date.now(), reason)
    })
  }

  setBack(position: ReplayPosition): void {
    this.#how.change(() => {
      this.#setPosition(position)
      for (const [partition, offset] of position.next)
        this.#db.query("DELETE FROM failures WHERE partition = ? AND offset >= ?").run(partition, offset)
    })
  }

  /** Keeps why nothing is sent now, for other processes to show, from the first reason on; undefined: something is. */
  setWaiting(reason: string | undefined): void {
    if (reason === this.#waiting?.reason) return
    const sinceMs = this.#waiting?.sinceMs ?? Date.now()
    this.#waiting = reason === undefined ? undefined : { sinceMs, reason }
    this.#how.change(() => {
      this.#db.run("DELETE FROM waiting")
      if (reason !== undefined) this.#db.query("INSERT INTO waiting VALUES (?, ?)").run(sinceMs, reason)
    })
  }

  /** undefined: the process that has the lock, if one does, sends what the log has. */
  waiting(): Waiting | undefined {
    const row = this.#how.do(() =>
      this.#db.query<{ since: number; reason: string }, []>("SELECT * FROM waiting").get(),
    )
    return row === null ? undefined : { sinceMs: row.since, reason: row.reason }
  }

  isPaused(): boolean {
    return this.#how.do(() => this.#db.query("SELECT * FROM paused").get() !== null)
  }

  setPaused(isPaused: boolean): void {
    this.#how.change(() => {
      this.#db.run("DELETE FROM paused")
      if (isPaused) this.#db.query("INSERT INTO paused VALUES (?)").run(Date.now())
    })
  }

  /** Oldest first. */
  failures(): KeptFailure[] {
    return this.#how.do(() =>
      this.#db
        .query<{ partition: number; offset: number; timestamp: number; at: number; reason: string }, []>(
          "SELECT * FROM failures ORDER BY at, partition, offset",
        )
        .all()
        .map(({ timestamp, at, ...failure }) => ({ ...failure, timestampMs: timestamp, atMs: at })),
    )
  }

  countFailures(): number {
    return this.#how.do(
      () => this.#db.query<{ n: number }, []>("SELECT count(*) AS n FROM failures").get()!.n,
    )
  }

  /** Changes the reason of a failure; undefined: it is none any more. */
  settle({ partition, offset }: KeptFailure, reason: string | undefined): void {
    this.#how.change(() => {
      if (reason === undefined)
        this.#db.query("DELETE FROM failures WHERE partition = ? AND offset = ?").run(partition, offset)
      else
        this.#db
          .query("UPDATE failures SET reason = ?, at = ? WHERE partition = ? AND offset = ?")
          .run(reason, Date.now(), partition, offset)
    })
  }

  #setPosition({ next, replayed, failed, epochs = NO_EPOCHS }: ReplayPosition): void {
    const set = this.#db.query("INSERT OR REPLACE INTO positions VALUES (?, ?)")
    for (const [partition, offset] of next) set.run(partition, offset)
    for (const [partition, epoch] of epochs) {
      const { number, start, id } = epoch
      const before = this.#epochs.get(partition)
      if (before?.number === number && before.id === id) continue
      this.#db
        .query("INSERT OR REPLACE INTO epochs (partition, number, start, id) VALUES (?, ?, ?, ?)")
        .run(partition, number, start, id ?? null)
      this.#epochs.set(partition, epoch)
    }
    this.#db.query("UPDATE about SET replayed = ?, failed = ?").run(replayed, failed)
  }
}

export function createPositionTables(db: Database): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS about (
      id INTEGER PRIMARY KEY, json TEXT NOT NULL, replayed INTEGER NOT NULL, failed INTEGER NOT NULL
    ) STRICT`,
  )
  db.run("CREATE TABLE IF NOT EXISTS waiting (since INTEGER NOT NULL, reason TEXT NOT NULL) STRICT")
  db.run("CREATE TABLE IF NOT EXISTS paused (since INTEGER NOT NULL) STRICT")
  db.run("CREATE TABLE IF NOT EXISTS positions (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT")
  db.run(
    `CREATE TABLE IF NOT EXISTS epochs (
      partition INTEGER PRIMARY KEY, number INTEGER NOT NULL, start INTEGER NOT NULL, id INTEGER
    ) STRICT`,
  )
  const hasIds = db.query("SELECT 1 FROM pragma_table_info('epochs') WHERE name = 'id'").get() !== null
  // of an earlier version
  if (!hasIds) db.run("ALTER TABLE epochs ADD COLUMN id INTEGER")
  db.run(
    `CREATE TABLE IF NOT EXISTS failures (
      partition INTEGER NOT NULL, offset INTEGER NOT NULL, timestamp INTEGER NOT NULL, at INTEGER NOT NULL,
      reason TEXT NOT NULL, PRIMARY KEY (partition, offset)
    ) STRICT`,
  )
}

function readStored<About>(db: Database): Stored<About> | undefined {
  return db.transaction(() => {
    const row = db.query<{ json: string; replayed: number; failed: number }, []>("SELECT * FROM about").get()
    if (row === null) return undefined
    const positions = db.query<{ partition: number; next: number }, []>("SELECT * FROM positions").all()
    const { json, replayed, failed } = row
    const next = new Map(positions.map(({ partition, next: offset }) => [partition, offset]))
    const epochs = new Map(
      db
        .query<Epoch & { partition: number; id?: number | null }, []>("SELECT * FROM epochs")
        .all()
        .map(({ partition, number, start, id }) => [partition, { number, start, id: id ?? undefined }]),
    )
    return { about: JSON.parse(json) as About, position: { next, replayed, failed, epochs } }
  })()
}

/** The position in a log that ends with the process. */
export function positionsInMemory<About>(): PositionTables<About> {
  const db = new Database(":memory:")
  createPositionTables(db)
  return new PositionTables(db, { do: (action) => action(), change: (action) => db.transaction(action)() })
}
