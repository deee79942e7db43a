import type { Database, Statement } from "bun:sqlite"

/*
 * Dedupe keys whose records are in the embedded log of the same folder, in a table of the log's file:
 *
 *   dedupe_keys
 *   id  key                     until
 *   7   Zx0c…  (22 characters)  1795…
 *
 * A key is added in the transaction of its record, so that neither is there without the other, whatever crash comes. The
 * store's own file, which has the index that finds a key, gets it behind the answer; then it is deleted here. The store asks
 * for what a crash left here before it looks anything up. It is answered from the log's thread alone, once that has made the
 * log durable: in a WAL whose fsync failed a key can be read and still be lost with its record.
 *
 * Why not the index itself: it is written to all over, and with the log's pages of 16 KiB a commit of 64 keys would write a
 * mebibyte. At the right edge of a table they take one page.
 */

/** A key, with the time until which it is known in milliseconds since 1970. */
export type KeyUntil = readonly [key: string, untilMs: number]

/** The writing side, in the thread that has the log open. */
export class KeyJournalTable {
  readonly #db: Database
  readonly #insert: Statement
  readonly #delete: Statement
  /** No id is given twice, also when the file is opened again: those of before may still be deleted. */
  #nextId: number

  constructor(db: Database) {
    this.#db = db
    const { last } = db.query<{ last: number | null }, []>("SELECT max(id) AS last FROM dedupe_keys").get()!
    this.#nextId = Math.max((last ?? 0) + 1, Date.now() * 1000)
    this.#insert = db.prepare("INSERT INTO dedupe_keys VALUES (?, ?, ?)")
    this.#delete = db.prepare("DELETE FROM dedupe_keys WHERE id <= ?")
  }

  keys(): { id: number; key: string; untilMs: number }[] {
    return this.#db
      .query<{ id: number; key: string; untilMs: number }, []>("SELECT id, key, until AS untilMs FROM dedupe_keys ORDER BY id")
      .all()
  }

  /** Adds keys, within a transaction; gives the id of the last. */
  add(keys: readonly KeyUntil[]): number {
    for (const [key, untilMs] of keys) this.#insert.run(this.#nextId++, key, untilMs)
    return this.#nextId - 1
  }

  /** Deletes keys up to that id, within a transaction. */
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
