import { Database } from "bun:sqlite"
import { existsSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { StoredRecord } from "../../../src/brokers/broker.ts"
import { LogDatabase } from "../../../src/brokers/embedded/log-database.ts"
import {
  recordColumns,
  recordsTable,
  toStored,
  type RecordRow,
} from "../../../src/brokers/embedded/log-tables.ts"
import { openSpoolDatabase, spoolAt } from "../../../src/brokers/spool/spool-database.ts"
import { dedupeFileIn, KeyDatabase } from "../../../src/dedupe/key-database.ts"
import { logIn } from "../../../src/storage/database-file.ts"
import type { DurableDatabase } from "../../../src/storage/durable-database.ts"
import { partitionRows } from "../../../src/brokers/embedded/partition-rows.ts"

/** What an embedded log holds, as it is opened after a power cut. */
export function readLog(folder: string): StoredRecord[] {
  const location = logIn(folder)
  return recover(location.file, () => new LogDatabase(location)) ? recordsIn(location.file) : []
}

export const spoolIn = (folder: string): string => join(folder, "spool.sqlite")

/** Makes a spool's reserve, which takes its time, at once; its content is nothing that anyone reads. */
export function reserveIn(folder: string): void {
  const file = `${spoolIn(folder)}.reserve`
  writeFileSync(file, "", { mode: 0o600 })
  truncateSync(file, RESERVE_BYTES)
}

const RESERVE_BYTES = 8 * 1024 * 1024

/** What a spool holds, in the same way: what is to be forwarded. */
export function readSpool(folder: string): StoredRecord[] {
  const file = spoolIn(folder)
  return recover(file, () => openSpoolDatabase(spoolAt(file))) ? recordsIn(file) : []
}

/** The dedupe keys of a folder whose log was read: in the store's file, and in the journal of the log. */
export function readKeys(folder: string): ReadonlySet<string> {
  const location = dedupeFileIn(folder)
  const isThere = recover(location.file, () => new KeyDatabase(location))
  const stored = isThere ? rowsOf<{ key: string }>(location.file, "SELECT key FROM marks") : []
  const log = logIn(folder).file
  const journaled = existsSync(log) ? rowsOf<{ key: string }>(log, "SELECT key FROM dedupe_keys") : []
  return new Set([...stored, ...journaled].map(({ key }) => key))
}

/** @returns whether there is such a file */
function recover(file: string, open: () => DurableDatabase): boolean {
  if (!existsSync(file)) return false
  open().close()
  return true
}

function recordsIn(file: string): StoredRecord[] {
  const db = new Database(file, { readonly: true })
  try {
    return partitionRows(db).flatMap((row) =>
      db
        .query<RecordRow, []>(`SELECT ${recordColumns(db, row)} FROM ${recordsTable(row)} ORDER BY offset`)
        .all()
        .map((record) => toStored(row.name, record, row.partition)),
    )
  } finally {
    db.close()
  }
}

function rowsOf<T>(file: string, sql: string): T[] {
  const db = new Database(file, { readonly: true })
  try {
    return db.query<T, []>(sql).all()
  } finally {
    db.close()
  }
}
