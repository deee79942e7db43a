import type { World } from "../world.ts"
import { idOf, type Publication } from "./publication.ts"
import type { TopicState } from "./controller.ts"
import type { Entry } from "./replica-log.ts"

interface CommittedLog {
  readonly values: Buffer[]
  readonly entries: Map<number, Entry>
  /** The last publication of each key of each process. */
  readonly lastByKey: Map<string, number>
}

/** What all in-sync replicas had, of each partition of each topic that ever was: nothing of it may be lost. */
export class CommittedLogs {
  readonly #world: World
  readonly #publications: ReadonlyMap<number, Publication>
  /** Those that may be stored more than once. */
  readonly #repeatable: ReadonlySet<number>
  /** By topic id and index. */
  readonly #logs = new Map<string, CommittedLog>()
  /** The ids that a topic's name has had. */
  readonly #ids = new Map<string, Set<string>>()
  /** By topic id: the publications in it. */
  readonly #stored = new Map<string, Set<number>>()

  constructor(world: World, publications: ReadonlyMap<number, Publication>, repeatable: ReadonlySet<number>) {
    this.#world = world
    this.#publications = publications
    this.#repeatable = repeatable
  }

  committed({ id, name }: TopicState, index: number, entries: readonly Entry[]): void {
    this.#ids.getOrInsertComputed(name, () => new Set()).add(id)
    const log = this.#logs.getOrInsertComputed(`${id} ${index}`, () => ({
      values: [],
      entries: new Map(),
      lastByKey: new Map(),
    }))
    for (const entry of entries) {
      const { baseOffset } = entry
      const known = log.entries.get(baseOffset)
      if (known === entry) continue
      if (known !== undefined || baseOffset !== log.values.length) {
        this.#world.violate(`the model lost what was committed: ${name}-${index} offset ${baseOffset}`)
        continue
      }
      log.entries.set(baseOffset, entry)
      this.#append(log, `${name}-${index}`, id, entry)
    }
  }

  /** Looks for an acknowledged record. @returns what is wrong */
  find({ id, topic, value }: Publication, partition: number, offset: number): string | undefined {
    let found: string | undefined
    for (const topicId of this.#ids.get(topic) ?? []) {
      const values = this.#logs.get(`${topicId} ${partition}`)?.values ?? []
      if (offset < 0 ? values.some((one) => one.equals(value)) : values[offset]?.equals(value))
        return undefined
      if (values[offset] !== undefined) found = `${idOf(values[offset])} is there`
    }
    const isElsewhere = [...(this.#ids.get(topic) ?? [])].some((one) => this.#stored.get(one)?.has(id))
    return found ?? (isElsewhere ? "it is elsewhere" : "it is not stored")
  }

  #append(log: CommittedLog, partition: string, topicId: string, { batch, baseOffset }: Entry): void {
    const stored = this.#stored.getOrInsertComputed(topicId, () => new Set())
    const ids: number[] = []
    for (const { key, value } of batch.records) {
      log.values.push(value)
      const id = idOf(value)
      ids.push(id)
      const publication = this.#publications.get(id)
      if (publication?.value.equals(value) !== true || publication.key !== key?.toString()) {
        this.#world.violate(`${partition}: a record was stored that nobody has published: ${id}`)
        continue
      }
      if (stored.has(id)) {
        if (this.#repeatable.has(id)) continue
        this.#world.violate(`${id} is stored twice, now in ${partition}`)
      }
      stored.add(id)
      if (publication.key === undefined) continue
      const ofKey = `${publication.process.name} ${publication.key}`
      const last = log.lastByKey.get(ofKey) ?? -1
      if (last > id) this.#world.violate(`${partition}: ${id} is stored after ${last}, of the same key`)
      log.lastByKey.set(ofKey, id)
    }
    this.#world.tell("cluster", `${partition} from ${baseOffset}: ${ids.join(" ")}`)
  }
}
