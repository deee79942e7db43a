import { ServiceDatabase } from "../admin/store/service-database.ts"
import { LogDatabase } from "../brokers/embedded/log-database.ts"
import { GroupDatabase } from "../brokers/embedded/group-database.ts"
import { openSpoolDatabase } from "../brokers/spool/spool-database.ts"
import { KeyDatabase } from "../dedupe/key-database.ts"
import { extensions } from "../extensions/registry.ts"
import { PositionDatabase } from "../replay/position-database.ts"
import type { DatabaseKind, DatabaseLocation } from "../storage/database-file.ts"
import type { DurableDatabase } from "../storage/durable-database.ts"

/** Every kind of database with a thread, for storage/durable-writer.ts: a compiled binary has no files to import by path. */
const OPEN: { readonly [kind in DatabaseKind]?: (location: DatabaseLocation) => DurableDatabase } = {
  log: (location) => new LogDatabase(location),
  spool: openSpoolDatabase,
  "group store": (location) => new GroupDatabase(location),
  "position file": (location) => new PositionDatabase(location),
  "service store": (location) => new ServiceDatabase(location),
  "dedupe store": (location) => new KeyDatabase(location),
}

/** Opens a database by its location's kind, in its thread. */
export function openDatabase(location: DatabaseLocation): DurableDatabase {
  const { kind } = location
  const open = OPEN[kind as DatabaseKind] ?? databasesOfExtensions.find((it) => it.kind === kind)!.open
  return open(location)
}

const databasesOfExtensions = extensions.flatMap(({ files }) =>
  files.flatMap(({ kind, database }) => (database === undefined ? [] : { kind, open: database.open })),
)
