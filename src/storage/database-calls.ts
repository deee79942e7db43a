import { HooklineError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { DurableWriter } from "./durable-writer.ts"
import { BUSY_RETRY_MS, type ThreadAnswer } from "./serve-database.ts"

/** A database in a thread of its own whose operations are awaited, one after the other. One process at a time has it. */
export class DatabaseCalls<D extends DurableDatabase> {
  readonly #writer: DurableWriter<D>

  /** @param open opens the database, once to try @throws HooklineError `log_locked`, `log_io` */
  constructor(location: DatabaseLocation, open: () => D, log: Logger) {
    this.#writer = new DurableWriter<D>(location, () => open().close(), {
      log,
      failed() {},
      recovered() {},
    })
  }

  /** Calls an operation of the database. @throws HooklineError `log_io` while its file can't be used */
  async do<K extends keyof D["operations"] & string>(
    operation: K,
    ...args: Parameters<D["operations"][K]>
  ): Promise<ReturnType<D["operations"][K]>> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<ThreadAnswer<ReturnType<D["operations"][K]>>>()
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

/** Calls an operation of a writer's database once, and returns its answer. @throws HooklineError `unavailable` if it failed, or another process has a lock */
export function answerOf<D extends DurableDatabase, K extends keyof D["operations"] & string>(
  writer: DurableWriter<D>,
  operation: K,
  ...args: Parameters<D["operations"][K]>
): Promise<ReturnType<D["operations"][K]>> {
  const { promise, resolve, reject } = Promise.withResolvers<ReturnType<D["operations"][K]>>()
  writer.do(operation, args, (answer) => {
    if (answer.kind === "done") return resolve(answer.value)
    reject(new HooklineError("unavailable", writer.problem ?? "its file is not open yet"))
  })
  return promise
}
