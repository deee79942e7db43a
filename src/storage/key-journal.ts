import type { Database, Statement } from "bun:sqlite"

/*
 * Dedupe keys of the store in an embedded log's folder, in a table of the log:
 *
 *   dedupe_keys
 *   id  key                     until
 *   7   Zx0c…  (22 characters)  1795…
 *
 * A key is added in its record's transaction: no crash leaves one without the other. Behind the answer it is copied to the
 * store's file, whose index finds it, and deleted here. The store reads what a crash left here before its first lookup, and
 * through the log's thread alone, which has made the log durable: in a WAL whose fsync failed, a key can be read and yet be
 * lost with its record.
 *
 * docs/decisions/durable-writer.md has why the index is not in the log itself.
 */

/** Times are those of the store's clock, in milliseconds. */
export type KeyUntil = readonly [key: string, untilMs: number]

export class KeyJournalTable {
  readonly #db: Database
  readonly #insert: Statement
  readonly #delete: Statement
  /** Ids are never reused, not even after a reopening: those of before may still be deleted. */
  #nextId: number

  /** @param nowMs by a clock of the file that never goes back */
  constructor(db: Database, nowMs: number) {
    this.#db = db
    const { last } = db.query<{ last: number | null }, []>("SELECT max(id) AS last FROM dedupe_keys").get()!
    this.#nextId = Math.max((last ?? 0) + 1, nowMs * 1000)
    this.#insert = db.prepare("INSERT INTO dedupe_keys VALUES (?, ?, ?)")
    this.#delete = db.prepare("DELETE FROM dedupe_keys WHERE id <= ?")
  }

  keys(): { id: number; key: string; untilMs: number }[] {
    return this.#db
      .query<{ id: number; key: string; untilMs: number }, []>(
        "SELECT id, key, until AS untilMs FROM dedupe_keys ORDER BY id",
      )
      .all()
  }

  /** Adds keys within a transaction. @returns the id of the last */
  add(keys: readonly KeyUntil[]): number {
    for (const [key, untilMs] of keys) this.#insert.run(this.#nextId++, key, untilMs)
    return this.#nextId - 1
  }

  deleteThrough(id: number): void {
    this.#delete.run(id)
  }
}

export function createKeyJournal(db: Database): void {
  db.run(
    `CREATE TABLE IF NOT EXISTS dedupe_keys (
      id INTEGER PRIMARY KEY,
      key TEXT NOT NULL,
      until INTEGER NOT NULL
    ) STRICT`,
  )
}
