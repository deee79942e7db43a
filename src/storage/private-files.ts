import { chmodSync, closeSync, fchmodSync, mkdirSync, openSync, statSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"

/*
 * What Hookline keeps is for the user that runs it alone, whatever the umask: folders are made 0700, files 0600. SQLite gives
 * the files beside a database the database's mode. What is there already keeps its mode, since an operator may have chosen
 * it; a looser one is logged.
 */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

/**
 * Makes a folder, and those above it that are not there.
 *
 * @returns the first that was made; undefined: it was there
 * @throws Error of node:fs
 */
export function makePrivateFolder(path: string): string | undefined {
  const above = dirname(path)
  const isAlone = above !== path && statSync(above, { throwIfNoEntry: false }) === undefined
  const first = isAlone ? makePrivateFolder(above) : undefined
  if (mkdirSync(path, { recursive: true, mode: FOLDER_MODE }) === undefined) return first
  // a umask may take bits from its owner, too
  if (modeOf(path) !== FOLDER_MODE) chmodSync(path, FOLDER_MODE)
  return first ?? path
}

/**
 * Makes a file that is not there yet.
 *
 * @throws Error of node:fs, `EEXIST` when it is there
 */
export function createPrivateFile(path: string, content: string | Uint8Array): void {
  const fd = openSync(path, "wx", FILE_MODE)
  try {
    fchmodSync(fd, FILE_MODE)
    writeFileSync(fd, content)
  } finally {
    closeSync(fd)
  }
}

/** Makes the file of a database that is about to be opened, when it is not there. */
export function makePrivateDatabase(path: string): void {
  try {
    createPrivateFile(path, "")
  } catch {
    // It is there, or can't be made: SQLite, which opens it next, says why.
  }
}

/** A path that others than its owner can get at, with its mode: `/data/log.sqlite (0644)`. */
export function looseMode(path: string): string | undefined {
  const mode = modeOf(path)
  if (mode === undefined || (mode & 0o077) === 0) return undefined
  return `${path} (${mode.toString(8).padStart(4, "0")})`
}

/** undefined: it is not there. */
function modeOf(path: string): number | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat && stat.mode & 0o777
}
