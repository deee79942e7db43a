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
 * - `key` is 128 bits of a SHA-256 in base64url, see components/dedupe-key.ts.
 * - `until` is in milliseconds since 1970, when the key expires.
 * - `id` is the rowid, in order of addition: expired keys are deleted from the front. With several windows, keys of the short
 *   ones stay up to as long as those of the longest.
 *
 * A key takes about 75 bytes: 1000 events a second for 24 h are 6.5 GB. Each writes to another page of the index: small pages
 * make small commits (measured from 512 to 16,384 bytes).
 *
 * After a crash: a batch is one transaction, there whole or not at all. Keys committed with their records may be only in the
 * journal of the log next to the file (storage/key-journal.ts).
 */
const PAGE_BYTES = 1024
/** With SQLite's 2 MiB, finding a key among 300,000 takes a fifth longer. */
const CACHE_KIBIBYTES = 16 * 1024
/** What a key counts for until the next checkpoint, which is due after 2000 keys; each writes about two pages to the WAL. */
const BYTES_PER_KEY = CHECKPOINT_BYTES / 2000
/** Deleted at once, in about a millisecond. */
const SLICE_KEYS = 500

/** The dedupe file in a folder, which may be an embedded log's: the files have names and a lock of their own. */
export function dedupeFileIn(directory: string): DatabaseLocation {
  return {
    file: join(directory, "marks.sqlite"),
    lockFile: join(directory, "marks.lock"),
    applicationId: 0x484b4d4b, // HKMK
    kind: "dedupe store",
    title: `The Deduplicator's store in ${directory}`,
    alternative: "another folder; replicas of one service share a store = redis://...",
    remedy:
      "stop Hookline, then move it away, and retries of earlier events are published again, or restore a backup",
  }
}

export class KeyDatabase extends DurableDatabase {
  readonly #find: Statement<{ until: number }, [string]>
  readonly #insert: Statement

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
    // an expired key moves to the end with its new time; a log's journal may have an older one
    this.#insert = this.db.prepare(
      `INSERT OR REPLACE INTO marks (key, until)
       VALUES (?1, max(?2, coalesce((SELECT until FROM marks WHERE key = ?1), 0)))`,
    )
  }

  readonly operations = {
    /** When keys expire; undefined: unknown. */
    untilOf: (keys: readonly string[]): (number | undefined)[] =>
      keys.map((key) => this.#find.get(key)?.until),

    /** Commits keys; as `transact`. */
    write: (keys: readonly KeyUntil[]): void => {
      this.transact(() => {
        for (const [key, untilMs] of keys) this.#insert.run(key, untilMs)
      })
      this.gathered(keys.length * BYTES_PER_KEY)
    },

    /** Deletes a slice of the expired keys at the front. @returns whether there may be more */
    trim: (nowMs: number): boolean => {
      const [first] = this.#oldest(1)
      if (first === undefined || first.until >= nowMs) return false
      const slice = this.#oldest(SLICE_KEYS)
      const kept = slice.findIndex(({ until }) => until >= nowMs)
      const over = kept === -1 ? slice.length : kept
      this.transact(() => this.db.query("DELETE FROM marks WHERE id <= ?").run(slice[over - 1]!.id))
      this.gathered(over * BYTES_PER_KEY)
      return over === SLICE_KEYS
    },
  }

  #oldest(limit: number): { id: number; until: number }[] {
    return this.db
      .query<{ id: number; until: number }, [number]>("SELECT id, until FROM marks ORDER BY id LIMIT ?")
      .all(limit)
  }
}
