import { HooklineError } from "../errors.ts"
import type { DatabaseLocation } from "../storage/database-file.ts"
import { DurableWriter } from "../storage/durable-writer.ts"
import { BUSY_RETRY_MS, type ThreadAnswer } from "../storage/serve-database.ts"
import type { Logger } from "../telemetry/log.ts"
import { LedgerDatabase } from "./ledger-database.ts"

type Operations = LedgerDatabase["operations"]

/** The ledger of a reconcile, open in a thread of its own. One process at a time has it. */
export class Ledger {
  readonly #writer: DurableWriter<LedgerDatabase>

  /** @throws HooklineError `log_locked`, `log_io` */
  constructor(location: DatabaseLocation, log: Logger) {
    this.#writer = new DurableWriter<LedgerDatabase>(location, () => new LedgerDatabase(location).close(), {
      log,
      failed() {},
      recovered() {},
    })
  }

  /** Calls an operation of the database. @throws HooklineError `log_io` while its file can't be used */
  async do<K extends keyof Operations>(
    operation: K,
    ...args: Parameters<Operations[K]>
  ): Promise<ReturnType<Operations[K]>> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<ThreadAnswer<ReturnType<Operations[K]>>>()
      this.#writer.do(operation, args, resolve)
      const answer = await promise
      if (answer.kind === "done") return answer.value
      if (answer.kind === "failed") throw new HooklineError("log_io", answer.reason, { cause: answer.cause })
      await Bun.sleep(BUSY_RETRY_MS)
    }
  }

  close(): Promise<void> {
    return this.#writer.close()
  }
}
