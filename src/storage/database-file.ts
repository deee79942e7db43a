import { Database, SQLiteError } from "bun:sqlite"
import { accessSync, constants } from "node:fs"
import { dirname, join } from "node:path"
import { HooklineError } from "../errors.ts"
import { whyRefused } from "../process/paths.ts"
import { limitOf } from "../process/limits.ts"
import type { Logger } from "../telemetry/log.ts"
import { Damage, DamagedFile, primaryCode, ReadError, whyUnread } from "./damage.ts"
import { refuseHalfRestored } from "./half-restored.ts"
import { lacksInodes, NO_INODES } from "./inodes.ts"
import { looseMode, makeIgnoredFolder, makePrivateDatabase, makePrivateFolder } from "./private-files.ts"
import { fsyncFolder, fsyncParents } from "./fsync.ts"
import { MOST_WAL_BYTES } from "./open-files.ts"
import { checkpointAll, HeldByReaders, rewriteWal } from "./recovery.ts"

export type DatabaseKind =
  | "log"
  | "spool"
  | "dedupe store"
  | "group store"
  | "position file"
  | "service store"
  | "writer lock"

export interface DatabaseLocation {
  readonly file: string
  /** The writer's lock: `<name>.lock`. Its process id is in `<name>.pid`. */
  readonly lockFile: string
  /** `PRAGMA application_id`: four letters for the kind. */
  readonly applicationId: number
  /** Those of extensions have kinds of their own. */
  readonly kind: DatabaseKind | (string & {})
  /** `The log in <directory>` */
  readonly title: string
  /** For messages: `another directory` */
  readonly alternative: string
  /** For messages: what to do when its pages are damaged. */
  readonly remedy: string
}

/** The writer's lock, an empty database. */
export const lockOf = (location: DatabaseLocation): DatabaseLocation => ({
  ...location,
  file: location.lockFile,
  applicationId: 0,
  kind: "writer lock",
})

export const holderFileOf = (lockFile: string): string => lockFile.replace(/lock$/, "pid")

/** The embedded log of a directory. */
export function logIn(directory: string): DatabaseLocation {
  return {
    file: join(directory, "log.sqlite"),
    lockFile: join(directory, "writer.lock"),
    applicationId: 0x484b4c4e, // HKLN
    kind: "log",
    title: `The log in ${directory}`,
    alternative: "another directory",
    remedy: "stop Hookline, then restore a backup, or copy what can be read with hookline log rescue",
  }
}

/**
 * `PRAGMA user_version` of a new file, and of the latest layout that is known, that of a log whose records have a clock; 2 was
 * a log with several partitions, 3 one whose records have checksums.
 */
const LAYOUT_VERSION = 1
const LATEST_LAYOUT = 4
const OPEN_BUSY_MS = 1000

export interface Layout {
  /** Page size of a new file. */
  readonly pageBytes: number
  /** Creates missing tables, within a transaction. */
  readonly createTables: (db: Database) => void
  /** Whether a new file can return free pages to the disk; its pointer maps cost some 5 % of the commits' throughput. */
  readonly canShrink?: boolean
}

/**
 * Opens or creates a file whose commits are durable when they return. So is its content then, whatever failed before; `lost`
 * pages need `recoverAlone` first.
 *
 * @throws HooklineError `log_io` for a file of another kind, HeldByReaders, SQLiteError, or Error of the system
 */
export function openDurably(
  location: DatabaseLocation,
  { pageBytes, createTables, canShrink = false }: Layout,
): Database {
  const { file } = location
  refuseHalfRestored(file)
  makePrivateDatabase(file)
  rewriteWal(file)
  const db = new Database(file, { create: true, readwrite: true })
  try {
    makeTemporariesInMemory(db)
    // readers lock the file for a moment when they recover or close it
    db.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
    checkIsKind(db, location)
    db.run(`PRAGMA page_size = ${pageBytes}`)
    // has an effect on a new file only
    if (canShrink) db.run("PRAGMA auto_vacuum = INCREMENTAL")
    db.run("PRAGMA journal_mode = WAL")
    db.run("PRAGMA synchronous = FULL")
    // the writer checkpoints after its answers, not within a commit
    db.run("PRAGMA wal_autocheckpoint = 0")
    db.run(`PRAGMA journal_size_limit = ${MOST_WAL_BYTES}`)
    db.transaction(() => {
      createTables(db)
      db.run(`PRAGMA application_id = ${location.applicationId}`)
      if (pragma(db, "user_version") === 0) db.run(`PRAGMA user_version = ${LAYOUT_VERSION}`)
    }).immediate()
    fsyncFolder(dirname(file))
    checkpointAll(db, file)
    // callers repeat what was busy
    db.run("PRAGMA busy_timeout = 0")
    return db
  } catch (error) {
    const why = whyUnread(error, file, db)
    db.close()
    throw why
  }
}

/** How long a reader waits for locks that are held while the file is recovered or closed. */
export const READING_BUSY_MS = 5000

/** Opens a file that any process may be writing. @throws HooklineError `no_input` if it is another kind of file, or unreadable */
export function openForReading(location: DatabaseLocation): Database {
  let db: Database | undefined
  try {
    refuseHalfRestored(location.file)
    // Read-only, it never checkpoints when it closes: only the writer does, once the WAL is known to be durable.
    db = new Database(location.file, { readonly: true })
    db.run(`PRAGMA busy_timeout = ${READING_BUSY_MS}`)
    makeTemporariesInMemory(db)
    checkIsKind(db, location)
    return db
  } catch (error) {
    const cause = whyUnread(error, location.file, db)
    db?.close()
    if (cause instanceof ReadError) throw cause
    throw new HooklineError("no_input", describeFailure(cause, location), { cause })
  }
}

/**
 * Keeps what SQLite would write to files in $TMPDIR or /var/tmp, another disk that may be full or missing: less than
 * 200 KB of pages while partitions are added, partitions while they are sorted, and up to 1 MiB of a spool that is rewritten.
 */
export const makeTemporariesInMemory = (db: Database): void => void db.run("PRAGMA temp_store = MEMORY")

/** Creates the folder of a database. @param ignored a folder above it, new ones ignored by git. @throws HooklineError `log_io` */
export function makeFolderOf({ file, title }: DatabaseLocation, ignored?: string): void {
  try {
    const above = ignored === undefined ? undefined : makeIgnoredFolder(ignored)
    const first = above ?? makePrivateFolder(dirname(file))
    if (above !== undefined) makePrivateFolder(dirname(file))
    if (first !== undefined) fsyncParents(first, dirname(file))
  } catch (error) {
    const reason = `${title}: its directory can't be made: ${whyRefused(error, dirname(file))}`
    throw new HooklineError("log_io", reason, { cause: error })
  }
}

/** Logs which files of a database, and its folder, are open to others than their owner. */
export function warnOfLoose({ file, lockFile, title }: DatabaseLocation, log: Logger): void {
  const paths = [dirname(file), file, `${file}-wal`, `${file}-shm`, lockFile, holderFileOf(lockFile)]
  const loose = paths.flatMap((path) => looseMode(path) ?? [])
  if (loose.length === 0) return
  log.warn(
    { paths: loose },
    `${title} is open to other users of this machine; run chmod go-rwx on these paths`,
  )
}

/** @throws HooklineError `log_io` for a file of another kind, or a later layout */
export function checkIsKind(db: Database, location: DatabaseLocation): void {
  const { file, applicationId } = location
  const id = pragma(db, "application_id")
  const empty = id === 0 && db.query("SELECT 1 FROM sqlite_schema LIMIT 1").get() === null
  if (id !== applicationId && !empty) throw new HooklineError("log_io", isNot(location))
  const version = pragma(db, "user_version")
  if (version > LATEST_LAYOUT) {
    throw new HooklineError(
      "log_io",
      `${file} was written by a later version of Hookline (layout ${version}, known up to ${LATEST_LAYOUT})`,
    )
  }
}

export const pragma = (db: Database, name: string): number =>
  db.query<{ [name: string]: number }, []>(`PRAGMA ${name}`).get()![name]!

const isNot = ({ file, kind, alternative }: DatabaseLocation): string =>
  `${file} is not a Hookline ${kind}; name ${alternative}`

/** Whether another process holds a lock: nothing was changed, and the call may be repeated. */
export function isBusy(error: unknown): boolean {
  return error instanceof SQLiteError && primaryCode(error) === "SQLITE_BUSY"
}

export function isDiskFull(error: unknown): boolean {
  return error instanceof SQLiteError
    ? primaryCode(error) === "SQLITE_FULL"
    : (error as { code?: string } | undefined)?.code === "ENOSPC"
}

/** Whether a file has a table: one that an earlier version wrote, and no later one has opened, may not. */
export const hasTable = (db: Database, name: string): boolean =>
  db.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(name) !== null

/** SQLite's limit of 512 with what it appends to the name, in bytes. */
const MOST_PATH_BYTES = 504

export function describeTooLong(file: string): string | undefined {
  const bytes = Buffer.byteLength(file)
  if (bytes <= MOST_PATH_BYTES) return undefined
  return `the path ${file} has ${bytes} bytes, and SQLite opens none above ${MOST_PATH_BYTES}; name a shorter one`
}

/** SQLite does not say why; undefined: the system permits it. */
function whyNotOpened(file: string): string | undefined {
  for (const path of [dirname(file), file, `${file}-wal`, `${file}-shm`]) {
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") return whyRefused(error, path)
    }
  }
  return lacksInodes(file) ? NO_INODES : undefined
}

/** For operators: what went wrong, and what to do. */
export function describeFailure(error: unknown, location: DatabaseLocation): string {
  const { file } = location
  if (error instanceof HeldByReaders || error instanceof HooklineError) return error.message
  if (error instanceof Damage) return new DamagedFile(location, error.message).message
  if (isDiskFull(error)) return `the disk of ${dirname(file)} is full`
  const unread = whyUnread(error, file)
  if (unread instanceof ReadError) return unread.message
  if (!(error instanceof SQLiteError)) {
    const message = error instanceof Error ? error.message : String(error)
    return `${file} can't be read or written: ${message}${(error as { code?: string }).code === "EFBIG" ? sizeLimit() : ""}`
  }
  switch (primaryCode(error)) {
    case "SQLITE_NOTADB":
      return isNot(location)
    case "SQLITE_CORRUPT":
    // the length of a row; none is written that is too large
    case "SQLITE_TOOBIG":
      return new DamagedFile(location, error.message).message
    case "SQLITE_CANTOPEN":
    case "SQLITE_READONLY":
    case "SQLITE_PERM":
      return describeTooLong(file) ?? `${file} can't be opened: ${whyNotOpened(file) ?? error.message}`
    default:
      return `${file} can't be read or written: ${error.message} (${error.code})${error.code === "SQLITE_IOERR_WRITE" ? sizeLimit() : ""}`
  }
}

/** What a failed write may have met. SQLite does not say that it was EFBIG. */
function sizeLimit(): string {
  const bytes = limitOf("Max file size")
  return bytes === undefined ? "" : `; this process may write files of ${bytes} bytes at most (ulimit -f)`
}
