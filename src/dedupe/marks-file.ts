// Hot path: every event of a pipeline with an embedded store passes here.
import type { Database, Statement } from "bun:sqlite"
import { join } from "node:path"
import { openDurably, type LogPlace } from "../brokers/embedded-file.ts"
import { checkpoint, closeFailed } from "../brokers/embedded-recovery.ts"

/*
 * The file of marks, `marks.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   marks
 *   id  key                     until
 *   1   Zx0c…  (22 characters)  1795…
 *   2   b81T…                   1795…
 *
 * - `key` is 128 bits of a SHA-256 in base64url, whatever the event's own key is and however long: see
 *   components/dedupe-key.ts. It is unique: one index finds a mark.
 * - `until` is in milliseconds since 1970. A mark that is over counts as none.
 * - `id` is the rowid, in the order of the marks: what is over is deleted from the front. A store of several windows
 *   keeps the short ones up to as long as the longest.
 *
 * A mark takes about 75 bytes, so that 1000 events a second for 24 h are 6.5 GB. The index is written to all over, a page
 * a mark: small pages make the commits small (measured from 512 to 16,384 bytes).
 *
 * What a crash leaves: a batch is one transaction, there whole or not at all.
 */
const PAGE_BYTES = 1024
/** Of pages in memory; with SQLite's 2 MiB finding a key among 300,000 takes a fifth longer. */
const CACHE_KIBIBYTES = 16 * 1024
/** How many bytes of pages may gather in the WAL, at about two a mark, before they are carried over into the file. */
const CHECKPOINT_MARKS = 2000
/** Marks that are deleted at once: a commit that waits for it waits for about a millisecond. */
const SLICE_MARKS = 500

/** The file of marks in a folder. It may be an embedded log's folder: the files have names and a lock of their own. */
export function marksIn(directory: string): LogPlace {
  return {
    file: join(directory, "marks.sqlite"),
    lockFile: join(directory, "marks.lock"),
    holderFile: join(directory, "marks.pid"),
    applicationId: 0x484b4d4b, // HKMK
    kind: "memory of marks",
    title: `The Deduplicator's store in ${directory}`,
    alternative: "another folder",
  }
}

/** Once one of its calls failed with something else than busy, it must be closed. */
export class MarksFile {
  readonly #db: Database
  readonly #path: string
  readonly #begin: Statement
  readonly #commit: Statement
  readonly #find: Statement<{ until: number }, [string]>
  readonly #insert: Statement
  #uncheckpointed = 0
  /** Whether the last checkpoint was a whole one, with an fsync of the file. */
  #isSynced = true

  /** @throws HooklineError `log_io`, SQLiteError */
  constructor(place: LogPlace) {
    this.#path = place.file
    this.#db = openDurably(place, PAGE_BYTES, (db) =>
      db.run(
        `CREATE TABLE IF NOT EXISTS marks (
          id INTEGER PRIMARY KEY,
          key TEXT NOT NULL UNIQUE,
          until INTEGER NOT NULL
        ) STRICT`,
      ),
    )
    this.#db.run(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`)
    this.#begin = this.#db.prepare("BEGIN IMMEDIATE")
    this.#commit = this.#db.prepare("COMMIT")
    this.#find = this.#db.prepare("SELECT until FROM marks WHERE key = ?")
    // one that is over goes to the end with its new time
    this.#insert = this.#db.prepare("INSERT OR REPLACE INTO marks (key, until) VALUES (?, ?)")
  }

  /** Until when a key is marked, in milliseconds since 1970; undefined: it is not. */
  untilOf(key: string): number | undefined {
    return this.#find.get(key)?.until
  }

  /** Writes marks in one transaction; when it returns they are durable. When it throws, none is there. */
  write(marks: Iterable<readonly [key: string, untilMs: number]>): void {
    this.#begin.run()
    for (const [key, untilMs] of marks) {
      this.#insert.run(key, untilMs)
      this.#uncheckpointed++
    }
    this.#commit.run()
  }

  /** Carries the WAL over into the file when much has gathered. */
  checkpoint(): void {
    if (this.#uncheckpointed < CHECKPOINT_MARKS) return
    this.#uncheckpointed = 0
    this.#isSynced = checkpoint(this.#db, "PASSIVE").isWhole
  }

  /**
   * Deletes a slice of the oldest marks, those that were over at a time.
   *
   * @returns whether there may be more to delete
   */
  trim(nowMs: number): boolean {
    const [first] = this.#oldest(1)
    if (first === undefined || first.until >= nowMs) return false
    const slice = this.#oldest(SLICE_MARKS)
    const kept = slice.findIndex(({ until }) => until >= nowMs)
    const over = kept === -1 ? slice.length : kept
    this.#db.query("DELETE FROM marks WHERE id <= ?").run(slice[over - 1]!.id)
    this.#uncheckpointed += over
    return over === SLICE_MARKS
  }

  close(): void {
    this.#endTransaction()
    this.#db.close(true)
  }

  /** Closes the file after one of the calls failed. */
  closeFailed(): void {
    this.#endTransaction()
    closeFailed(this.#db, this.#path, this.#isSynced)
  }

  /** What is left of a failed batch would keep the file open. */
  #endTransaction(): void {
    if (this.#db.inTransaction) this.#db.run("ROLLBACK")
  }

  #oldest(limit: number): { id: number; until: number }[] {
    return this.#db
      .query<{ id: number; until: number }, [number]>("SELECT id, until FROM marks ORDER BY id LIMIT ?")
      .all(limit)
  }
}
