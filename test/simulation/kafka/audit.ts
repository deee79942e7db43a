import type { Receipt } from "../../../src/pipeline/record.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import type { World } from "../world.ts"
import { CommittedLogs } from "./committed-logs.ts"
import type { SimulatedSocket } from "./network.ts"
import { sentBatches } from "./sent-batches.ts"

/** A record that a service is to publish, and what became of it. */
export interface Publication {
  readonly id: number
  readonly process: SimulatedProcess
  readonly topic: string
  readonly key: string | undefined
  /** Begins with the id. */
  readonly value: Buffer
  readonly timeoutMs: number
  publishedMs: number
  outcome: "pending" | "acknowledged" | "rejected"
}

/** Checks, at each thing that happens, what the producer promises: docs/reliability.md and docs/limits.md. */
export class Audit {
  readonly logs: CommittedLogs
  readonly #world: World
  readonly #publications = new Map<number, Publication>()
  /** By process and time: nothing happens in them. */
  readonly #stalls: { readonly process: SimulatedProcess; readonly fromMs: number; readonly untilMs: number }[] = []
  /** Batches by producer, epoch and partition, and there by sequence. */
  readonly #sequences = new Map<string, Map<number, { readonly count: number; readonly bytes: Buffer }>>()

  constructor(world: World) {
    this.#world = world
    this.logs = new CommittedLogs(world, this.#publications)
  }

  add(publication: Publication): void {
    this.#publications.set(publication.id, publication)
  }

  /** All that have no answer although their process lives. */
  get pending(): Publication[] {
    return [...this.#publications.values()].filter(
      ({ outcome, process, publishedMs }) => outcome === "pending" && process.isAlive && publishedMs >= 0,
    )
  }

  /** Those of higher ids. */
  after(id: number): Publication[] {
    return [...this.#publications.values()].filter((one) => one.id > id)
  }

  stalled(process: SimulatedProcess, ms: number): void {
    this.#stalls.push({ process, fromMs: this.#world.nowMs, untilMs: this.#world.nowMs + ms })
  }

  acknowledged(publication: Publication, { partition, offset }: Receipt): void {
    this.#settled(publication, "acknowledged", `${publication.topic}-${partition} offset ${offset}`)
    const problem = this.logs.find(publication, partition, offset)
    if (problem !== undefined)
      this.#world.violate(`${publication.id} was acknowledged at ${publication.topic}-${partition} offset ${offset}: ${problem}`)
  }

  rejected(publication: Publication, code: string): void {
    this.#settled(publication, "rejected", code)
  }

  /** Sees each request when it is sent. */
  sent({ client, server, number }: SimulatedSocket, frame: Buffer): void {
    for (const { topic, index, batch } of sentBatches(frame)) {
      const { producerId, producerEpoch, baseSequence, records, bytes } = batch
      const ids = records.map(({ value }) => Number.parseInt(value.toString("latin1", 0, 12), 10))
      const what = `${topic}-${index} producer ${producerId} epoch ${producerEpoch} sequence ${baseSequence}`
      this.#world.tell(client.name, `to ${server} (${number}): ${what}: ${ids.join(" ")}`)
      const key = `${producerId} ${producerEpoch} ${topic} ${index}`
      const known = this.#sequences.getOrInsertComputed(key, () => new Map())
      const same = known.get(baseSequence)
      if (same === undefined) {
        for (const [from, { count }] of known)
          if (baseSequence < from + count && from < baseSequence + records.length)
            this.#world.violate(`${what}: sequences overlap those of another batch`)
        known.set(baseSequence, { count: records.length, bytes })
      } else if (!same.bytes.equals(bytes)) this.#world.violate(`${what}: the sequence is that of another batch`)
      for (const id of ids) {
        const { publishedMs, timeoutMs } = this.#publications.get(id)!
        const lateMs = this.#world.nowMs - publishedMs - timeoutMs
        if (lateMs > 0.01) this.#world.violate(`${id} is sent ${lateMs.toFixed(3)} ms after its deadline`)
      }
    }
  }

  #settled(publication: Publication, outcome: "acknowledged" | "rejected", how: string): void {
    const { id, process, timeoutMs, publishedMs } = publication
    this.#world.tell(process.name, `${id} ${outcome}: ${how}`)
    if (publication.outcome !== "pending") this.#world.violate(`${id} was answered twice`)
    publication.outcome = outcome
    let dueMs = publishedMs + timeoutMs + LATE_MS
    for (const stall of this.#stalls)
      if (stall.process === process && stall.fromMs <= dueMs && stall.untilMs > dueMs - LATE_MS)
        dueMs = stall.untilMs + LATE_MS
    if (this.#world.nowMs > dueMs)
      this.#world.violate(`${id} was answered ${(this.#world.nowMs - dueMs).toFixed(1)} ms too late`)
  }
}

/** How late a deadline is noticed, at most: EXPIRE_MS, and a turn. */
const LATE_MS = 12
