import { HooklineError } from "../../errors.ts"
import { exists } from "../../process/paths.ts"
import { DatabaseCalls } from "../../storage/database-calls.ts"
import { makeFolderOf } from "../../storage/database-file.ts"
import type { Logger } from "../../telemetry/log.ts"
import { ServiceDatabase, serviceStoreIn } from "./service-database.ts"
import type { ServiceStore } from "./service-store.ts"

/** The store in a file, which is opened when there is something to read or write. One process at a time has it. */
export class FileStore implements ServiceStore {
  readonly isShared = false
  readonly #folder: string
  readonly #log: Logger
  readonly #closing = new AbortController()
  #calls: DatabaseCalls<ServiceDatabase> | undefined

  /** @param folder `.hookline` next to the configuration file */
  constructor(folder: string, log: Logger) {
    this.#folder = folder
    this.#log = log
  }

  async read(group: string): Promise<ReadonlyMap<string, string>> {
    if (this.#calls === undefined && !exists(serviceStoreIn(this.#folder).file)) return new Map()
    return new Map(await this.#opened().do("read", group))
  }

  async write(group: string, name: string, text: string | undefined): Promise<void> {
    await this.#opened().do("write", group, name, text)
  }

  /** Whoever has the file open does everything. */
  async hold(): Promise<AbortSignal | undefined> {
    try {
      this.#opened()
      return this.#closing.signal
    } catch (error) {
      if (error instanceof HooklineError && error.code === "log_locked") return undefined
      throw error
    }
  }

  async release(): Promise<void> {}

  async close(): Promise<void> {
    this.#closing.abort(new HooklineError("closing", "the store is closed"))
    await this.#calls?.close()
  }

  /** @throws HooklineError `log_locked`, `log_io` */
  #opened(): DatabaseCalls<ServiceDatabase> {
    if (this.#calls !== undefined) return this.#calls
    const location = serviceStoreIn(this.#folder)
    makeFolderOf(location, this.#folder)
    return (this.#calls = new DatabaseCalls(location, () => new ServiceDatabase(location), this.#log))
  }
}
