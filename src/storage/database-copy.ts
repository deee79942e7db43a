import { constants as sqlite, Database, SQLiteError } from "bun:sqlite"
import { pathToFileURL } from "node:url"
import { HooklineError } from "../errors.ts"
import { isDamage, ReadError, whyUnread } from "./damage.ts"
import {
  describeFailure,
  makeTemporariesInMemory,
  openForReading,
  pragma,
  READING_BUSY_MS,
  type DatabaseLocation,
} from "./database-file.ts"
import { makePrivateDatabase } from "./private-files.ts"
import { fsyncFile } from "./fsync.ts"

/*
 * Copies a database that another process may be writing, by SQLite itself: that process is never waited for, and its locks
 * stay. `begin` fixes what is copied; until `end` the writer's WAL grows.
 */

/** A table is copied at once: what is known of it first are its columns. */
interface TableRow {
  readonly name: string
  readonly sql: string
}

interface Rescue {
  /** Called with a table that can't be read, which is left empty or out. */
  readonly damaged: (name: string, error: unknown) => void
  /** The statement that created each table, by its name. */
  readonly descriptions: ReadonlyMap<string, string>
}

export class DatabaseCopy implements Disposable {
  readonly location: DatabaseLocation
  /** The copy. */
  readonly file: string
  /** The copy is `main`, what is copied `source`. */
  readonly db: Database
  /** The source, also to see whether it was changed. */
  readonly reader: Database
  #version = 0

  /** @throws HooklineError `no_input` */
  constructor(location: DatabaseLocation, file: string) {
    this.location = location
    this.file = file
    makePrivateDatabase(file)
    const { SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE, SQLITE_OPEN_URI } = sqlite
    this.db = new Database(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI)
    makeTemporariesInMemory(this.db)
    this.reader = openForReading(location)
    this.reading(() => {
      this.db.run(`PRAGMA busy_timeout = ${READING_BUSY_MS}`)
      this.db.query("ATTACH ? AS source").run(`${pathToFileURL(location.file).href}?mode=ro`)
      // settings that only a new file accepts
      this.db.run(`PRAGMA main.page_size = ${pragma(this.reader, "page_size")}`)
      this.db.run(`PRAGMA main.auto_vacuum = ${pragma(this.reader, "auto_vacuum")}`)
      this.db.run("PRAGMA main.journal_mode = MEMORY")
      this.db.run("PRAGMA main.synchronous = OFF")
    })
  }

  /** Fixes what is copied. */
  begin(): void {
    this.reading(() => {
      this.#version = pragma(this.reader, "data_version")
      this.db.run("BEGIN")
      this.db.query("SELECT count(*) FROM source.sqlite_schema").get()
    })
  }

  /** Whether the source is still as it was. */
  get isCurrent(): boolean {
    return this.reading(() => pragma(this.reader, "data_version") === this.#version)
  }

  /** Releases what `begin` has fixed. */
  giveUp(): void {
    this.db.run("ROLLBACK")
  }

  /**
   * Copies tables whole.
   *
   * @param names undefined: all
   * @param rescue undefined: what can't be read is thrown
   */
  copyTables(names?: (name: string) => boolean, rescue?: Rescue): void {
    this.reading(() => {
      const tables = this.db
        .query<TableRow, []>(
          "SELECT name, sql FROM source.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
        )
        .all()
      for (const { name, sql } of tables) {
        if (names?.(name) === false) continue
        try {
          this.db.run(this.#descriptionOf(name, rescue) ?? sql)
          this.db.run(`INSERT INTO main.${name} SELECT * FROM source.${name}`)
        } catch (error) {
          // of a description that is not what was written, SQLite says that it is none
          if (rescue === undefined || !(isDamage(error) || hasCode(error, "SQLITE_ERROR"))) throw error
          rescue.damaged(name, error)
        }
      }
      for (const name of ["application_id", "user_version"])
        this.db.run(`PRAGMA main.${name} = ${pragma(this.reader, name)}`)
    })
  }

  /** Its own description of a table with as many columns; an earlier version may have had fewer. */
  #descriptionOf(name: string, rescue: Rescue | undefined): string | undefined {
    const own = rescue?.descriptions.get(name)
    if (own === undefined) return undefined
    this.db.run(own)
    const columns = (schema: string): number =>
      this.db.query("SELECT 1 FROM pragma_table_info(?, ?)").all(name, schema).length
    const isSame = columns("main") === columns("source")
    this.db.run(`DROP TABLE main.${name}`)
    return isSame ? own : undefined
  }

  /** The source is no longer needed. */
  end(): void {
    if (this.db.inTransaction) this.db.run("COMMIT")
    this.db.run("DETACH source")
  }

  /** Closes the copy, which is durable then but for its name. */
  close(): void {
    this[Symbol.dispose]()
    fsyncFile(this.file)
  }

  /** Names the source in what is thrown. @throws HooklineError `no_input` */
  reading<T>(read: () => T): T {
    try {
      return read()
    } catch (error) {
      const cause = whyUnread(error, this.location.file, this.db, "source")
      if (cause instanceof ReadError || (cause instanceof HooklineError && cause.code === "no_input"))
        throw cause
      throw new HooklineError("no_input", describeFailure(cause, this.location), { cause })
    }
  }

  [Symbol.dispose](): void {
    this.reader.close()
    this.db.close()
  }
}

const hasCode = (error: unknown, code: string): boolean => error instanceof SQLiteError && error.code === code
