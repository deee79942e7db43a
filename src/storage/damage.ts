import { constants, SQLiteError, type Database } from "bun:sqlite"
import { getSystemErrorName } from "node:util"
import { HooklineError } from "../errors.ts"

/*
 * Pages that are not what was written, and pages that the disk does not read.
 *
 * SQLite has one code for both (SQLITE_CORRUPT): a read that fails with EIO or ENXIO it takes for a file system that is corrupt.
 * They are told apart by the errno of the last failed call on the database's file, which a connection keeps until it is closed
 * (SQLITE_FCNTL_LAST_ERRNO). So a connection is given up with its first read error, and another one is opened: an errno of
 * before would make a read error of all damage. The errno of the WAL's file is not to be had; open-files.ts reads the WAL.
 */

/** Pages of a database are not what was written to them. Until a restart nothing is read from it or written to it. */
export class DamagedFile extends HooklineError {
  /** The damaged part: `topic webhooks, partition 0: …` */
  readonly what: string

  constructor(
    { file, remedy }: { readonly file: string; readonly remedy: string },
    what: string,
    cause?: unknown,
  ) {
    super("log_io", `${file} is damaged (${what}); ${remedy}`, { cause })
    this.name = "DamagedFile"
    this.what = what
  }
}

/** Damage that whoever opened the file reports as that of a DamagedFile. */
export class Damage extends Error {
  /** @param what `topic webhooks, partition 0: …` */
  constructor(what: string) {
    super(what)
    this.name = "Damage"
  }
}

/** The disk does not read a file, which is not known to be damaged, and may be read again later. */
export class ReadError extends HooklineError {
  constructor(file: string, code: string, cause?: unknown) {
    super(
      "log_io",
      `${file} can't be read: its disk answers with a read error (${code}), which is no damage of the file; the system's log (dmesg, journalctl -k) says of which disk; it is tried again, and once it is read Hookline goes on by itself`,
      { cause },
    )
    this.name = "ReadError"
  }
}

/** The primary code of an extended one like `SQLITE_IOERR_WRITE`: https://sqlite.org/rescode.html */
export function primaryCode({ code }: SQLiteError): string {
  return /^SQLITE_[A-Z]+/.exec(code ?? "")?.[0] ?? "SQLITE_ERROR"
}

/** Whether an error says that a file is damaged. Where its connection is open, `meetsDamage` knows more. */
export function isDamage(error: unknown): boolean {
  return error instanceof SQLiteError
    ? ["SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_TOOBIG"].includes(primaryCode(error))
    : error instanceof DamagedFile || error instanceof Damage
}

/** Connections for which a page that can't be read is as lost as a damaged one. */
const salvaging = new WeakSet<Database>()

/** Has what can't be read of a connection's file be taken for damaged, for who copies or names the rest. */
export const salvage = (db: Database): void => void salvaging.add(db)

/** Whether an error of a connection that is open is damage. @throws ReadError if its disk has not read what it is about */
export function meetsDamage(db: Database, error: unknown): boolean {
  if (!isDamage(error)) return false
  if (salvaging.has(db)) return true
  const cause = whyUnread(error, db.filename, db)
  if (cause instanceof ReadError) throw cause
  return true
}

/** Returns what is read, or undefined where that meets damage. @throws ReadError */
export function unlessDamaged<T>(db: Database, read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (meetsDamage(db, error)) return undefined
    throw error
  }
}

/**
 * The ReadError that an error stands for, or the error itself.
 *
 * @param db its connection, still open; absent: it could not be opened
 * @param schema of the file, where it is attached to another one
 */
export function whyUnread(error: unknown, file: string, db?: Database, schema = "main"): unknown {
  if (error instanceof ReadError) return error
  const errno = db !== undefined && isDamage(error) ? lastErrno(db, schema) : 0
  if (errno > 0) return new ReadError(file, getSystemErrorName(-errno), error)
  return isFailedRead(error) ? new ReadError(file, error.code!, error) : error
}

/** The numbers of SQLite's primary code for I/O errors, as its checks print them: the lowest byte. */
const IOERR = 10

/** Whether a line of SQLite's check is of a page that could not be read. */
export function isOfRead(line: string): boolean {
  const code = /error code=(\d+)/.exec(line)?.[1]
  return code !== undefined && (Number(code) & 0xff) === IOERR
}

function isFailedRead(error: unknown): error is SQLiteError | NodeJS.ErrnoException {
  if (error instanceof SQLiteError)
    return ["SQLITE_IOERR_READ", "SQLITE_IOERR_CORRUPTFS"].includes(error.code!)
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  return code !== undefined && /^(pread|read)/.test(syscall ?? "") && ["EIO", "ENXIO"].includes(code)
}

/** 0: no call on the file of the database has failed. */
function lastErrno(db: Database, schema: string): number {
  // Bun asks for eight bytes
  const errno = new Int32Array(2)
  try {
    return db.fileControl(schema, constants.SQLITE_FCNTL_LAST_ERRNO, errno) === 0 ? errno[0]! : 0
  } catch {
    // it is closed
    return 0
  }
}
