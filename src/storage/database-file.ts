import { Database, SQLiteError } from "bun:sqlite"
import { dirname, join } from "node:path"
import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import { looseMode, makePrivateDatabase, makePrivateFolder } from "./private-files.ts"
import {
  checkpointAll,
  HeldByReaders,
  recoverAlone,
  rewriteWal,
  syncFolder,
  syncParents,
} from "./recovery.ts"

export type DatabaseKind = "log" | "spool" | "dedupe store"

/** Where a database lies, and what it is called where a person reads of it. */
export interface DatabaseLocation {
  readonly file: string
  /** The lock of the one writer, and where that one leaves its process id. */
  readonly lockFile: string
  readonly holderFile: string
  /** `PRAGMA application_id`: four letters that tell one kind of file from another. */
  readonly applicationId: number
  readonly kind: DatabaseKind
  /** `The log in <directory>` */
  readonly title: string
  /** What to name instead of it: `another directory` */
  readonly alternative: string
}

/** The embedded log of a directory. */
export function logIn(directory: string): DatabaseLocation {
  return {
    file: join(directory, "log.sqlite"),
    lockFile: join(directory, "writer.lock"),
    holderFile: join(directory, "writer.pid"),
    applicationId: 0x484b4c4e, // HKLN
    kind: "log",
    title: `The log in ${directory}`,
    alternative: "another directory",
  }
}

/** `PRAGMA user_version`: raised when the tables change. */
const LAYOUT_VERSION = 1
const OPEN_BUSY_MS = 1000

export interface Layout {
  /** Of a file that is made now. */
  readonly pageBytes: number
  /** Makes the tables that are not there yet, within a transaction. */
  readonly createTables: (db: Database) => void
  /**
   * Whether a file that is made now can give free pages back to the disk. The pointer maps for it cost some 5 % of the
   * commits' throughput, measured on the commits alone.
   */
  readonly canShrink?: boolean
}

/**
 * Opens a file whose commits are durable when they return, and makes it when it is not there. What it holds is durable
 * then, whatever failed before.
 *
 * @throws HooklineError `log_io` for a file of another kind, HeldByReaders, SQLiteError, or Error of the system
 */
export function openDurably(
  location: DatabaseLocation,
  { pageBytes, createTables, canShrink = false }: Layout,
): Database {
  makePrivateDatabase(location.file)
  rewriteWal(location.file)
  recoverAlone(location.file)
  const db = new Database(location.file, { create: true, readwrite: true })
  try {
    // A reader that recovers or closes the file holds it for a moment.
    db.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
    checkIsKind(db, location)
    db.run(`PRAGMA page_size = ${pageBytes}`)
    // Counts for a file that is made now; one that is there stays as it is.
    if (canShrink) db.run("PRAGMA auto_vacuum = INCREMENTAL")
    db.run("PRAGMA journal_mode = WAL")
    db.run("PRAGMA synchronous = FULL")
    // The writer checkpoints after it has acknowledged, not within a commit that someone waits for.
    db.run("PRAGMA wal_autocheckpoint = 0")
    db.run("PRAGMA journal_size_limit = 16777216")
    db.transaction(() => {
      createTables(db)
      db.run(`PRAGMA application_id = ${location.applicationId}`)
      db.run(`PRAGMA user_version = ${LAYOUT_VERSION}`)
    }).immediate()
    syncFolder(dirname(location.file))
    checkpointAll(db, location.file)
    // From now on whoever calls decides how long to wait, and does not hold the event loop meanwhile.
    db.run("PRAGMA busy_timeout = 0")
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Makes the folder that a log's file lies in.
 *
 * @throws HooklineError `log_io`
 */
export function makeFolderOf({ file, title }: DatabaseLocation): void {
  try {
    const first = makePrivateFolder(dirname(file))
    if (first !== undefined) syncParents(first, dirname(file))
  } catch (error) {
    throw new HooklineError("log_io", `${title}: its directory can't be made: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Logs which files of a database, with their folder, others than their owner can get at, if any, and what to do. */
export function warnOfLoose({ file, lockFile, holderFile, title }: DatabaseLocation, log: Logger): void {
  const paths = [dirname(file), file, `${file}-wal`, `${file}-shm`, lockFile, holderFile]
  const loose = paths.flatMap((path) => looseMode(path) ?? [])
  if (loose.length === 0) return
  log.warn(
    { paths: loose },
    `${title} is open to other users of this machine; run chmod go-rwx on these paths`,
  )
}

/** @throws HooklineError `log_io` when the file is something else, or of a later layout */
export function checkIsKind(
  db: Database,
  { file, applicationId, kind, alternative }: DatabaseLocation,
): void {
  const pragma = (name: string): number =>
    db.query<{ [name: string]: number }, []>(`PRAGMA ${name}`).get()![name]!
  const id = pragma("application_id")
  const empty = id === 0 && db.query("SELECT 1 FROM sqlite_schema LIMIT 1").get() === null
  if (id !== applicationId && !empty)
    throw new HooklineError("log_io", `${file} is not a Hookline ${kind}; name ${alternative}`)
  const version = pragma("user_version")
  if (version > LAYOUT_VERSION) {
    throw new HooklineError(
      "log_io",
      `${file} was written by a later version of Hookline (layout ${version}, known up to ${LAYOUT_VERSION})`,
    )
  }
}

/** Whether another process holds the file for a moment: nothing was changed and the same call may be tried again. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && primaryCode(error) === "SQLITE_BUSY"
}

/** Whether the disk has no space for what was to be written. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof SQLiteError
    ? primaryCode(error) === "SQLITE_FULL"
    : (error as { code?: string } | undefined)?.code === "ENOSPC"
}

/** The code without what SQLite adds to it (`SQLITE_IOERR_WRITE`): https://sqlite.org/rescode.html */
function primaryCode({ code }: SQLiteError): string {
  return /^SQLITE_[A-Z]+/.exec(code ?? "")?.[0] ?? "SQLITE_ERROR"
}

/** What went wrong with a log's file, in a sentence that a person can act on. */
export function describeFailure(error: unknown, { file, kind, alternative }: DatabaseLocation): string {
  if (error instanceof HeldByReaders || error instanceof HooklineError) return error.message
  if (isDiskFull(error)) return `the disk of ${dirname(file)} is full`
  if (!(error instanceof SQLiteError)) {
    const message = error instanceof Error ? error.message : String(error)
    return `${file} can't be read or written: ${message}`
  }
  switch (primaryCode(error)) {
    case "SQLITE_NOTADB":
      return `${file} is not a Hookline ${kind}; name ${alternative}`
    case "SQLITE_CORRUPT":
      return `${file} is damaged (${error.message}); move it away, or restore it`
    case "SQLITE_CANTOPEN":
    case "SQLITE_READONLY":
    case "SQLITE_PERM":
      return `${file} can't be opened: no permission, or a read-only file system (${error.message})`
    default:
      return `${file} can't be read or written: ${error.message} (${error.code})`
  }
}
