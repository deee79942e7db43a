import { constants, Database, SQLiteError } from "bun:sqlite"
import { closeSync, fsyncSync, openSync, readSync, writevSync } from "node:fs"
import { dirname, resolve } from "node:path"

/*
 * What a failed fsync leaves, and what makes a file trustworthy again.
 *
 * Linux marks the pages of a failed fsync clean: they are readable, lie in the page cache alone, and a later fsync that
 * succeeds does not write them (https://wiki.postgresql.org/wiki/Fsync_Errors). SQLite relies on its fsyncs, so three
 * things can be missing after a power cut:
 *
 * - Frames of the WAL. Recovery reads them back as if they were durable, commits go behind them, and at the next recovery
 *   the WAL ends at the hole. A checkpoint alone does not mend that: it counts the WAL as durable, and where the power
 *   goes while the database is being written, or before the truncation of the WAL is durable, a WAL that ends early is
 *   laid over newer pages. So before SQLite sees the file, every byte of the WAL is written again, the same in its place,
 *   and has its fsync.
 * - Pages of the database. A checkpoint whose fsync fails does not count (`nBackfill` stays), and the next one writes its
 *   pages again. But one that a reader's snapshot cuts short counts without an fsync. Where one of those came last before
 *   a failure, the WAL is kept through close (SQLite would delete it after a checkpoint of the rest), and the file is
 *   opened alone: the index of the WAL is made anew, and all of its pages are written again.
 * - Names. SQLite ignores a failed fsync of the folder, and a database that is empty loses its WAL.
 *
 * Then `wal_checkpoint(TRUNCATE)` has to succeed, so that all of it is in the database, with an fsync, and the WAL starts
 * over. Until then nothing is taken.
 */

/** The same call may succeed when whoever reads the file has let go of it. */
export class HeldByReaders extends Error {
  constructor(file: string) {
    super(
      `${file} is being read: nothing is taken until its WAL is checkpointed; end what reads it (hookline tail, a library's reader, sqlite3)`,
    )
    this.name = "HeldByReaders"
  }
}

const CHUNK_BYTES = 1024 * 1024
/** How long a checkpoint waits for readers: slices of `hookline tail` take less, and the event loop may be waiting. */
const READERS_MS = 200

/**
 * Of the pages that checkpoints wrote to a database: `synced`, all had their fsync; `unsynced`, a reader cut the last
 * checkpoint short; `lost`, something failed after that, so that they may lie in the page cache alone.
 */
export type PageState = "synced" | "unsynced" | "lost"

/**
 * Makes what the WAL of a file holds durable, all that can be read of it. To be called before SQLite opens the file, by
 * its one writer: readers see the same bytes all the while.
 *
 * @throws Error of the system
 */
export function rewriteWal(file: string): void {
  let wal: number
  try {
    wal = openSync(`${file}-wal`, "r+")
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return
    throw error
  }
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    // Of Bun's ways to write at a position this one goes through libc, where test/support/disk-model.c sees it.
    let at = 0
    for (let bytes; (bytes = readSync(wal, chunk, 0, CHUNK_BYTES, at)) > 0; at += bytes) {
      for (let from = 0; from < bytes;) from += writevSync(wal, [chunk.subarray(from, bytes)], at + from)
    }
    if (at > 0) fsyncSync(wal)
  } finally {
    closeSync(wal)
  }
}

/**
 * Makes the names in a folder durable.
 *
 * @throws Error of the system
 */
export function syncFolder(folder: string): void {
  let descriptor: number | undefined
  try {
    descriptor = openSync(folder, "r")
    fsyncSync(descriptor)
  } catch (error) {
    // Some network file systems have no fsync of folders, and one that may be written need not be readable.
    if (!["EINVAL", "ENOTSUP", "EACCES"].includes((error as { code?: string }).code ?? "")) throw error
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/** Makes the names of folders that were just made durable: those from `first` down to `last`. */
export function syncParents(first: string, last: string): void {
  const top = dirname(resolve(first))
  for (let folder = dirname(resolve(last)); folder.length >= top.length; folder = dirname(folder)) {
    syncFolder(folder)
    if (folder === top) return
  }
}

/**
 * Writes all of the WAL to the database, where it is durable then, and has the WAL start over.
 *
 * @throws HeldByReaders, SQLiteError
 */
export function checkpointAll(db: Database, file: string): void {
  db.run(`PRAGMA busy_timeout = ${READERS_MS}`)
  if (!checkpoint(db, "TRUNCATE").isWhole) throw new HeldByReaders(file)
}

/** https://sqlite.org/pragma.html#pragma_wal_checkpoint */
export type CheckpointMode = "PASSIVE" | "RESTART" | "TRUNCATE"

export interface Checkpointed {
  /** Whether all of the WAL was written to the database; only then has the database had its fsync. */
  readonly isWhole: boolean
  /** Pages in the WAL. */
  readonly frames: number
}

/** Writes as much of the WAL to the database as readers allow. Waits for none but as `busy_timeout` says. */
export function checkpoint(db: Database, mode: CheckpointMode): Checkpointed {
  const { busy, log, checkpointed } = db.query<Checkpoint, []>(`PRAGMA wal_checkpoint(${mode})`).get()!
  return { isWhole: busy === 0 && checkpointed === log, frames: log }
}

/** What a failure makes of the pages. */
export function pagesAfter(error: unknown, before: PageState): PageState {
  if (error instanceof HeldByReaders) return before === "lost" ? "lost" : "unsynced"
  return before === "synced" ? "synced" : "lost"
}

/** Closes a file after a failure, and keeps its WAL where pages are lost without it. */
export function closeFailed(db: Database, isSynced: boolean): void {
  try {
    if (isSynced) return
    db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1)
    // Or else a WAL that persists is truncated.
    db.run("PRAGMA journal_size_limit = -1")
  } finally {
    db.close(true)
  }
}

/**
 * Writes all of the WAL to the database, whatever the WAL's index says: for pages that are `lost`.
 *
 * @throws HeldByReaders, SQLiteError, or Error of the system
 */
export function recoverAlone(file: string): void {
  rewriteWal(file)
  const db = new Database(file, { readwrite: true, create: false })
  try {
    // Before anything is read: then it needs the file alone, and makes an index of the WAL in memory of its own.
    db.run("PRAGMA locking_mode = EXCLUSIVE")
    db.run("PRAGMA synchronous = FULL")
    checkpointAll(db, file)
  } catch (error) {
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY") === true)
      throw new HeldByReaders(file)
    throw error
  } finally {
    db.close()
  }
}

interface Checkpoint {
  readonly busy: number
  /** Frames in the WAL, and how many of them are in the database. */
  readonly log: number
  readonly checkpointed: number
}
