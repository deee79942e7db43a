import type { DatabaseLocation } from "../storage/database-file.ts"
import type { DurableDatabase } from "../storage/durable-database.ts"

/** A kind of file that an extension keeps: in the `directory` of its sections, by default in the folder of a log. */
export interface KeptFiles {
  /** The kind that a backup's manifest and the location of a database name. */
  readonly kind: string
  /** Their names within that folder. */
  readonly pattern: RegExp
  /** The folders within it that have such files; undefined: none. */
  readonly folders?: RegExp
  /** undefined: they are no databases, and may be copied as they are */
  readonly database?: {
    /** @param names what the pattern's groups match */
    locate(folder: string, ...names: string[]): DatabaseLocation
    /** Opens one, in its thread. */
    open(location: DatabaseLocation): DurableDatabase
  }
}
