import type { Database } from "bun:sqlite"
import { join } from "node:path"
import type { DatabaseLocation } from "../../storage/database-file.ts"
import { DurableDatabase } from "../../storage/durable-database.ts"

/*
 *   entries   group | name | text
 */
const PAGE_BYTES = 4096

/** The store of a service, in the folder of the service. */
export const serviceStoreIn = (folder: string): DatabaseLocation => ({
  file: join(folder, "service.sqlite"),
  lockFile: join(folder, "service.lock"),
  applicationId: 0x484b5353, // HKSS
  kind: "service store",
  title: `The service's store in ${folder}`,
  alternative: "another folder for the configuration file",
  remedy: "move it away, or restore a backup: it has what was told and acknowledged, and no events",
})

export class ServiceDatabase extends DurableDatabase {
  readonly operations = {
    read: (group: string): (readonly [name: string, text: string])[] =>
      this.db
        .query<{ name: string; text: string }, [string]>('SELECT name, text FROM entries WHERE "group" = ?')
        .all(group)
        .map(({ name, text }) => [name, text] as const),
    write: (group: string, name: string, text: string | undefined): void =>
      this.transact(() => {
        if (text === undefined)
          this.db.run('DELETE FROM entries WHERE "group" = ? AND name = ?', [group, name])
        else this.db.run("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", [group, name, text])
      }),
  }

  constructor(location: DatabaseLocation) {
    super(location, { pageBytes: PAGE_BYTES, createTables })
  }
}

const createTables = (db: Database): void =>
  void db.run(
    'CREATE TABLE IF NOT EXISTS entries ("group" TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY ("group", name)) WITHOUT ROWID, STRICT',
  )
