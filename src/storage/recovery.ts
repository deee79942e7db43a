import { constants, Database, SQLiteError } from "bun:sqlite"
import { closeSync, fsyncSync, openSync, readvSync, writevSync } from "node:fs"
import { isDamage, ReadError, whyUnread } from "./damage.ts"
import { WalChanged } from "./open-files.ts"

/*
 * Recovery from a failed fsync.
 *
 * Linux marks the pages of a failed fsync clean: they are readable, lie in the page cache alone, and a later fsync that
 * succeeds does not write them (https://wiki.postgresql.org/wiki/Fsync_Errors). SQLite relies on its fsyncs, so a power cut
 * can lose
 *
 * - Frames of the WAL. SQLite's recovery takes them for durable, commits go after them, and the next recovery ends at the
 *   hole. A checkpoint does not mend that: it takes the WAL for durable, and when the power goes before the database is
 *   written or the WAL's truncation is durable, a WAL that ends early is laid over newer pages. So before SQLite opens the
 *   file, every byte of the WAL is rewritten in place and fsynced.
 * - Pages of the database. A checkpoint whose fsync fails does not count (`nBackfill` stays), and the next one repeats it.
 *   But one that a reader's snapshot cuts short counts without an fsync. If one of those came last before a failure, the WAL
 *   is kept through close (SQLite would delete it after a checkpoint of the rest), and the file is opened alone: that
 *   rebuilds the WAL's index, and all of its pages are written again.
 * - Names. SQLite ignores a failed fsync of the folder, and an empty database loses its WAL.
 *
 * Then `wal_checkpoint(TRUNCATE)` must succeed: all is in the database, with an fsync, and the WAL is reset. Until then no
 * event is accepted.
 */

/** The call may succeed once the readers of the file are gone. */
export class HeldByReaders extends Error {
  constructor(file: string) {
    super(
      `${file} is being read: nothing is taken until its WAL is checkpointed; end what reads it (hookline tail, a library's reader, sqlite3)`,
    )
    this.name = "HeldByReaders"
  }
}

const CHUNK_BYTES = 1024 * 1024
/** How long recovery waits for readers: the event loop may be waiting. `hookline tail` reads slices that take less. */
const READERS_MS = 200

/**
 * State of the pages that checkpoints wrote to a database: `synced`, all had their fsync; `unsynced`, a reader cut the last
 * checkpoint short; `lost`, something failed after that, so that they may lie in the page cache alone.
 */
export type PageState = "synced" | "unsynced" | "lost"

/** Makes all that can be read of a WAL durable. For its one writer, before SQLite opens the file; readers see no change. */
export function rewriteWal(file: string): void {
  let wal: number
  try {
    wal = openSync(`${file}-wal`, "r+")
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return
    throw error
  }
  try {
    let at = 0
    for (const chunk of chunksOf(wal)) {
      const bytes = chunk.length
      // through libc, where test/support/disk-model.c sees it
      for (let from = 0; from < bytes;) from += writevSync(wal, [chunk.subarray(from, bytes)], at + from)
      at += bytes
    }
    if (at > 0) fsyncSync(wal)
  } finally {
    closeSync(wal)
  }
}

/** The error that keeps a database's WAL from being read; undefined: it can be read, or there is none. */
function whyWalUnread(file: string): ReadError | undefined {
  const path = `${file}-wal`
  let wal: number | undefined
  try {
    wal = openSync(path, "r")
    for (const _ of chunksOf(wal));
    return undefined
  } catch (error) {
    const why = whyUnread(error, path)
    return why instanceof ReadError ? why : undefined
  } finally {
    if (wal !== undefined) closeSync(wal)
  }
}

/** The read error that an error of an open connection stands for; undefined: the error is of something else, or the file is damaged. */
export function whyNotRead(error: unknown, db: Database): ReadError | undefined {
  const why = whyUnread(error, db.filename, db)
  if (why instanceof ReadError) return why
  return isDamage(why) ? whyWalUnread(db.filename) : undefined
}

/** The bytes of a file, in memory that is used again. */
function* chunksOf(descriptor: number): Generator<Buffer> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  // through libc, too
  for (let at = 0, bytes; (bytes = readvSync(descriptor, [chunk], at)) > 0; at += bytes)
    yield chunk.subarray(0, bytes)
}

/** Moves all of the WAL to the database, durably. @throws HeldByReaders, SQLiteError */
export function checkpointAll(db: Database, file: string): void {
  if (!emptyWal(db)) throw new HeldByReaders(file)
}

/** Moves all of the WAL to the database, durably, if readers allow it within READERS_MS. @returns whether they did @throws SQLiteError */
export function emptyWal(db: Database): boolean {
  db.run(`PRAGMA busy_timeout = ${READERS_MS}`)
  return checkpoint(db, "TRUNCATE").isWhole
}

/** https://sqlite.org/pragma.html#pragma_wal_checkpoint */
export type CheckpointMode = "PASSIVE" | "RESTART" | "TRUNCATE"

export interface Checkpointed {
  /** Whether all of the WAL was written to the database; only then was that fsynced. */
  readonly isSynced: boolean
  /** The same, and what its mode demands of readers. */
  readonly isWhole: boolean
  /** Pages in the WAL. */
  readonly frames: number
}

/** Writes as much of the WAL to the database as readers allow. Waits for them as `busy_timeout` says. */
export function checkpoint(db: Database, mode: CheckpointMode): Checkpointed {
  const { busy, log, checkpointed } = db
    .query<{ busy: number; log: number; checkpointed: number }, []>(`PRAGMA wal_checkpoint(${mode})`)
    .get()!
  // -1: another connection checkpoints
  const isSynced = log >= 0 && checkpointed === log
  return { isSynced, isWhole: isSynced && busy === 0, frames: log }
}

/** What a failure makes of the pages. */
export function pagesAfter(error: unknown, before: PageState): PageState {
  if (error instanceof WalChanged) return "lost"
  if (error instanceof HeldByReaders) return before === "lost" ? "lost" : "unsynced"
  return before === "synced" ? "synced" : "lost"
}

/** Closes a file after a failure, and keeps its WAL where pages are lost without it. */
export function closeFailed(db: Database, isSynced: boolean): void {
  try {
    if (isSynced) return
    db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1)
    // or SQLite truncates it
    db.run("PRAGMA journal_size_limit = -1")
  } finally {
    db.close(true)
  }
}

/**
 * Closes a file whose WAL is not what this process wrote, and writes nothing of it to the database: a checkpoint takes its
 * pages unseen, where a recovery goes by their checksums. The last connection that closes checkpoints, unless it only reads.
 */
export function closeWithoutCheckpoint(db: Database, file: string): void {
  const reader = new Database(file, { readonly: true })
  try {
    // takes its lock, whatever it reads
    reader.query("SELECT 1 FROM sqlite_schema").get()
  } catch {
    // what is in the WAL can't be read
  } finally {
    db.close(true)
    reader.close(true)
  }
}

/** Writes all of the WAL to the database, whatever the WAL's index says. @throws HeldByReaders, SQLiteError */
export function recoverAlone(file: string): void {
  rewriteWal(file)
  const db = new Database(file, { readwrite: true, create: false })
  try {
    // Before the first read it takes the file alone, and builds the WAL's index in its own memory.
    db.run("PRAGMA locking_mode = EXCLUSIVE")
    db.run("PRAGMA synchronous = FULL")
    checkpointAll(db, file)
  } catch (error) {
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY") === true)
      throw new HeldByReaders(file)
    throw whyUnread(error, file, db)
  } finally {
    db.close()
  }
}
