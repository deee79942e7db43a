import { chmodSync, closeSync, fchmodSync, mkdirSync, openSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/*
 * Folders are created with mode 0700 and files with 0600, whatever the umask. SQLite gives the files next to a database the
 * database's mode. Existing ones keep their mode, which an operator may have chosen; a looser one is logged.
 */
const FOLDER_MODE = 0o700
const FILE_MODE = 0o600

/** Creates a folder and its parents. @returns the first that was missing. @throws Error of node:fs */
export function makePrivateFolder(path: string): string | undefined {
  const above = dirname(path)
  const isAlone = above !== path && statSync(above, { throwIfNoEntry: false }) === undefined
  const first = isAlone ? makePrivateFolder(above) : undefined
  if (mkdirSync(path, { recursive: true, mode: FOLDER_MODE }) === undefined) return first
  // a umask may mask the owner's bits
  if (modeOf(path) !== FOLDER_MODE) chmodSync(path, FOLDER_MODE)
  return first ?? path
}

/** As `makePrivateFolder`; a new one is ignored by git: what it gets may be personal data. */
export function makeIgnoredFolder(path: string): string | undefined {
  const first = makePrivateFolder(path)
  if (first !== undefined) createPrivateFile(join(path, ".gitignore"), "*\n")
  return first
}

/** @throws Error of node:fs, `EEXIST` if the file exists */
export function createPrivateFile(path: string, content: string | Uint8Array): void {
  const fd = openSync(path, "wx", FILE_MODE)
  try {
    fchmodSync(fd, FILE_MODE)
    writeFileSync(fd, content)
  } finally {
    closeSync(fd)
  }
}

/** Creates the file of a database that is about to be opened, if it is missing. */
export function makePrivateDatabase(path: string): void {
  try {
    createPrivateFile(path, "")
  } catch {
    // it exists, or SQLite says why it can't be created
  }
}

/** A path open to others than its owner, with its mode: `/data/log.sqlite (0644)`. */
export function looseMode(path: string): string | undefined {
  const mode = modeOf(path)
  if (mode === undefined || (mode & 0o077) === 0) return undefined
  return `${path} (${mode.toString(8).padStart(4, "0")})`
}

function modeOf(path: string): number | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat && stat.mode & 0o777
}
