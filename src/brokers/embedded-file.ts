import { Database, SQLiteError } from "bun:sqlite"
import { dirname, join } from "node:path"
import { HooklineError } from "../errors.ts"
import { makePrivateDatabase, makePrivateFolder } from "../storage/private-files.ts"
import {
  checkpointAll,
  HeldByReaders,
  recoverAlone,
  rewriteWal,
  syncFolder,
  syncParents,
} from "./embedded-recovery.ts"

/*
 * A log's file, of the embedded log `log.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   topics                                       records_<topics.id>, one table a topic
 *   id  name      first_offset  first_position   offset  end_position  timestamp  key   headers  value
 *   1   webhooks  2             900              2       1310          1795…      NULL  NULL     {"id":…
 *   2   audit     0             0                3       1742          1795…      NULL  NULL     {"id":…
 *
 * - `offset` is the rowid: records are appended at the right edge of a B-tree of their own, whose pages stay full.
 * - `end_position` counts the bytes of keys, values and packed headers of the topic from its first record ever to the end of this one:
 *   the bytes from one record to another are a subtraction.
 * - `first_offset` is the oldest record kept, or the next one to come when none is, and `first_position` where it
 *   begins: offsets go on from where they were even when everything was deleted. Retention moves both; publishing
 *   touches only the records' table, so that a commit writes no page more than it must.
 * - `timestamp` is in milliseconds since 1970. `headers` are packed as in embedded-headers.ts, NULL when there are none.
 *
 * What a crash leaves: a batch is one transaction, there whole or not at all. Acknowledgements follow the fsync of the
 * WAL, so what was acknowledged is there; a batch that was committed and not yet acknowledged may be there too. What a
 * failed fsync leaves is told in embedded-recovery.ts.
 */
/** Where a log lies, and what it is called where a person reads of it. */
export interface LogPlace {
  readonly file: string
  /** The lock of the one writer, and where that one names itself. */
  readonly lockFile: string
  readonly holderFile: string
  /** `PRAGMA application_id`: four letters that tell one kind of file from another. */
  readonly applicationId: number
  readonly kind: "log" | "spool" | "memory of marks"
  /** `The log in <directory>` */
  readonly title: string
  /** What to name instead of it: `another directory` */
  readonly alternative: string
}

/** The embedded log of a directory. */
export function logIn(directory: string): LogPlace {
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
/** Large pages cost less a record: fewer frames in the WAL, fewer writes. Measured from 4 to 64 KiB. */
export const PAGE_BYTES = 16_384
const OPEN_BUSY_MS = 1000

export interface TopicRow {
  readonly id: number
  readonly name: string
  readonly first_offset: number
  readonly first_position: number
}

export const recordsTable = (topicId: number): string => `records_${topicId}`

/**
 * Opens the log's file for writing and makes it when it is not there. Writes to it, so that a file that can't be
 * written is known at once.
 *
 * @throws HooklineError `log_io` for a file that is no log, or SQLiteError
 */
export function openLogFile(place: LogPlace): Database {
  const createTables = (db: Database): void =>
    void db.run(
      `CREATE TABLE IF NOT EXISTS topics (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        first_offset INTEGER NOT NULL DEFAULT 0,
        first_position INTEGER NOT NULL DEFAULT 0
      ) STRICT`,
    )
  return openDurably(place, PAGE_BYTES, createTables, place.kind === "log")
}

/**
 * Opens a file whose commits are durable when they return, and makes it when it is not there. What it holds is durable
 * then, whatever failed before.
 *
 * @param pageBytes of a file that is made now
 * @param createTables makes the tables that are not there yet, within a transaction
 * @param canShrink whether a file that is made now can give free pages back to the disk. The pointer maps for it cost some
 *   5 % of the commits' throughput, measured on the commits alone
 * @throws HooklineError `log_io` for a file of another kind, HeldByReaders, SQLiteError, or Error of the system
 */
export function openDurably(
  place: LogPlace,
  pageBytes: number,
  createTables: (db: Database) => void,
  canShrink = false,
): Database {
  makePrivateDatabase(place.file)
  rewriteWal(place.file)
  recoverAlone(place.file)
  const db = new Database(place.file, { create: true, readwrite: true })
  try {
    // A reader that recovers or closes the file holds it for a moment.
    db.run(`PRAGMA busy_timeout = ${OPEN_BUSY_MS}`)
    checkIsLog(db, place)
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
      db.run(`PRAGMA application_id = ${place.applicationId}`)
      db.run(`PRAGMA user_version = ${LAYOUT_VERSION}`)
    }).immediate()
    syncFolder(dirname(place.file))
    checkpointAll(db, place.file)
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
export function makeFolderOf({ file, title }: LogPlace): void {
  try {
    const first = makePrivateFolder(dirname(file))
    if (first !== undefined) syncParents(first, dirname(file))
  } catch (error) {
    throw new HooklineError("log_io", `${title}: its directory can't be made: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/** Makes a topic's table. */
export function createRecordsTable(db: Database, topicId: number): void {
  db.run(
    `CREATE TABLE ${recordsTable(topicId)} (
      offset INTEGER PRIMARY KEY,
      end_position INTEGER NOT NULL,
      timestamp INTEGER NOT NULL,
      key BLOB,
      headers BLOB,
      value BLOB NOT NULL
    ) STRICT`,
  )
}

/** @throws HooklineError `log_io` when the file is something else, or of a later layout */
export function checkIsLog(db: Database, { file, applicationId, kind, alternative }: LogPlace): void {
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

/** Whether the disk has no room for what was to be written. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof SQLiteError
    ? primaryCode(error) === "SQLITE_FULL"
    : (error as { code?: string }).code === "ENOSPC"
}

/** The code without what SQLite adds to it (`SQLITE_IOERR_WRITE`): https://sqlite.org/rescode.html */
function primaryCode({ code }: SQLiteError): string {
  return /^SQLITE_[A-Z]+/.exec(code ?? "")?.[0] ?? "SQLITE_ERROR"
}

/** What went wrong with a log's file, in a sentence that a person can act on. */
export function describeFailure(error: unknown, { file, kind, alternative }: LogPlace): string {
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
