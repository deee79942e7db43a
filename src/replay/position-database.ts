import { DatabaseCalls } from "../storage/database-calls.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { DurableDatabase } from "../storage/durable-database.ts"
import type { Logger } from "../telemetry/log.ts"
import {
  createPositionTables,
  PAGE_BYTES,
  PositionTables,
  type PositionFile,
  type Stored,
} from "./position-tables.ts"

/** A file of positions in its thread, so that no commit holds up the event loop. */
export class PositionDatabase extends DurableDatabase {
  readonly operations: Pick<PositionTables<unknown>, keyof PositionTables<unknown>> = new PositionTables(
    this.db,
    { do: (action) => action(), change: (action) => this.transact(action) },
  )

  constructor(location: DatabaseLocation) {
    super(location, { pageBytes: PAGE_BYTES, createTables: createPositionTables })
    // left by a process that was killed
    this.load(() => this.runAlone(() => this.db.run("DELETE FROM waiting")))
  }
}

/** The position of a forward that runs with the service. */
export class PositionCalls<About> extends DatabaseCalls<PositionDatabase> implements PositionFile<About> {
  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(location: DatabaseLocation, log: Logger) {
    super(location, () => new PositionDatabase(location), log)
  }

  read = async (): Promise<Stored<About> | undefined> => (await this.do("read")) as Stored<About> | undefined
  begin: PositionFile<About>["begin"] = (about, position) => this.do("begin", about, position)
  describe: PositionFile<About>["describe"] = (about) => this.do("describe", about)
  save: PositionFile<About>["save"] = (position, failures) => this.do("save", position, failures)
  setBack: PositionFile<About>["setBack"] = (position) => this.do("setBack", position)
  setWaiting: PositionFile<About>["setWaiting"] = (reason) => this.do("setWaiting", reason)
  isPaused: PositionFile<About>["isPaused"] = () => this.do("isPaused")
  setPaused: PositionFile<About>["setPaused"] = (isPaused) => this.do("setPaused", isPaused)
}
