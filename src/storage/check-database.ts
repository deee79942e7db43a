import { accessSync, closeSync, constants, openSync, readSync, statSync, type Stats } from "node:fs"
import { basename, dirname } from "node:path"
import { HooklineError } from "../errors.ts"
import { isOfKind, laterLayout, type DatabaseLocation } from "./database-file.ts"

/**
 * Checks, without changing anything, that a database can be opened for writing, or made: its folder, its file and its lock
 * file, as far as their modes and the file's header tell. Whether another process writes to it is not looked at.
 *
 * @throws HooklineError `log_io`
 */
export function checkDatabase(location: DatabaseLocation): void {
  const { file, lockFile, kind, alternative } = location
  checkFolder(dirname(file), location)
  for (const path of [file, lockFile]) {
    const stat = look(path)
    if (stat === undefined) continue
    if (!stat.isFile()) throw new HooklineError("log_io", `${path} is not a file; name ${alternative}`)
    checkAccess(path, constants.R_OK | constants.W_OK, `${path} can't be read and written`)
  }
  const header = headerOf(file)
  if (header === undefined) return
  const { isDatabase, applicationId, layout, isEmpty } = header
  if (!isDatabase || !isOfKind(location, applicationId, isEmpty))
    throw new HooklineError("log_io", `${file} is not a Hookline ${kind}; name ${alternative}`)
  const later = laterLayout(location, layout)
  if (later !== undefined) throw later
}

/**
 * Checks that a folder can be written to, or made.
 *
 * @throws HooklineError `log_io`
 */
export function checkFolder(folder: string, { title }: Pick<DatabaseLocation, "title">): void {
  let above = folder
  while (look(above) === undefined && dirname(above) !== above) above = dirname(above)
  const isMade = above === folder
  const problem = isMade
    ? `${title}: its directory can't be written`
    : `${title}: its directory can't be made`
  if (look(above)?.isDirectory() !== true)
    throw new HooklineError("log_io", `${problem}: ${above} is not a folder`)
  checkAccess(above, constants.W_OK | constants.X_OK, isMade ? problem : `${problem} in ${above}`)
}

/** undefined: it is not there, or a folder above it can't be entered. */
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
    const { code } = cause as NodeJS.ErrnoException
    const why = code === "EROFS" ? "a read-only file system" : "no permission"
    throw new HooklineError("log_io", `${problem}: ${why}`, { cause })
  }
}

interface Header {
  readonly isDatabase: boolean
  readonly applicationId: number
  readonly layout: number
  /** Whether it has no tables. */
  readonly isEmpty: boolean
}

const HEADER_BYTES = 108
const MAGIC = "SQLite format 3\0"

/** The header of an SQLite file (https://sqlite.org/fileformat2.html); undefined: there is none yet. */
function headerOf(file: string): Header | undefined {
  const bytes = Buffer.alloc(HEADER_BYTES)
  let length
  try {
    const fd = openSync(file, "r")
    try {
      length = readSync(fd, bytes, 0, HEADER_BYTES, 0)
    } finally {
      closeSync(fd)
    }
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined
    const message = `${basename(file)} can't be read: ${(cause as Error).message}`
    throw new HooklineError("log_io", message, { cause })
  }
  if (length === 0) return undefined
  return {
    isDatabase: length === HEADER_BYTES && bytes.toString("latin1", 0, MAGIC.length) === MAGIC,
    layout: bytes.readUInt32BE(60),
    applicationId: bytes.readUInt32BE(68),
    // cells of the first page, which lists the tables
    isEmpty: bytes.readUInt16BE(103) === 0,
  }
}
