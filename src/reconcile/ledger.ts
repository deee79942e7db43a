import { DatabaseCalls } from "../storage/database-calls.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import type { Logger } from "../telemetry/log.ts"
import { LedgerDatabase } from "./ledger-database.ts"

/** The ledger of a reconcile. */
export class Ledger extends DatabaseCalls<LedgerDatabase> {
  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(location: DatabaseLocation, log: Logger) {
    super(location, () => new LedgerDatabase(location), log)
  }
}
