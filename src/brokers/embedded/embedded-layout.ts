import type { Database } from "bun:sqlite"
import type { MachineTime } from "../../clock/machine-clock.ts"
import { unlessDamaged } from "../../storage/damage.ts"
import { type Layout } from "../../storage/database-file.ts"
import { createKeyJournal } from "../../storage/key-journal.ts"
import { createClock } from "../../storage/kept-clock.ts"
import { createEpochs } from "./log-epochs.ts"
import { createIdentity, LOG_LAYOUT } from "./log-tables.ts"
import { partitionRows } from "./partition-rows.ts"
import { StoredRows } from "./stored-rows.ts"

/** The tables of an embedded log's file. */
export const embeddedLayout = (machine?: MachineTime): Layout => ({
  ...LOG_LAYOUT,
  canShrink: true,
  createTables(db) {
    LOG_LAYOUT.createTables(db)
    createKeyJournal(db)
    createIdentity(db)
    createEpochs(db)
    createClock(db, () => Math.min(Date.now(), newestTimestamp(db)), machine)
    // of backups by earlier versions
    db.run("DROP TABLE IF EXISTS backup")
  },
})

/** The largest time of a partition's last record; Infinity: there is none. */
function newestTimestamp(db: Database): number {
  const last = partitionRows(db).flatMap((row) => {
    using stored = unlessDamaged(db, () => new StoredRows(db, row))
    return stored?.last()?.timestamp ?? []
  })
  return last.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...last)
}
