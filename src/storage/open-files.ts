// Hot path: `begin` and `check`, once a commit each.
import { closeSync, openSync, readSync, statSync, type Stats } from "node:fs"
import { HooklineError } from "../errors.ts"

/*
 * SQLite continues to write to a file whose path was removed, renamed, replaced or covered by a mount: commits succeed, and are
 * gone with the process. So the paths of a database are compared with the files that were opened, after each commit and before
 * it is answered, by device, inode and number of links. (A second descriptor of an open database would cost SQLite its locks.)
 *
 * A copy may also be written over the file itself. Its size and time of modification change by checkpoints alone, all of
 * which are this process's: any other change is another program's.
 *
 * So it is with the WAL, which only this process's transactions write to. A WAL that was truncated (`: > log.sqlite-wal`) is written
 * to behind its former end, by commits that succeed, and the next recovery ends at the hole. Before each transaction its size
 * and time of modification are compared with those that the last one left. A truncation while the transaction is under way leaves a
 * WAL that is shorter than it was, or one without its header: both are looked for after the commit. Allocated blocks would say
 * less: file systems compress, allocate ahead, and count later.
 *
 * A WAL that is empty lacks nothing once all of it is in the database. SQLite empties it itself: Bun ends a process that has a
 * database open, such as `hookline tail`, with a checkpoint that truncates.
 */

/** A database's paths, as in DatabaseLocation. */
interface Location {
  readonly file: string
  readonly lockFile: string
  readonly kind: string
}

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

/** Another program wrote to the WAL. What is in it may be whole: a recovery reads it by its checksums. */
export class WalChanged extends FileTakenAway {
  constructor(wal: string, message = changedBy(wal)) {
    super(message)
    this.name = "WalChanged"
  }
}

/** Another program truncated the WAL: commits are lost. Only a start may go on with what is left. */
export class WalTruncated extends WalChanged {
  constructor(file: string) {
    super(
      `${file}-wal`,
      `${file}-wal was truncated by another program while Hookline had it open: what was committed since the last checkpoint, and is not in ${file} yet, is lost; find that program (logrotate, a disk cleaner), then restart Hookline, which goes on with what is left`,
    )
    this.name = "WalTruncated"
  }
}

/** The file that is open now lacks what was acknowledged. Only a start may go on with it, which compares what refers to it. */
export class CommitsLost extends FileTakenAway {
  constructor(file: string, what: string) {
    super(
      `${file} lacks ${what}, which this process had committed to it: an earlier copy was written over it; put the former file back, then restart Hookline, which goes on with the one that is there`,
    )
    this.name = "CommitsLost"
  }
}

const changedBy = (file: string): string =>
  `${file} was changed by another program while Hookline had it open; do not write to it, or copy over it, while Hookline runs`

/** `PRAGMA journal_size_limit`: a larger WAL is truncated to this size when a commit begins it anew. */
export const MOST_WAL_BYTES = 16 * 1024 * 1024

const HEADER_BYTES = 32
/** https://sqlite.org/fileformat2.html#walformat, without the bit for the byte order of checksums */
const WAL_MAGIC = 0x377f0682

/** The files of a database as they were opened. */
export class OpenFiles implements Disposable {
  /** Database and lock, which have to be the same when the database is opened again. A close may delete the WAL. */
  readonly lasting: FileIdentities
  readonly #location: Location
  readonly #wal: FileIdentities
  readonly #walFile: string
  /** Locks are on the database and the WAL's index: closing a second descriptor of the WAL costs none. */
  readonly #walDescriptor: number
  #bytes = 0
  #modifiedMs = 0
  #walBytes = 0
  #walModifiedMs = 0
  /** The WAL's header; undefined: since the last checkpoint nothing was written, and what is written next may begin it anew. */
  #walHeader: Buffer | undefined
  /** Whether all of the WAL is in the database, with an fsync. */
  #isInDatabase = false
  readonly #headerNow = Buffer.alloc(HEADER_BYTES)

  constructor(location: Location) {
    this.#location = location
    this.#walFile = `${location.file}-wal`
    this.lasting = identify([location.file, location.lockFile])
    this.#wal = identify([this.#walFile])
    this.#walDescriptor = openSync(this.#walFile, "r")
    this.checkpointed(false)
  }

  /** Before a transaction: whether the WAL is as the last one left it. @throws FileTakenAway */
  begin(): void {
    const wal = checkIdentities(this.#wal)!
    if (this.#isAsLeft(wal)) return
    if (this.#isEmptied(wal)) return this.#leftWal(wal)
    if (wal.size < this.#walBytes || !this.#hasHeader()) throw new WalTruncated(this.#location.file)
    // commands write to it by SQLite
    if (this.#location.kind !== "position file") throw new WalChanged(this.#walFile)
  }

  /** Whether the paths still lead to these files. @throws FileTakenAway */
  checkPaths(): void {
    checkIdentities(this.#wal)
    checkIdentities(this.lasting)
  }

  /**
   * After a commit: whether the paths still lead to these files, nobody else has written to the database, and the WAL was not
   * truncated.
   *
   * @returns bytes of the WAL @throws FileTakenAway
   */
  check(): number {
    const wal = checkIdentities(this.#wal)!
    this.#checkDatabase()
    if (this.#isAsLeft(wal)) return wal.size
    if (this.#isTruncated(wal)) throw new WalTruncated(this.#location.file)
    if (wal.size > 0) this.#walHeader ??= Buffer.from(this.#headerNow)
    this.#isInDatabase = false
    this.#leftWal(wal)
    return wal.size
  }

  /** Before a checkpoint: whether both files are as they were left. @throws FileTakenAway */
  checkUnchanged(): void {
    this.begin()
    this.#checkDatabase()
  }

  /**
   * A checkpoint of this process has written to the database, and may have truncated the WAL.
   *
   * @param isWhole all of the WAL is in the database, which was fsynced
   */
  checkpointed(isWhole: boolean): void {
    this.#isInDatabase = isWhole
    const { size, mtimeMs } = statSync(this.#location.file)
    this.#bytes = size
    this.#modifiedMs = mtimeMs
    this.#walHeader = undefined
    this.#leftWal(checkIdentities(this.#wal)!)
  }

  /** Why something failed, if that is a WAL that was truncated. */
  get whyTruncated(): WalTruncated | undefined {
    try {
      const wal = statSync(this.#walFile)
      return this.#isTruncated(wal) && !this.#isEmptied(wal)
        ? new WalTruncated(this.#location.file)
        : undefined
    } catch {
      // it was removed, or can't be read
      return undefined
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#walDescriptor)
  }

  #checkDatabase(): void {
    const { size, mtimeMs } = checkIdentities(this.lasting)!
    if (size !== this.#bytes || mtimeMs !== this.#modifiedMs)
      throw new FileTakenAway(changedBy(this.#location.file))
  }

  /** Whether the WAL is empty and lacks nothing, unless a transaction has written to it since the last check. */
  #isEmptied({ size }: Stats): boolean {
    return size === 0 && (this.#isInDatabase || this.#walBytes === 0)
  }

  /** Whether the WAL is shorter than it was, or without its header. */
  #isTruncated({ size }: Stats): boolean {
    if (size < Math.min(this.#walBytes, MOST_WAL_BYTES)) return true
    return size > 0 && !this.#hasHeader()
  }

  #isAsLeft({ size, mtimeMs }: Stats): boolean {
    return size === this.#walBytes && mtimeMs === this.#walModifiedMs
  }

  /** Whether the WAL begins as it did, or anew. */
  #hasHeader(): boolean {
    const header = this.#headerNow.fill(0)
    readSync(this.#walDescriptor, header, 0, HEADER_BYTES, 0)
    if (this.#walHeader !== undefined) return header.equals(this.#walHeader)
    return (header.readUInt32BE() & ~1) >>> 0 === WAL_MAGIC
  }

  #leftWal({ size, mtimeMs }: Stats): void {
    this.#walBytes = size
    this.#walModifiedMs = mtimeMs
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
