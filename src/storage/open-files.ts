// Hot path: `check`, once a commit.
import { statSync, type Stats } from "node:fs"
import { HooklineError } from "../errors.ts"
import type { DatabaseLocation } from "./database-file.ts"

/*
 * SQLite continues to write to a file whose path was removed, renamed, replaced or covered by a mount: commits succeed, and are
 * gone with the process. So the paths of a database are compared with the files that were opened, after each commit and before
 * it is answered, by device, inode and number of links. (A second descriptor of an open database would cost SQLite its locks.)
 *
 * A copy may also be written over the file itself. Its size and time of modification change by checkpoints alone, all of
 * which are this process's: any other change is another program's.
 */

/** What distinguishes a file from another one at its path. */
interface Identity {
  readonly path: string
  readonly device: number
  readonly inode: number
}

export type FileIdentities = readonly Identity[]

/** A file of a database was taken away. Only a start may open what is at its path instead. */
export class FileTakenAway extends HooklineError {
  constructor(message: string) {
    super("log_io", message)
    this.name = "FileTakenAway"
  }
}

/** The files of a database as they were opened. */
export class OpenFiles {
  /** Database and lock, which have to be the same when the database is opened again. A close may delete the WAL. */
  readonly lasting: FileIdentities
  readonly #location: DatabaseLocation
  readonly #wal: FileIdentities
  #bytes = 0
  #modifiedMs = 0

  constructor(location: DatabaseLocation) {
    this.#location = location
    this.lasting = identify([location.file, location.lockFile])
    this.#wal = identify([`${location.file}-wal`])
    this.checkpointed()
  }

  /** Whether the paths still lead to these files. @returns the database's stat(2) @throws FileTakenAway */
  checkPaths(): Stats {
    checkIdentities(this.#wal)
    return checkIdentities(this.lasting)!
  }

  /** The same, and whether nobody else has written to the database. @throws FileTakenAway */
  check(): void {
    const { size, mtimeMs } = this.checkPaths()
    if (size === this.#bytes && mtimeMs === this.#modifiedMs) return
    throw new FileTakenAway(
      `${this.#location.file} was changed by another program while Hookline had it open; do not write to it, or copy over it, while Hookline runs`,
    )
  }

  /** A checkpoint of this process has written to the database. */
  checkpointed(): void {
    const { size, mtimeMs } = statSync(this.#location.file)
    this.#bytes = size
    this.#modifiedMs = mtimeMs
  }
}

/** @returns stat(2) of the first @throws FileTakenAway */
export function checkIdentities(identities: FileIdentities): Stats | undefined {
  let first: Stats | undefined
  for (const { path, device, inode } of identities) {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined)
      throw new FileTakenAway(
        `${path} was removed or renamed while Hookline had it open, and what it commits would be lost; put the same file back, or restart Hookline, which begins with what is there`,
      )
    if (stat.dev !== device || stat.ino !== inode)
      throw new FileTakenAway(
        `${path} is another file than the one that Hookline opened, and what it commits would be lost; put the former one back, or restart Hookline, which goes on with the one that is there`,
      )
    first ??= stat
  }
  return first
}

function identify(paths: readonly string[]): FileIdentities {
  return paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false })
    return stat === undefined ? [] : [{ path, device: stat.dev, inode: stat.ino }]
  })
}
