import { Database } from "bun:sqlite"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { type FaultCode, HooklineError } from "../errors.ts"
import { checkAccessTo, hasWal } from "./check-database.ts"
import { whyUnread } from "./damage.ts"
import { checkLockHolds } from "./lock-holds.ts"
import { createPrivateFile, makePrivateDatabase } from "./private-files.ts"
import {
  checkIsKind,
  describeFailure,
  holderFileOf,
  isBusy,
  lockOf,
  makeFolderOf,
  type DatabaseLocation,
} from "./database-file.ts"

/** Failures to open a database for writing, which may end by themselves. */
export const UNOPENED = ["log_locked", "log_io"] as const satisfies readonly FaultCode[]

/**
 * Takes the writer lock of a database, whose folder is created if it is missing: an exclusive transaction on the empty
 * database `lockFile`, hence an advisory lock of the system that ends with the process. The holder file only names the holder
 * in errors.
 *
 * @returns what releases it; where the file was not closed well, the next process is to know by the holder file
 * @throws HooklineError `log_locked`, `log_io`
 */
export function lockForWriting(location: DatabaseLocation): (isClean?: boolean) => void {
  checkAccessTo(location)
  makeFolderOf(location)
  const holderFile = holderFileOf(location.lockFile)
  const lock = lockOf(location)
  let db: Database | undefined
  try {
    makePrivateDatabase(location.lockFile)
    db = new Database(location.lockFile, { create: true, readwrite: true })
    db.run("PRAGMA journal_mode = MEMORY")
    db.run("BEGIN EXCLUSIVE")
    checkIsKind(db, lock)
    checkLockHolds(location)
    nameHolder(holderFile)
  } catch (thrown) {
    const error = whyUnread(thrown, location.lockFile, db)
    db?.close()
    if (error instanceof HooklineError) throw error
    if (!isBusy(error)) throw new HooklineError("log_io", describeFailure(error, lock), { cause: error })
    throw locked(location, error)
  }
  const open = db
  return (isClean = true) => {
    try {
      if (isClean) rmSync(holderFile, { force: true })
    } catch {
      // the disk fails: the file stays, and is read only while the lock is held
    }
    open.close()
  }
}

/** Whether the process that had a database open last did not close it. Known until it is locked again. */
const wasUnclean = (location: DatabaseLocation): boolean =>
  hasWal(location) || existsSync(holderFileOf(location.lockFile))

/** The writer lock of a database that is opened more than once. */
export class WriterLock {
  readonly #location: DatabaseLocation
  /** Whether the process that had the file open last did not close it. */
  wasUnclean = false
  #release: ((isClean: boolean) => void) | undefined

  constructor(location: DatabaseLocation) {
    this.#location = location
  }

  /** @throws HooklineError `log_locked`, `log_io` */
  take(): void {
    if (this.#release !== undefined) return
    this.wasUnclean ||= wasUnclean(this.#location)
    this.#release = lockForWriting(this.#location)
  }

  /** @param isClean whether the next process need not check the file */
  release(isClean: boolean): void {
    this.#release?.(isClean)
    this.#release = undefined
  }
}

/**
 * Checks that no process writes to a database, and changes nothing.
 *
 * @param butThis whether this process may
 * @throws HooklineError `log_locked`
 */
export function checkUnlocked(location: DatabaseLocation, butThis = false): void {
  if (!existsSync(location.lockFile)) return
  let db: Database | undefined
  try {
    db = new Database(location.lockFile, { readonly: true })
    db.query("SELECT 1 FROM sqlite_schema").get()
  } catch (error) {
    // whether it can be opened is another check's
    if (isBusy(error) && !(butThis && holderOf(location) === process.pid)) throw locked(location, error)
  } finally {
    db?.close()
  }
}

function locked(location: DatabaseLocation, cause: unknown): HooklineError {
  const pid = holderOf(location)
  const holder = pid === undefined ? "another process" : `process ${pid}`
  return new HooklineError(
    "log_locked",
    `${location.title} is being written to by ${holder}; stop that one, or name ${location.alternative}`,
    { cause },
  )
}

function nameHolder(holderFile: string): void {
  try {
    // left by a killed process
    rmSync(holderFile, { force: true })
    createPrivateFile(holderFile, `${process.pid}\n`)
  } catch (error) {
    // on a full disk the holder has no name
    if ((error as { code?: string }).code !== "ENOSPC") throw error
  }
}

/** undefined: not written yet, or removed already. */
function holderOf({ lockFile }: DatabaseLocation): number | undefined {
  try {
    return Number(readFileSync(holderFileOf(lockFile), "utf8"))
  } catch {
    return undefined
  }
}
