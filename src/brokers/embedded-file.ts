import { Database } from "bun:sqlite"
import { join } from "node:path"

/*
 * The log's file, `log.sqlite`, in WAL mode with synchronous=FULL:
 *
 *   topics                                       records_<topics.id>, one table a topic
 *   id  name      first_offset  first_position   offset  end_position  timestamp  key   headers  value
 *   1   webhooks  2             900              2       1310          1795…      NULL  NULL     {"id":…
 *   2   audit     0             0                3       1742          1795…      NULL  NULL     {"id":…
 *
 * - `offset` is the rowid: records are appended to the right edge of the B-tree, whose pages stay full.
 * - `end_position` counts the bytes of keys and values of the topic from its first record ever to the end of this one;
 *   the bytes between two records are a subtraction.
 * - `first_offset` and `first_position` are those of the oldest record kept, or of the next one when none is: offsets go
 *   on where they were even when everything was deleted.
 * - `timestamp` is in milliseconds since 1970. `headers` are packed as embedded-headers.ts says, NULL when there are none.
 *
 * A batch is one transaction: after a crash it is there whole or not at all, and since an acknowledgement follows the
 * fsync of the WAL, an acknowledged record is there. A batch whose acknowledgement was never sent may be there.
 */
export const LOG_FILE = "log.sqlite"
/** `PRAGMA application_id` of a log ("HKLN"), and the version of its layout. */
export const APPLICATION_ID = 0x484b4c4e
export const LAYOUT_VERSION = 1

export const logPath = (directory: string): string => join(directory, LOG_FILE)
export const recordsTable = (topicId: number): string => `records_${topicId}`

/** Opens the file for writing, makes it when it is not there. */
export function openLogFile(directory: string): Database {
  const db = new Database(logPath(directory), { create: true, readwrite: true })
  db.run("PRAGMA page_size = 8192")
  db.run("PRAGMA journal_mode = WAL")
  db.run("PRAGMA synchronous = FULL")
  db.run("PRAGMA busy_timeout = 5000")
  db.run(
    `CREATE TABLE IF NOT EXISTS topics (
      id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
      first_offset INTEGER NOT NULL, first_position INTEGER NOT NULL
    ) STRICT`,
  )
  db.run(`PRAGMA application_id = ${APPLICATION_ID}`)
  db.run(`PRAGMA user_version = ${LAYOUT_VERSION}`)
  return db
}
