import { Database } from "bun:sqlite"
import { readFileSync, rmSync } from "node:fs"
import { HooklineError } from "../errors.ts"
import { createPrivateFile, makePrivateDatabase } from "../storage/private-files.ts"
import { describeFailure, isBusy, type LogPlace } from "./embedded-file.ts"

/** Says that this process writes to the log. */
export interface WriterLock {
  release(): void
}

/**
 * Takes the one writer's place in a log.
 *
 * The lock is an exclusive transaction on the empty database `lockFile`: an advisory lock of the system that ends
 * with the process, however it ends. `holderFile` only names the holder in the error of the next one; whether the log is
 * locked never depends on it.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function lockForWriting(place: LogPlace): WriterLock {
  let db: Database | undefined
  try {
    makePrivateDatabase(place.lockFile)
    db = new Database(place.lockFile, { create: true, readwrite: true })
    db.run("PRAGMA journal_mode = MEMORY")
    db.run("BEGIN EXCLUSIVE")
    nameHolder(place.holderFile)
  } catch (error) {
    db?.close()
    if (!isBusy(error)) throw new HooklineError("log_io", describeFailure(error, place), { cause: error })
    throw new HooklineError(
      "log_locked",
      `${place.title} is being written to by ${holder(place.holderFile)}; stop that one, or name ${place.alternative}`,
      { cause: error },
    )
  }
  const held = db
  return {
    release() {
      rmSync(place.holderFile, { force: true })
      held.close()
    },
  }
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
