import { createHash } from "node:crypto"
import { steadyMs } from "../clock/clock.ts"
import type { Log } from "./log.ts"

/** Pause between two searches for topics that do not exist yet: clients ask again. */
const REFRESH_MS = 50

/** A topic as clients see it. */
export interface ClientTopic {
  readonly id: number
  readonly name: string
  /** In base64url; the same for as long as the log is. */
  readonly uuid: string
  /** How many it has, as of the last reading. */
  partitions: number
}

/** The topics of a log, as of the last reading. */
export class Topics {
  readonly #byName = new Map<string, ClientTopic>()
  readonly #byUuid = new Map<string, ClientTopic>()
  #readMs = Number.NEGATIVE_INFINITY

  named(name: string): ClientTopic | undefined {
    return this.#byName.get(name)
  }

  byId(uuid: string): ClientTopic | undefined {
    return this.#byUuid.get(uuid)
  }

  /** Reads all of them. @returns by name */
  all(log: Log): readonly ClientTopic[] {
    for (const { id, name, partitions } of log.topics()) {
      const known = this.#byName.get(name)
      if (known !== undefined) {
        known.partitions = partitions
        continue
      }
      const topic = { id, name, uuid: uuidOf(log.clusterId, id), partitions }
      this.#byName.set(name, topic)
      this.#byUuid.set(topic.uuid, topic)
    }
    this.#readMs = steadyMs()
    return [...this.#byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Finds new topics and partitions, once for all that a request asks for. */
  refresh(log: Log): void {
    if (steadyMs() - this.#readMs >= REFRESH_MS) this.all(log)
  }
}

function uuidOf(clusterId: string, topicId: number): string {
  const hash = createHash("sha256").update(`${clusterId}/${topicId}`).digest()
  return hash.subarray(0, 16).toString("base64url")
}
