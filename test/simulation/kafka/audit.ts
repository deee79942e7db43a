import type { Receipt } from "../../../src/pipeline/record.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import type { World } from "../world.ts"
import { CommittedLogs } from "./committed-logs.ts"
import { idOf, type Publication } from "./publication.ts"
import type { SimulatedSocket } from "./network.ts"
import type { RecordBatch } from "./record-batches.ts"
import { sentBatches } from "./sent-batches.ts"

interface SentBatch {
  readonly from: number
  readonly count: number
  readonly bytes: Buffer
  /** How often it was sent and not refused. */
  times: number
  isRefused: boolean
}

/** Checks, at each thing that happens, what the producer promises: docs/reliability.md and docs/limits.md. */
export class Audit {
  readonly logs: CommittedLogs
  readonly #world: World
  readonly #mayBeRejected: (publication: Publication, isFinal: boolean) => boolean
  readonly #publications = new Map<number, Publication>()
  /** By process and time: nothing happens in them. */
  readonly #stalls: {
    readonly process: SimulatedProcess
    readonly fromMs: number
    readonly untilMs: number
  }[] = []
  /** Batches by producer, epoch and partition. */
  readonly #sequences = new Map<string, SentBatch[]>()
  /** Records of batches that may have been split although they were stored. */
  readonly #split = new Set<number>()

  /** @param mayBeRejected whether the cluster may refuse a record, for good or for now */
  constructor(world: World, mayBeRejected: (publication: Publication, isFinal: boolean) => boolean) {
    this.#world = world
    this.#mayBeRejected = mayBeRejected
    this.logs = new CommittedLogs(world, this.#publications, this.#split)
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
      this.#world.violate(
        `${publication.id} was acknowledged at ${publication.topic}-${partition} offset ${offset}: ${problem}`,
      )
  }

  rejected(publication: Publication, code: string): void {
    this.#settled(publication, "rejected", code)
    const isFinal = code === "refused" || code === "record_too_large"
    if (!this.#mayBeRejected(publication, isFinal))
      this.#world.violate(`${publication.id} was rejected (${code}) although the cluster takes it`)
  }

  /** Sees each request that is sent, and when that began. */
  sent({ client, server, number }: SimulatedSocket, frame: Buffer, begunMs: number): void {
    for (const { topic, index, batch } of sentBatches(frame)) {
      if (batch === undefined) {
        this.#world.violate(`${topic}-${index}: a damaged batch is sent`)
        continue
      }
      const { producerId, producerEpoch, baseSequence, records, bytes } = batch
      const ids = records.map(({ value }) => idOf(value))
      const what = `${topic}-${index} producer ${producerId} epoch ${producerEpoch} sequence ${baseSequence}`
      this.#world.tell(client.name, `to ${server} (${number}): ${what}: ${ids.join(" ")}`)
      const key = `${producerId} ${producerEpoch} ${topic} ${index}`
      const sent = this.#sequences.getOrInsertComputed(key, () => [])
      const same = sent.find((one) => one.bytes.equals(bytes))
      if (same === undefined) {
        const isOverlapping = (one: SentBatch): boolean =>
          !one.isRefused && baseSequence < one.from + one.count && one.from < baseSequence + records.length
        if (sent.some(isOverlapping)) this.#world.violate(`${what}: its sequence is that of another batch`)
        sent.push({ from: baseSequence, count: records.length, bytes, isRefused: false, times: 1 })
      } else if (++same.times >= CLOSES && ids.length > 1) for (const id of ids) this.#split.add(id)
      for (const id of ids) {
        const { publishedMs, timeoutMs } = this.#publications.get(id)!
        const lateMs = begunMs - publishedMs - timeoutMs
        if (lateMs > 0.01) this.#world.violate(`${id} is sent ${lateMs.toFixed(3)} ms after its deadline`)
      }
    }
  }

  /** A broker has answered that it did not append a batch: its sequence is free, unless it is on its way once more. */
  refused(topic: string, index: number, { producerId, producerEpoch, bytes }: RecordBatch): void {
    const sent = this.#sequences.get(`${producerId} ${producerEpoch} ${topic} ${index}`)
    const found = sent?.find((one) => one.bytes.equals(bytes))
    if (found !== undefined && --found.times === 0) found.isRefused = true
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

/** A batch that the connection was closed on so often is split: docs/limits.md. */
const CLOSES = 3
/** How late a deadline is noticed, at most: SWEEP_MS, and a turn. */
const LATE_MS = 12
