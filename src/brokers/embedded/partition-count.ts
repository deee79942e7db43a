import type { Database } from "bun:sqlite"
import { OptionError } from "../../errors.ts"
import { exists } from "../../process/paths.ts"
import { hasWal, openUnchanging } from "../../storage/check-database.ts"
import { describeFailure, openForReading, type DatabaseLocation } from "../../storage/database-file.ts"
import { partitionRows } from "./partition-rows.ts"

/**
 * Partitions of a log's topics are never taken away: records of a key would be in another one, without their order.
 *
 * @param had what the topic with most of them has
 * @throws OptionError `config` of partitions
 */
export function checkPartitions(
  partitions: number,
  had: number,
  { title }: Pick<DatabaseLocation, "title">,
): void {
  if (partitions >= had) return
  throw new OptionError(
    "config",
    "partitions",
    `${title.replace(/^The/, "the")} has topics of ${had} partitions, which can't become ${partitions}; set it to ${had} or more, or begin another log`,
  )
}

/** As checkPartitions, by the file, which a process may be writing. @throws OptionError `log_io` of directory too */
export function checkPartitionsIn(location: DatabaseLocation, partitions: number): void {
  if (exists(location.file)) checkPartitions(partitions, mostPartitions(location), location)
}

function mostPartitions(location: DatabaseLocation): number {
  let db: Database | undefined
  try {
    db = hasWal(location) ? openForReading(location) : openUnchanging(location.file)
    return Math.max(0, ...partitionRows(db).map(({ partition }) => partition)) + 1
  } catch (cause) {
    throw new OptionError("log_io", "directory", describeFailure(cause, location), { cause })
  } finally {
    db?.close()
  }
}
