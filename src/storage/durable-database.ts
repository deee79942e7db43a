import { Database, type Statement } from "bun:sqlite"
import { DamagedFile, isOfRead, ReadError } from "./damage.ts"
import { openDurably, pragma, type DatabaseLocation, type Layout } from "./database-file.ts"
import { OpenFiles, WalChanged } from "./open-files.ts"
import {
  checkpoint,
  closeFailed,
  closeWithoutCheckpoint,
  emptyWal,
  whyNotRead,
  type Checkpointed,
  type CheckpointMode,
} from "./recovery.ts"

/**
 * Bytes in the WAL at which it is checkpointed. Commits wait for that: at 64 connections of the embedded log the 99th
 * percentile was 3.4 ms with 1 MiB, 6 with 4, 21 with 16, 85 with 64, for the same CPU.
 */
export const CHECKPOINT_BYTES = 1024 * 1024
/** Commits after which it is checkpointed, too: each writes whole pages, so that this many are some 10 MiB of 16 KiB pages. */
const CHECKPOINT_COMMITS = 256
/** The largest file whose pages are checked when it is opened: 0.35 s from memory, 2 s from a disk of 125 MB/s. */
const CHECKED_BYTES = 256 * 1024 * 1024

/** What a database does for the event loop: called across threads, by name and with plain data. */
export interface Operations {
  readonly [name: string]: (...args: never[]) => unknown
}

/**
 * A database whose commits are durable when they return, in its thread (serve-database.ts). The embedded log, the spool and
 * the dedupe store add their operations. After one failed with anything but busy, only `closeFailed` may be called.
 */
export abstract class DurableDatabase {
  abstract readonly operations: Operations
  readonly location: DatabaseLocation
  /** Checked before each transaction, and after its commit, before its answer. */
  readonly files: OpenFiles
  protected readonly db: Database
  readonly #begin: Statement
  readonly #commit: Statement
  #uncheckpointedBytes = 0
  #uncheckpointedCommits = 0
  /** Whether the last checkpoint was whole, with an fsync of the database. */
  isSynced = true
  /** Transactions since the file was opened, also those that only polled the lock. */
  commits = 0

  /** @throws HooklineError `log_io`, HeldByReaders, SQLiteError, or Error of the system */
  constructor(location: DatabaseLocation, layout: Layout) {
    this.location = location
    this.db = openDurably(location, layout)
    this.files = new OpenFiles(location)
    this.#begin = this.db.prepare("BEGIN IMMEDIATE")
    this.#commit = this.db.prepare("COMMIT")
  }

  /** What the event loop has to know once the file is open; plain data. */
  state(): unknown {
    return undefined
  }

  /**
   * Checks the pages of a file that was just opened, if it is small enough for events to wait for that.
   *
   * @param _wasUnclean it was not closed by the process that had it open last
   * @returns whether it is @throws DamagedFile, ReadError, SQLiteError
   */
  check(_wasUnclean: boolean): boolean {
    if (pragma(this.db, "page_count") * pragma(this.db, "page_size") > CHECKED_BYTES) return false
    const { quick_check: found } = this.db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()!
    if (isOfRead(found)) throw new ReadError(this.location.file, found)
    if (found !== "ok") throw new DamagedFile(this.location, found.replace(/^\*\*\*.*\n/, ""))
    return true
  }

  /**
   * Compares a file that was opened again with what this process had committed to it.
   *
   * @param _before as it was when it failed @throws CommitsLost
   */
  follow(_before: DurableDatabase): void {}

  /** Called after the answer to an operation. */
  afterAnswer(): void {
    this.checkpoint()
  }

  /** @throws SQLiteError busy: another process has the write lock; FileTakenAway */
  pollLock(): void {
    this.#begin.run()
    this.#commit.run()
    this.commits++
    this.files.checkUnchanged()
  }

  /** Checkpoints a WAL that has grown, without waiting for readers. @returns whether it did */
  checkpoint(): boolean {
    if (this.#uncheckpointedBytes < CHECKPOINT_BYTES && this.#uncheckpointedCommits < CHECKPOINT_COMMITS)
      return false
    this.#uncheckpointedBytes = 0
    this.#uncheckpointedCommits = 0
    this.checkpointPassively()
    return true
  }

  /**
   * Checkpoints the WAL, unless a reader prevents it, and closes the file. SQLite does that itself only where no reader has
   * the file open, and what is left in a WAL is missing from a copy of the file alone.
   *
   * @throws FileTakenAway: it is open still; SQLiteError of the checkpoint: it is closed
   */
  close(): void {
    this.#endTransaction()
    this.files.begin()
    try {
      emptyWal(this.db)
    } finally {
      this.files[Symbol.dispose]()
      this.db.close(true)
    }
  }

  /** Why an operation failed: a WAL that was truncated, a disk that does not read the files, or what was thrown. */
  whyFailed(thrown: unknown): unknown {
    const { whyTruncated } = this.files
    if (whyTruncated !== undefined) return whyTruncated
    return whyNotRead(thrown, this.db) ?? thrown
  }

  /** Closes the file after an operation failed. */
  closeFailed(cause?: unknown): void {
    try {
      this.#endTransaction()
    } finally {
      this.files[Symbol.dispose]()
      if (cause instanceof WalChanged) closeWithoutCheckpoint(this.db, this.location.file)
      else closeFailed(this.db, this.isSynced)
    }
  }

  /** Reads the file in a constructor, and closes it if that fails. */
  protected load<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      const why = this.whyFailed(error)
      this.closeFailed()
      throw why
    }
  }

  /** Commits changes, which are durable when it returns; none of them exists when it throws, unless FileTakenAway. */
  protected transact(change: () => void): void {
    this.#begin.run()
    this.files.begin()
    change()
    this.#commit.run()
    this.commits++
    this.#uncheckpointedCommits++
    // fails where the commit's pages are missing: it has written some, or none
    if (this.files.check() === 0) this.checkpointNow("PASSIVE")
  }

  /** Runs a statement that writes, which is a transaction of its own. */
  protected runAlone<T>(change: () => T): T {
    this.files.begin()
    const done = change()
    this.files.check()
    return done
  }

  /** Counts bytes of the WAL towards the next checkpoint. */
  protected gathered(bytes: number): void {
    this.#uncheckpointedBytes += bytes
  }

  protected checkpointPassively(): void {
    this.checkpointNow("PASSIVE")
  }

  /** All checkpoints go through here, for `isSynced`. */
  protected checkpointNow(mode: CheckpointMode): Checkpointed {
    this.files.checkUnchanged()
    const done = checkpoint(this.db, mode)
    this.files.checkpointed(done.isSynced)
    this.isSynced = done.isSynced
    return done
  }

  /** An open transaction would keep the file open. */
  #endTransaction(): void {
    if (this.db.inTransaction) this.db.run("ROLLBACK")
  }
}
