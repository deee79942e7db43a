import { Database } from "bun:sqlite"
import { existsSync, readFileSync, rmSync } from "node:fs"
import { HooklineError } from "../errors.ts"
import { createPrivateFile, makePrivateDatabase } from "./private-files.ts"
import { describeFailure, isBusy, type DatabaseLocation } from "./database-file.ts"

/**
 * Takes the lock of a database's one writer.
 *
 * The lock is an exclusive transaction on the empty database `lockFile`: an advisory lock of the system that ends
 * with the process, however it ends. `holderFile` only names the holder in the error of the next one; whether the database is
 * locked never depends on it.
 *
 * @returns what releases it
 * @throws HooklineError `log_locked`, `log_io`
 */
export function lockForWriting(location: DatabaseLocation): () => void {
  let db: Database | undefined
  try {
    makePrivateDatabase(location.lockFile)
    db = new Database(location.lockFile, { create: true, readwrite: true })
    db.run("PRAGMA journal_mode = MEMORY")
    db.run("BEGIN EXCLUSIVE")
    nameHolder(location.holderFile)
  } catch (error) {
    db?.close()
    if (!isBusy(error)) throw new HooklineError("log_io", describeFailure(error, location), { cause: error })
    throw locked(location, error)
  }
  const open = db
  return () => {
    rmSync(location.holderFile, { force: true })
    open.close()
  }
}

/**
 * Checks that no process writes to a database, and changes nothing.
 *
 * @throws HooklineError `log_locked`
 */
export function checkUnlocked(location: DatabaseLocation): void {
  if (!existsSync(location.lockFile)) return
  const db = new Database(location.lockFile, { readonly: true })
  try {
    db.query("SELECT 1 FROM sqlite_schema").get()
  } catch (error) {
    if (isBusy(error)) throw locked(location, error)
  } finally {
    db.close()
  }
}

function locked(location: DatabaseLocation, cause: unknown): HooklineError {
  return new HooklineError(
    "log_locked",
    `${location.title} is being written to by ${holder(location.holderFile)}; stop that one, or name ${location.alternative}`,
    { cause },
  )
}

function nameHolder(holderFile: string): void {
  try {
    // one that a killed process left
    rmSync(holderFile, { force: true })
    createPrivateFile(holderFile, `${process.pid}\n`)
  } catch (error) {
    // On a full disk the lock counts all the same; it has no name then.
    if ((error as { code?: string }).code !== "ENOSPC") throw error
  }
}

function holder(holderFile: string): string {
  try {
    return `process ${Number(readFileSync(holderFile, "utf8"))}`
  } catch {
    // The holder has not written it yet, or is just leaving.
    return "another process"
  }
}
