import { toStored } from "../embedded/log-tables.ts"
import { HooklineError } from "../../errors.ts"
import { exists } from "../../process/paths.ts"
import type { StoredRecord } from "../broker.ts"
import { DamagedFile } from "../../storage/damage.ts"
import { hasTable, openForReading } from "../../storage/database-file.ts"
import { EmbeddedReader } from "../embedded/reader.ts"
import { LOST_QUARANTINED, readQuarantined } from "./quarantine-table.ts"
import { spoolAt } from "./spool-database.ts"

/** A topic as `hookline spool status` shows it. */
export interface SpooledTopicInfo {
  readonly topic: string
  readonly records: number
  readonly bytes: number
  /** When its oldest record came, in milliseconds since 1970; undefined: it has just been forwarded. */
  readonly oldestMs: number | undefined
}

/** Records that were refused for one reason. */
export interface QuarantineInfo extends SpooledTopicInfo {
  readonly reason: string
}

/** What a spool holds; it may be written to meanwhile. @throws HooklineError `no_input` when it can't be read */
export async function inspectSpool(
  file: string,
): Promise<{ topics: SpooledTopicInfo[]; quarantined: QuarantineInfo[] }> {
  if (!exists(file)) return { topics: [], quarantined: [] }
  const location = spoolAt(file)
  const db = openForReading(location)
  const reader = new EmbeddedReader(location, db)
  try {
    const topics: SpooledTopicInfo[] = []
    for (const { topic, records, bytes = 0 } of await reader.topics()) {
      if (records > 0) topics.push({ topic, records, bytes, oldestMs: await firstMs(reader, topic) })
    }
    const quarantined = hasTable(db, "set_aside")
      ? db
          .query<QuarantineInfo, []>(
            `SELECT topic, reason, count(*) AS records, sum(bytes) AS bytes, min(timestamp) AS oldestMs
             FROM set_aside GROUP BY topic, reason ORDER BY topic, reason`,
          )
          .all()
      : []
    return { topics, quarantined }
  } finally {
    await reader.close()
  }
}

async function firstMs(reader: EmbeddedReader, topic: string): Promise<number | undefined> {
  const { signal } = new AbortController()
  for await (const record of reader.read(topic, await reader.ranges(topic), { signal }))
    return record.timestampMs
  return undefined
}

/** Yields the records that are quarantined now. */
export function* readQuarantine(file: string): Generator<StoredRecord & { readonly reason: string }> {
  if (!exists(file)) return
  const location = spoolAt(file)
  const db = openForReading(location)
  try {
    const rows = readQuarantined(db)
    for (let next = rows.next(); ; next = rows.next()) {
      if (next.done === true && next.value) throw new DamagedFile(location, LOST_QUARANTINED)
      if (next.done === true) return
      const { id: offset, reason, ...row } = next.value
      yield { ...toStored(row.topic, { ...row, offset }), reason }
    }
  } catch (error) {
    throw new HooklineError("no_input", `${file} can't be read: ${(error as Error).message}`, {
      cause: error,
    })
  } finally {
    db.close()
  }
}
