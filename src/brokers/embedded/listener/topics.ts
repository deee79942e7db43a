import { createHash } from "node:crypto"
import type { Database } from "bun:sqlite"
import { steadyMs } from "../../../clock/clock.ts"

/** Between two looks for topics that are not there: clients ask again. */
const LOOK_MS = 50

/** A topic as clients see it. */
export interface Topic {
  readonly id: number
  readonly name: string
  /** In base64url; the same for as long as the log is. */
  readonly uuid: string
  /** How many it has, as of the last look. */
  partitions: number
}

/** The topics of a log, as of the last look. */
export class Topics {
  readonly #byName = new Map<string, Topic>()
  readonly #byUuid = new Map<string, Topic>()
  #lookedMs = Number.NEGATIVE_INFINITY

  named(name: string): Topic | undefined {
    return this.#byName.get(name)
  }

  byId(uuid: string): Topic | undefined {
    return this.#byUuid.get(uuid)
  }

  /** Looks for all, by name. */
  all(db: Database, clusterId: string): readonly Topic[] {
    const rows = db.query<{ id: number; name: string }, []>("SELECT id, name FROM topics").all()
    for (const { id, name } of rows) {
      if (this.#byName.has(name)) continue
      const topic = { id, name, uuid: uuidOf(clusterId, id), partitions: 1 }
      this.#byName.set(name, topic)
      this.#byUuid.set(topic.uuid, topic)
    }
    const others = db
      .query<{ name: string; others: number }, []>(
        "SELECT name, count(*) AS others FROM partitions JOIN topics ON id = topic_id GROUP BY id",
      )
      .all()
    for (const { name, others: count } of others) this.#byName.get(name)!.partitions = 1 + count
    this.#lookedMs = steadyMs()
    return [...this.#byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Looks for new topics and partitions, once for all that a request asks for. */
  look(db: Database, clusterId: string): void {
    if (steadyMs() - this.#lookedMs >= LOOK_MS) this.all(db, clusterId)
  }
}

function uuidOf(clusterId: string, topicId: number): string {
  const hash = createHash("sha256").update(`${clusterId}/${topicId}`).digest()
  return hash.subarray(0, 16).toString("base64url")
}
