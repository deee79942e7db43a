import { constants as sqlite, Database } from "bun:sqlite"
import { accessSync, constants, lstatSync, statSync, type Stats } from "node:fs"
import { dirname } from "node:path"
import { pathToFileURL } from "node:url"
import { HooklineError } from "../errors.ts"
import { whyRefused } from "../process/paths.ts"
import {
  checkIsKind,
  describeFailure,
  describeTooLong,
  holderFileOf,
  lockOf,
  type DatabaseLocation,
} from "./database-file.ts"
import { refuseHalfRestored } from "./half-restored.ts"

/**
 * Checks, without changing anything, that a database can be opened for writing, or made: its folder, its file and its lock
 * file, by their modes and the file's header. Whether another process writes to it is not checked.
 *
 * @throws HooklineError `log_io`
 */
export function checkDatabase(location: DatabaseLocation): void {
  checkAccessTo(location)
  refuseHalfRestored(location.file)
  for (const one of [lockOf(location), location]) if ((look(one.file)?.size ?? 0) > 0) checkContent(one)
}

/**
 * Checks the folder and the modes of a database's files, and nothing of their content.
 *
 * @throws HooklineError `log_io`
 */
export function checkAccessTo(location: DatabaseLocation): void {
  const { file, lockFile, alternative } = location
  const tooLong = [file, lockFile].map(describeTooLong).find((it) => it !== undefined)
  if (tooLong !== undefined) throw new HooklineError("log_io", tooLong)
  checkFolder(dirname(file), location)
  const holderFile = holderFileOf(lockFile)
  for (const path of [file, `${file}-wal`, `${file}-shm`, lockFile, holderFile]) {
    const stat = look(path)
    if (stat === undefined) continue
    if (!stat.isFile()) throw new HooklineError("log_io", `${path} is not a file; name ${alternative}`)
    // the holder's is made anew
    if (path !== holderFile)
      checkAccess(path, constants.R_OK | constants.W_OK, `${path} can't be read and written`)
  }
}

/**
 * Checks that a folder can be written to, or made.
 *
 * @throws HooklineError `log_io`
 */
export function checkFolder(folder: string, { title }: Pick<DatabaseLocation, "title">): void {
  let above = folder
  while (!isThere(above, title) && dirname(above) !== above) above = dirname(above)
  const isMade = above === folder
  const problem = isMade
    ? `${title}: its directory can't be written`
    : `${title}: its directory can't be made`
  if (look(above)?.isDirectory() !== true)
    throw new HooklineError("log_io", `${problem}: ${above} is not a folder`)
  checkAccess(above, constants.W_OK | constants.X_OK, isMade ? problem : `${problem} in ${above}`)
}

/** Whether a path has something, a link that leads nowhere too. @throws HooklineError `log_io` if that can't be known */
function isThere(path: string, title: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOTDIR") return false
    const reason = `${title}: its directory can't be used: ${whyRefused(cause, path)}`
    throw new HooklineError("log_io", reason, { cause })
  }
}

/** undefined: it does not exist, or a folder above it can't be entered. */
function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // the folder's own check says why
    return undefined
  }
}

function checkAccess(path: string, mode: number, problem: string): void {
  try {
    accessSync(path, mode)
  } catch (cause) {
    throw new HooklineError("log_io", `${problem}: ${whyRefused(cause, path)}`, { cause })
  }
}

/**
 * Opened as one that can't change, SQLite takes no lock and makes no file next to it. A descriptor of this program's own
 * is no way to read the header: closing it would release the locks that this process has on the file (fcntl(2)).
 */
export const openUnchanging = (file: string): Database =>
  new Database(
    `${pathToFileURL(file).href}?immutable=1`,
    sqlite.SQLITE_OPEN_READONLY | sqlite.SQLITE_OPEN_URI,
  )

/** Whether a database has commits that are not in its file yet. */
export const hasWal = ({ file }: DatabaseLocation): boolean => (look(`${file}-wal`)?.size ?? 0) > 0

/**
 * With a WAL next to it the file alone may be half of a checkpoint: what it is shows when both are opened, at a start.
 */
function checkContent(location: DatabaseLocation): void {
  if (hasWal(location)) return
  let db: Database | undefined
  try {
    db = openUnchanging(location.file)
    checkIsKind(db, location)
  } catch (cause) {
    // a running process began to write
    if (hasWal(location)) return
    throw new HooklineError("log_io", describeFailure(cause, location), { cause })
  } finally {
    db?.close()
  }
}
