import { LogDatabase } from "../brokers/embedded/log-database.ts"
import { GroupDatabase } from "../brokers/embedded/group-database.ts"
import { openSpoolDatabase } from "../brokers/spool/spool-database.ts"
import { KeyDatabase } from "../dedupe/key-database.ts"
import { LedgerDatabase } from "../reconcile/ledger-database.ts"
import { PositionDatabase } from "../replay/position-database.ts"
import type { DatabaseKind, DatabaseLocation } from "../storage/database-file.ts"
import type { DurableDatabase } from "../storage/durable-database.ts"

/** Every kind of database with a thread, for storage/durable-writer.ts: a compiled binary has no files to import by path. */
const OPEN: { readonly [kind in DatabaseKind]?: (location: DatabaseLocation) => DurableDatabase } = {
  log: (location) => new LogDatabase(location),
  spool: openSpoolDatabase,
  "group store": (location) => new GroupDatabase(location),
  ledger: (location) => new LedgerDatabase(location),
  "position file": (location) => new PositionDatabase(location),
  "dedupe store": (location) => new KeyDatabase(location),
}

/** Opens a database by its location's kind, in its thread. */
export const openDatabase = (location: DatabaseLocation): DurableDatabase => OPEN[location.kind]!(location)
