import { Database, type Statement } from "bun:sqlite"
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { HooklineError } from "../errors.ts"
import { isBusy, logIn, type DatabaseLocation } from "./database-file.ts"

/*
 * Dedupe keys whose records are in the embedded log of the same folder, in a table of the log's file:
 *
 *   dedupe_keys
 *   id  key                     until
 *   7   Zx0c…  (22 characters)  1795…
 *
 * A key is added in the transaction of its record, so that neither is there without the other, whatever crash comes. The
 * store's own file, which has the index that finds a key, gets it behind the answer; then it is deleted here. What a crash
 * left here is read when the store's file is opened, before anything is looked up in it.
 *
 * Why not the index itself: it is written to all over, and with the log's pages of 16 KiB a commit of 64 keys would write a
 * mebibyte. At the right edge of a table they take one page.
 */

/** How long reading waits for a log that is being recovered or closed. */
const BUSY_MS = 1000
const SLICE_KEYS = 10_000

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

  ids(): Map<string, number> {
    const rows = this.#db.query<{ id: number; key: string }, []>("SELECT id, key FROM dedupe_keys").all()
    return new Map(rows.map(({ id, key }) => [key, id]))
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

/**
 * What the log beside a store's file has kept for it, in slices.
 *
 * @throws HooklineError `log_io`, SQLiteError busy
 */
export function* readKeyJournal(store: DatabaseLocation): Generator<readonly KeyUntil[]> {
  const { file } = logIn(dirname(store.file))
  if (!existsSync(file)) return
  const db = new Database(file, { readonly: true })
  try {
    db.run(`PRAGMA busy_timeout = ${BUSY_MS}`)
    if (db.query("SELECT 1 FROM sqlite_schema WHERE name = 'dedupe_keys'").get() === null) return
    const slice = db.query<{ id: number; key: string; until: number }, [number, number]>(
      "SELECT id, key, until FROM dedupe_keys WHERE id > ? ORDER BY id LIMIT ?",
    )
    for (let rows, after = 0; (rows = slice.all(after, SLICE_KEYS)).length > 0; after = rows.at(-1)!.id)
      yield rows.map(({ key, until }) => [key, until] as const)
  } catch (error) {
    if (isBusy(error)) throw error
    throw new HooklineError("log_io", `${file} can't be read: ${(error as Error).message}`, { cause: error })
  } finally {
    db.close()
  }
}
