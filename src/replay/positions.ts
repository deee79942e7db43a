import { Database } from "bun:sqlite"
import { readdirSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { HooklineError } from "../errors.ts"
import { exists, whyUnreadable } from "../process/paths.ts"
import {
  checkIsKind,
  describeFailure,
  makeFolderOf,
  makeTemporariesInMemory,
  openDurably,
  type DatabaseLocation,
} from "../storage/database-file.ts"
import { OpenFiles } from "../storage/open-files.ts"
import { fsyncFolder } from "../storage/fsync.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import type { ReplayFailure, ReplayPosition } from "./progress.ts"

/*
 * Where a replay or a forward has got to, in a file of its own, `<kind>s/<name>.sqlite` in the state folder; in WAL mode
 * with synchronous=FULL. What is saved is durable when `save` returns, as a whole.
 *
 *   about      JSON: what is replayed or forwarded, and to where; replayed and failed, counts
 *   positions  partition | next: the next offset
 *   failures   partition | offset | timestamp of the record | at: when it was refused, both in milliseconds since 1970
 *              | reason
 *   waiting    why nothing is sent now, at most one row: since, in milliseconds since 1970 | reason, the last one. Of the
 *              process that has the lock
 *
 * One process at a time advances it, with a lock next to the file (storage/writer-lock.ts). Others may read it, or take
 * failures out of it.
 */
export type PositionKind = "replay" | "forward"

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

/** How long to wait for another process that commits at the same time. */
const BUSY_MS = 5000
const PAGE_BYTES = 4096
/** Pages of the WAL at which it is checkpointed. */
const WAL_PAGES = 256

export function positionFile(stateFolder: string, kind: PositionKind, name: string): DatabaseLocation {
  const path = join(stateFolder, `${kind}s`, name)
  return {
    file: `${path}.sqlite`,
    lockFile: `${path}.lock`,
    applicationId: 0x484b5053, // HKPS
    kind: "position file",
    title: `The position of ${kind} ${name}`,
    alternative: "another --name",
    remedy: "move it away, or restore a backup",
  }
}

/** The names of those that there are, sorted. */
export function namesIn(stateFolder: string, kind: PositionKind): string[] {
  const folder = join(stateFolder, `${kind}s`)
  if (!exists(folder)) return []
  const files = listed(folder).filter((name) => name.endsWith(".sqlite"))
  return files.map((name) => name.slice(0, -".sqlite".length)).toSorted()
}

/** @throws HooklineError `no_input` */
function listed(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch (cause) {
    throw new HooklineError("no_input", `${folder} ${whyUnreadable(cause)}`, { cause })
  }
}

/** A file of positions: of this process's replay or forward (`advance`), or that another process may be advancing (`open`). */
export class Positions<About> implements Disposable {
  readonly #location: DatabaseLocation
  readonly #db: Database
  readonly #advancing: { readonly files: OpenFiles; readonly unlock: () => void } | undefined
  #waiting: Waiting | undefined

  private constructor(
    location: DatabaseLocation,
    db: Database,
    advancing?: { readonly files: OpenFiles; readonly unlock: () => void },
  ) {
    this.#location = location
    this.#db = db
    this.#advancing = advancing
  }

  /** @throws HooklineError `log_locked` while another process advances it, `log_io` */
  static advance<About>(location: DatabaseLocation): Positions<About> {
    makeFolderOf(location, dirname(dirname(location.file)))
    const unlock = lockForWriting(location)
    try {
      const db = openDurably(location, { pageBytes: PAGE_BYTES, createTables })
      db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
      db.run(`PRAGMA wal_autocheckpoint = ${WAL_PAGES}`)
      // left by a process that was killed
      db.run("DELETE FROM waiting")
      return new Positions(location, db, { files: new OpenFiles(location), unlock })
    } catch (error) {
      unlock()
      throw failed(error, location)
    }
  }

  /** Opens it without advancing it. @throws HooklineError `no_input` if there is none, `log_io` */
  static open<About>(location: DatabaseLocation): Positions<About> {
    const { file, title } = location
    if (!exists(file)) throw new HooklineError("no_input", `${title} is not known: ${file} does not exist`)
    let db: Database | undefined
    try {
      db = new Database(file, { readwrite: true, create: false })
      db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
      makeTemporariesInMemory(db)
      db.run("PRAGMA synchronous = FULL")
      checkIsKind(db, location)
      return new Positions(location, db)
    } catch (error) {
      db?.close()
      throw failed(error, location)
    }
  }

  /** undefined: nothing was saved yet. */
  read(): Stored<About> | undefined {
    return this.#do(() => readStored<About>(this.#db))
  }

  /** Begins anew: nothing is left of what was saved before. */
  begin(about: About, position: ReplayPosition): void {
    this.#change(() => {
      for (const table of ["about", "positions", "failures"]) this.#db.run(`DELETE FROM ${table}`)
      this.#db.query("INSERT INTO about VALUES (1, ?, 0, 0)").run(JSON.stringify(about))
      this.#setPosition(position)
    })
  }

  /** Changes what the file says it is about. */
  describe(about: About): void {
    this.#change(() => this.#db.query("UPDATE about SET json = ?").run(JSON.stringify(about)))
  }

  save(position: ReplayPosition, failures: readonly ReplayFailure[] = []): void {
    this.#change(() => {
      this.#setPosition(position)
      for (const { partition, offset, timestampMs, reason } of failures)
        this.#db
          .query("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?)")
          .run(partition, offset, timestampMs, Date.now(), reason)
    })
  }

  /** Keeps why nothing is sent now, for other processes to show, from the first reason on; undefined: something is. */
  setWaiting(reason: string | undefined): void {
    if (reason === this.#waiting?.reason) return
    const sinceMs = this.#waiting?.sinceMs ?? Date.now()
    this.#waiting = reason === undefined ? undefined : { sinceMs, reason }
    this.#change(() => {
      this.#db.run("DELETE FROM waiting")
      if (reason !== undefined) this.#db.query("INSERT INTO waiting VALUES (?, ?)").run(sinceMs, reason)
    })
  }

  /** undefined: the process that has the lock, if one does, sends what the log has. */
  waiting(): Waiting | undefined {
    const row = this.#do(() =>
      this.#db.query<{ since: number; reason: string }, []>("SELECT * FROM waiting").get(),
    )
    return row === null ? undefined : { sinceMs: row.since, reason: row.reason }
  }

  /** Oldest first. */
  failures(): KeptFailure[] {
    return this.#do(() =>
      this.#db
        .query<{ partition: number; offset: number; timestamp: number; at: number; reason: string }, []>(
          "SELECT * FROM failures ORDER BY at, partition, offset",
        )
        .all()
        .map(({ timestamp, at, ...failure }) => ({ ...failure, timestampMs: timestamp, atMs: at })),
    )
  }

  countFailures(): number {
    return this.#do(() => this.#db.query<{ n: number }, []>("SELECT count(*) AS n FROM failures").get()!.n)
  }

  /** Changes the reason of a failure; undefined: it is none any more. */
  settle({ partition, offset }: KeptFailure, reason: string | undefined): void {
    this.#change(() => {
      if (reason === undefined)
        this.#db.query("DELETE FROM failures WHERE partition = ? AND offset = ?").run(partition, offset)
      else
        this.#db
          .query("UPDATE failures SET reason = ?, at = ? WHERE partition = ? AND offset = ?")
          .run(reason, Date.now(), partition, offset)
    })
  }

  close(): void {
    this.#db.close()
    this.#advancing?.unlock()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Closes it, and deletes its files. */
  remove(): void {
    this.#db.close()
    const { file, lockFile } = this.#location
    // the lock last: whoever takes a new one finds no file
    for (const path of [file, `${file}-wal`, `${file}-shm`, lockFile]) rmSync(path, { force: true })
    fsyncFolder(dirname(file))
    this.#advancing?.unlock()
  }

  #setPosition({ next, replayed, failed }: ReplayPosition): void {
    const set = this.#db.query("INSERT OR REPLACE INTO positions VALUES (?, ?)")
    for (const [partition, offset] of next) set.run(partition, offset)
    this.#db.query("UPDATE about SET replayed = ?, failed = ?").run(replayed, failed)
  }

  #change(change: () => void): void {
    this.#do(() => {
      this.#db.transaction(change).immediate()
      this.#advancing?.files.checkPaths()
    })
  }

  #do<T>(action: () => T): T {
    try {
      return action()
    } catch (error) {
      throw failed(error, this.#location)
    }
  }
}

function createTables(db: Database): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS about (
      id INTEGER PRIMARY KEY, json TEXT NOT NULL, replayed INTEGER NOT NULL, failed INTEGER NOT NULL
    ) STRICT`,
  )
  db.run("CREATE TABLE IF NOT EXISTS waiting (since INTEGER NOT NULL, reason TEXT NOT NULL) STRICT")
  db.run("CREATE TABLE IF NOT EXISTS positions (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT")
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
    return { about: JSON.parse(json) as About, position: { next, replayed, failed } }
  })()
}

function failed(error: unknown, location: DatabaseLocation): HooklineError {
  if (error instanceof HooklineError) return error
  return new HooklineError("log_io", describeFailure(error, location), { cause: error })
}
