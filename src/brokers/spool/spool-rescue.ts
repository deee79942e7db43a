import type { Database } from "bun:sqlite"
import type { UnreadRecords } from "../../kafka-listener/log.ts"
import { HooklineError } from "../../errors.ts"
import { isDamage, salvage } from "../../storage/damage.ts"
import { describeFailure, openForReading, type DatabaseLocation } from "../../storage/database-file.ts"
import { scan } from "../embedded/damage.ts"
import type { PlacedRow } from "../embedded/log-tables.ts"
import { endOrUnknown } from "../embedded/partition-end.ts"
import { partitionRows } from "../embedded/partition-rows.ts"
import { sizeOfRow } from "../embedded/stored-rows.ts"
import { readQuarantined, type QuarantinedRow } from "./quarantine-table.ts"
import { SpoolDatabase, spoolAt } from "./spool-database.ts"

/*
 * Copies what can be read of a damaged spool to a new one. Records keep their order and times, and get offsets that follow each
 * other: nothing outside of a spool refers to them. Quarantined records stay quarantined.
 */

export interface RescuedSpool {
  /** Records that wait to be forwarded. */
  readonly records: number
  readonly quarantined: number
  /** Records that can't be read, at their offsets in the damaged spool. */
  readonly lost: readonly UnreadRecords[]
  /** Whether some of the quarantined records can't be read. */
  readonly hasLostQuarantined: boolean
}

/** Records in one commit of the new spool. */
const COMMIT_BYTES = 4 * 1024 * 1024
/** Quarantined ones. */
const SOME_RECORDS = 100

/**
 * Copies a spool that no process writes.
 *
 * @param file the new one @param progressed called with bytes
 * @throws HooklineError `no_input` if nothing of it can be read
 */
export function rescueSpool(
  location: DatabaseLocation,
  file: string,
  progressed: (bytes: number) => void,
): RescuedSpool {
  using db = openForReading(location)
  salvage(db)
  const target = new SpoolDatabase(spoolAt(file))
  try {
    const copied = copyRecords(db, target, progressed)
    return { ...copied, ...copyQuarantined(db, target) }
  } catch (cause) {
    if (!isDamage(cause)) throw cause
    throw new HooklineError("no_input", describeFailure(cause, location), { cause })
  } finally {
    target.close()
  }
}

function copyRecords(
  db: Database,
  target: SpoolDatabase,
  progressed: (bytes: number) => void,
): Pick<RescuedSpool, "records" | "lost"> {
  const lost: UnreadRecords[] = []
  let records = 0
  for (const row of partitionRows(db)) {
    const { name: topic, partition, first_offset: first } = row
    let rows: PlacedRow[] = []
    let bytes = 0
    const commit = (): void => {
      if (rows.length > 0) target.adopt(topic, rows)
      records += rows.length
      progressed(bytes)
      rows = []
      bytes = 0
    }
    for (const found of scan(db, row, { first, end: endOrUnknown(db, row).offset })) {
      if ("gap" in found) {
        lost.push({ topic, partition, ...found.gap })
        continue
      }
      rows.push(...found.rows)
      bytes += found.rows.reduce((sum, one) => sum + sizeOfRow(one), 0)
      if (bytes >= COMMIT_BYTES) commit()
    }
    commit()
  }
  return { records, lost }
}

function copyQuarantined(
  db: Database,
  target: SpoolDatabase,
): Pick<RescuedSpool, "quarantined" | "hasLostQuarantined"> {
  const rows = readQuarantined(db)
  const some: QuarantinedRow[] = []
  let quarantined = 0
  for (let next = rows.next(); ; next = rows.next()) {
    if (next.done !== true) some.push(next.value)
    if (next.done === true || some.length === SOME_RECORDS) {
      quarantined += some.length
      target.quarantine(some.splice(0))
    }
    if (next.done === true) return { quarantined, hasLostQuarantined: next.value }
  }
}
