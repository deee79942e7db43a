import type { Logger } from "../telemetry/log.ts"
import { openEmbeddedMarks } from "./embedded-marks.ts"
import { nameOf, type Location } from "./location.ts"
import type { MarkStore } from "./mark-store.ts"
import { Marks } from "./marks.ts"
import { openMemoryMarks } from "./memory-marks.ts"
import { openRedisMarks } from "./redis-marks.ts"

/** The stores of an application's Deduplicators: one for each location, shared by the pipelines that name it. */
export class MarkStores {
  readonly #log: Logger
  readonly #open = new Map<string, { readonly name: string; readonly marks: Marks }>()

  constructor(log: Logger) {
    this.#log = log
  }

  /**
   * The marks at a location, opened when nobody has before.
   *
   * @throws HooklineError `log_locked`, `log_io`
   */
  at(location: Location): Marks {
    const place = location.kind === "redis" ? location.url : nameOf(location)
    const known = this.#open.get(place)
    if (known !== undefined) return known.marks
    const name = nameOf(location)
    const marks = new Marks(this.#openStore(location, name))
    this.#open.set(place, { name, marks })
    return marks
  }

  /** Each store's name, and why it can't be used now; undefined for one that can. */
  *problems(): Iterable<readonly [name: string, problem: string | undefined]> {
    for (const { name, marks } of this.#open.values()) {
      const ready = marks.ready()
      yield [name, ready === true ? undefined : ready]
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ marks }) => marks.close()))
  }

  #openStore(location: Location, store: string): MarkStore {
    const log = this.#log.child({ store })
    switch (location.kind) {
      case "memory":
        return openMemoryMarks({ log })
      case "embedded":
        return openEmbeddedMarks(location.directory, { log })
      case "redis":
        return openRedisMarks(location.url, { log, name: location.name })
    }
  }
}
