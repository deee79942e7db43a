// Hot path: every event of a pipeline with an embedded store passes here.
import type { Statement } from "bun:sqlite"
import { join } from "node:path"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { CHECKPOINT_BYTES, DurableDatabase } from "../storage/durable-database.ts"
import type { KeyUntil } from "../storage/key-journal.ts"

/*
 * The file of dedupe keys, `marks.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   marks
 *   id  key                     until
 *   1   Zx0c…  (22 characters)  1795…
 *   2   b81T…                   1795…
 *
 * - `key` is 128 bits of a SHA-256 in base64url, whatever the event's own key is and however long: see
 *   components/dedupe-key.ts. It is unique: one index finds a key.
 * - `until` is in milliseconds since 1970. A key that is over counts as none.
 * - `id` is the rowid, in the order in which keys were added: what is over is deleted from the front. A store of several
 *   windows keeps the short ones up to as long as the longest.
 *
 * A key takes about 75 bytes, so that 1000 events a second for 24 h are 6.5 GB. The index is written to all over, a page
 * a key: small pages make the commits small (measured from 512 to 16,384 bytes).
 *
 * What a crash leaves: a batch is one transaction, there whole or not at all. Keys that were committed with their records
 * may be in the journal of the log beside it alone (storage/key-journal.ts).
 */
const PAGE_BYTES = 1024
/** Of pages in memory; with SQLite's 2 MiB finding a key among 300,000 takes a fifth longer. */
const CACHE_KIBIBYTES = 16 * 1024
/** So many keys, at about two pages each, are worth a checkpoint. */
const CHECKPOINT_KEYS = 2000
/** Keys that are deleted at once: a commit that waits for it waits for about a millisecond. */
const SLICE_KEYS = 500

/** The file of dedupe keys in a folder. It may be an embedded log's folder: the files have names and a lock of their own. */
export function dedupeFileIn(directory: string): DatabaseLocation {
  return {
    file: join(directory, "marks.sqlite"),
    lockFile: join(directory, "marks.lock"),
    holderFile: join(directory, "marks.pid"),
    applicationId: 0x484b4d4b, // HKMK
    kind: "dedupe store",
    title: `The Deduplicator's store in ${directory}`,
    alternative: "another folder",
  }
}

/** The file in the thread that has it open. */
export class KeyDatabase extends DurableDatabase {
  readonly #find: Statement<{ until: number }, [string]>
  readonly #insert: Statement

  /** @throws as DurableDatabase */
  constructor(location: DatabaseLocation) {
    super(location, {
      pageBytes: PAGE_BYTES,
      createTables: (db) =>
        void db.run(
          `CREATE TABLE IF NOT EXISTS marks (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL UNIQUE,
            until INTEGER NOT NULL
          ) STRICT`,
        ),
    })
    this.db.run(`PRAGMA cache_size = -${CACHE_KIBIBYTES}`)
    this.#find = this.db.prepare("SELECT until FROM marks WHERE key = ?")
    // One that is over goes to the end with its new time. What a log still has of it does not shorten that.
    this.#insert = this.db.prepare(
      `INSERT OR REPLACE INTO marks (key, until)
       VALUES (?1, max(?2, coalesce((SELECT until FROM marks WHERE key = ?1), 0)))`,
    )
  }

  /** Until when keys are known, in milliseconds since 1970; undefined: one is not. */
  untilOf(keys: readonly string[]): (number | undefined)[] {
    return keys.map((key) => this.#find.get(key)?.until)
  }

  /** Writes keys in one transaction; when it returns they are durable. When it throws, none is there. */
  write(keys: readonly KeyUntil[]): void {
    if (keys.length === 0) return
    this.transact(() => {
      for (const [key, untilMs] of keys) this.#insert.run(key, untilMs)
    })
    this.gathered((keys.length * CHECKPOINT_BYTES) / CHECKPOINT_KEYS)
  }

  /**
   * Deletes a slice of the oldest keys, those that were over at a time.
   *
   * @returns whether there may be more to delete
   */
  trim(nowMs: number): boolean {
    const [first] = this.#oldest(1)
    if (first === undefined || first.until >= nowMs) return false
    const slice = this.#oldest(SLICE_KEYS)
    const kept = slice.findIndex(({ until }) => until >= nowMs)
    const over = kept === -1 ? slice.length : kept
    this.transact(() => this.db.query("DELETE FROM marks WHERE id <= ?").run(slice[over - 1]!.id))
    this.gathered((over * CHECKPOINT_BYTES) / CHECKPOINT_KEYS)
    return over === SLICE_KEYS
  }

  #oldest(limit: number): { id: number; until: number }[] {
    return this.db
      .query<{ id: number; until: number }, [number]>("SELECT id, until FROM marks ORDER BY id LIMIT ?")
      .all(limit)
  }
}
