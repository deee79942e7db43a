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
import { refuseHalfRestored } from "../storage/half-restored.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { createPositionTables, PAGE_BYTES, PositionTables, type TableUse } from "./position-tables.ts"

export type PositionKind = "replay" | "forward" | "handler"

/** How long to wait for another process that commits at the same time. */
const BUSY_MS = 5000
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

/** The names of those that there are, sorted. @throws HooklineError `no_input` */
export function namesIn(stateFolder: string, kind: PositionKind): string[] {
  const folder = join(stateFolder, `${kind}s`)
  if (!exists(folder)) return []
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".sqlite"))
      .map((name) => name.slice(0, -".sqlite".length))
      .toSorted()
  } catch (cause) {
    throw new HooklineError("no_input", `${folder} ${whyUnreadable(cause)}`, { cause })
  }
}

/** A file of positions: of this process's replay or forward (`advance`), or that another process may be advancing (`open`). */
export class Positions<About> extends PositionTables<About> implements Disposable {
  readonly #location: DatabaseLocation
  readonly #db: Database
  readonly #advancing: Advancing | undefined

  private constructor(location: DatabaseLocation, db: Database, advancing?: Advancing) {
    super(db, useOf(db, location, advancing))
    this.#location = location
    this.#db = db
    this.#advancing = advancing
  }

  /** @throws HooklineError `log_locked` while another process advances it, `log_io` */
  static advance<About>(location: DatabaseLocation): Positions<About> {
    makeFolderOf(location, dirname(dirname(location.file)))
    const unlock = lockForWriting(location)
    try {
      const db = openDurably(location, { pageBytes: PAGE_BYTES, createTables: createPositionTables })
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
      refuseHalfRestored(file)
      db = new Database(file, { readwrite: true, create: false })
      db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
      makeTemporariesInMemory(db)
      db.run("PRAGMA synchronous = FULL")
      checkIsKind(db, location)
      createPositionTables(db)
      return new Positions(location, db)
    } catch (error) {
      db?.close()
      throw failed(error, location)
    }
  }

  close(): void {
    this.#advancing?.files[Symbol.dispose]()
    this.#db.close()
    this.#advancing?.unlock()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** Closes it, and deletes its files. */
  remove(): void {
    this.#advancing?.files[Symbol.dispose]()
    this.#db.close()
    const { file, lockFile } = this.#location
    // the lock last: whoever takes a new one finds no file
    for (const path of [file, `${file}-wal`, `${file}-shm`, lockFile]) rmSync(path, { force: true })
    fsyncFolder(dirname(file))
    this.#advancing?.unlock()
  }
}

interface Advancing {
  readonly files: OpenFiles
  readonly unlock: () => void
}

/** @throws HooklineError `log_io` */
function useOf(db: Database, location: DatabaseLocation, advancing: Advancing | undefined): TableUse {
  const attempt = <T>(action: () => T): T => {
    try {
      return action()
    } catch (error) {
      throw failed(error, location)
    }
  }
  return {
    do: attempt,
    change: (action) =>
      attempt(() => {
        db.transaction(action).immediate()
        advancing?.files.checkPaths()
      }),
  }
}

function failed(error: unknown, location: DatabaseLocation): HooklineError {
  if (error instanceof HooklineError) return error
  return new HooklineError("log_io", describeFailure(error, location), { cause: error })
}
