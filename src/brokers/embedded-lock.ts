import { Database } from "bun:sqlite"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { HooklineError } from "../errors.ts"
import { describeFailure, isBusy } from "./embedded-file.ts"

/** Says that this process writes to the log. */
export interface WriterLock {
  release(): void
}

/**
 * Takes the one writer's place in a directory.
 *
 * The lock is an exclusive transaction on the empty database `writer.lock`: an advisory lock of the system that ends
 * with the process, however it ends. `writer.pid` only names the holder in the error of the next one; whether the log is
 * locked never depends on it.
 *
 * @throws HooklineError `log_locked`, `log_io`
 */
export function lockForWriting(directory: string): WriterLock {
  const pidFile = join(directory, "writer.pid")
  let db: Database | undefined
  try {
    db = new Database(join(directory, "writer.lock"), { create: true, readwrite: true })
    db.run("PRAGMA journal_mode = MEMORY")
    db.run("BEGIN EXCLUSIVE")
    writeFileSync(pidFile, `${process.pid}\n`)
  } catch (error) {
    db?.close()
    if (!isBusy(error)) throw new HooklineError("log_io", describeFailure(error, directory), { cause: error })
    throw new HooklineError(
      "log_locked",
      `The log in ${directory} is being written to by ${holder(pidFile)}; stop that one, or name another directory`,
      { cause: error },
    )
  }
  const held = db
  return {
    release() {
      rmSync(pidFile, { force: true })
      held.close()
    },
  }
}

function holder(pidFile: string): string {
  try {
    return `process ${Number(readFileSync(pidFile, "utf8"))}`
  } catch {
    // The holder has not written it yet, or is just leaving.
    return "another process"
  }
}
