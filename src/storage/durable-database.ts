import { Database, type Statement } from "bun:sqlite"
import { openDurably, type DatabaseLocation, type Layout } from "./database-file.ts"
import { checkpoint, closeFailed, type Checkpointed, type CheckpointMode } from "./recovery.ts"

/**
 * How many bytes may gather in the WAL before a checkpoint. A commit that meets it waits for it: at 64 connections of the
 * embedded log the 99th percentile was 3.4 ms with 1 MiB, 6 with 4, 21 with 16, 85 with 64, for the same CPU.
 */
export const CHECKPOINT_BYTES = 1024 * 1024
/** The same by commits, each of which writes whole pages however small its records: this many are some 10 MiB of 16 KiB pages. */
const CHECKPOINT_COMMITS = 256

/**
 * A database whose commits are durable when they return: what the embedded log, the spool and the dedupe store have in
 * common in the thread that has the file open (serve-database.ts). Their subclasses add the operations that their owners ask
 * for. Once one of them failed with something else than busy, `closeFailed` is the only call left.
 */
export abstract class DurableDatabase {
  readonly location: DatabaseLocation
  protected readonly db: Database
  readonly #begin: Statement
  readonly #commit: Statement
  #uncheckpointedBytes = 0
  #uncheckpointedCommits = 0
  /** Whether the last checkpoint was a whole one, with an fsync of the database. */
  isSynced = true
  /** Transactions since the file was opened, those that only asked for the lock among them. */
  commits = 0

  /** @throws HooklineError `log_io`, HeldByReaders, SQLiteError, or Error of the system */
  constructor(location: DatabaseLocation, layout: Layout) {
    this.location = location
    this.db = openDurably(location, layout)
    this.#begin = this.db.prepare("BEGIN IMMEDIATE")
    this.#commit = this.db.prepare("COMMIT")
  }

  /** What its owner has to know whenever the file was opened; plain data. */
  state(): unknown {
    return undefined
  }

  /** Done when the answer to an operation is on its way: nobody waits for it. */
  afterAnswer(): void {
    this.checkpoint()
  }

  /** Asks for the write lock and gives it back; nothing is written. @throws SQLiteError busy: another process has it */
  askForLock(): void {
    this.#begin.run()
    this.#commit.run()
    this.commits++
  }

  /**
   * Makes a checkpoint when much has gathered in the WAL. Waits for no reader.
   *
   * @returns whether it did
   */
  checkpoint(): boolean {
    if (this.#uncheckpointedBytes < CHECKPOINT_BYTES && this.#uncheckpointedCommits < CHECKPOINT_COMMITS)
      return false
    this.#uncheckpointedBytes = 0
    this.#uncheckpointedCommits = 0
    this.checkpointPassively()
    return true
  }

  /** Checkpoints all of the WAL, where no reader prevents it, and closes the file. */
  close(): void {
    this.#endTransaction()
    this.db.close(true)
  }

  /** Closes the file after an operation failed. */
  closeFailed(_cause?: unknown): void {
    try {
      this.#endTransaction()
    } finally {
      closeFailed(this.db, this.isSynced)
    }
  }

  /** Reads what a constructor has to know of the file, which is closed when that fails. */
  protected load<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      this.closeFailed()
      throw error
    }
  }

  /** Makes changes durable as one. When it throws, none of them is there. */
  protected transact(change: () => void): void {
    this.#begin.run()
    change()
    this.#commit.run()
    this.commits++
    this.#uncheckpointedCommits++
  }

  /** Counts what goes to the WAL, towards the next checkpoint. */
  protected gathered(bytes: number): void {
    this.#uncheckpointedBytes += bytes
  }

  protected checkpointPassively(): Checkpointed {
    return this.checkpointNow("PASSIVE")
  }

  /** All checkpoints go through here, so that it is known whether the database had its fsync. */
  protected checkpointNow(mode: CheckpointMode): Checkpointed {
    const done = checkpoint(this.db, mode)
    this.isSynced = done.isWhole
    return done
  }

  protected pragma(name: string): number {
    return this.db.query<{ [name: string]: number }, []>(`PRAGMA ${name}`).get()![name]!
  }

  /** What is left of a failed batch would keep the file open. */
  #endTransaction(): void {
    if (this.db.inTransaction) this.db.run("ROLLBACK")
  }
}
