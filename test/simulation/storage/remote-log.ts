import type { YieldingBroker } from "../../../src/brokers/broker.ts"
import { PublishError } from "../../../src/errors.ts"
import type { Receipt, Record } from "../../../src/pipeline/record.ts"
import { steadyMs } from "../../../src/clock/clock.ts"
import type { Random } from "../../support/random.ts"
import type { SimulatedProcess } from "../simulated-process.ts"
import type { World } from "../world.ts"

interface Pending {
  readonly record: Record
  readonly deadlineMs: number
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: PublishError) => void
}

interface Batch {
  /** Those that were given up are no longer answered. */
  pending: readonly Pending[]
  isAppended: boolean
}

/** What it does from now on; `refusedBatches` and `lostAnswers` in a hundred. */
export interface RemoteState {
  readonly state: "up" | "down" | "silent"
  readonly lostAnswers: number
  readonly refusedBatches?: number
}

/**
 * A log elsewhere that outlives the service: up, down (and clients know), or silent (they find out by their deadlines). What
 * was sent arrives in the order in which it was sent, or not at all; batches are refused for now, and answers get lost.
 */
export class RemoteLog {
  readonly records: Record[] = []
  readonly world: World
  state: RemoteState["state"] = "up"
  /** How many answers in a hundred are lost. */
  #lostAnswers = 0
  /** How many batches in a hundred are refused. */
  #refusedBatches = 0
  readonly #random: Random

  constructor(world: World) {
    this.world = world
    this.#random = world.randomOf("remote log")
  }

  set({ state, lostAnswers, refusedBatches = 0 }: RemoteState): void {
    this.state = state
    this.#lostAnswers = lostAnswers
    this.#refusedBatches = refusedBatches
  }

  refusesBatch(): boolean {
    return this.#refusedBatches > 0 && this.#random.below(100) < this.#refusedBatches
  }

  /** How many records the next batch may have. */
  batchRecords(): number {
    return this.#random.pick([1, 5, 50])
  }

  losesAnswer(): boolean {
    return this.#random.below(100) < this.#lostAnswers
  }
}

/** A client of a remote log that keeps the promises of the real producer: the order of a topic, and nothing twice by itself. */
export class ModelBroker implements YieldingBroker {
  readonly #remote: RemoteLog
  readonly #world: World
  readonly #process: SimulatedProcess
  readonly #queues = new Map<string, Pending[]>()
  readonly #out = new Map<string, Batch>()
  /** Called with each record that is published, and with the outcome. */
  readonly #watch: (record: Record) => (isAcknowledged: boolean) => void

  constructor(remote: RemoteLog, watch: (record: Record) => (isAcknowledged: boolean) => void) {
    this.#remote = remote
    this.#world = remote.world
    this.#process = remote.world.current!
    this.#watch = watch
  }

  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    const settled = this.#watch(record)
    if (this.#remote.state === "down") {
      settled(false)
      return Promise.reject(new PublishError("unavailable", "it is down"))
    }
    return new Promise((resolve, reject) => {
      const one: Pending = {
        record,
        deadlineMs,
        resolve: (receipt) => {
          settled(true)
          resolve(receipt)
        },
        reject: (error) => {
          settled(false)
          reject(error)
        },
      }
      const queue = this.#queues.getOrInsertComputed(record.topic, () => [])
      queue.push(one)
      if (deadlineMs < Number.POSITIVE_INFINITY) setTimeout(() => this.#late(one), deadlineMs - steadyMs())
      if (!this.#out.has(record.topic)) this.#send(record.topic)
    })
  }

  cancel(topic: string): void {
    const pending = [...(this.#out.get(topic)?.pending ?? []), ...(this.#queues.get(topic) ?? [])]
    this.#out.delete(topic)
    this.#queues.delete(topic)
    for (const one of pending) one.reject(new PublishError("unavailable", "cancelled"))
  }

  prepare(): void {}

  ready(): true | string {
    return this.#remote.state === "down" ? "it is down" : true
  }

  async close(): Promise<void> {}

  #late(one: Pending): void {
    const { topic } = one.record
    const queue = this.#queues.get(topic) ?? []
    const batch = this.#out.get(topic)
    if (queue.includes(one)) queue.splice(queue.indexOf(one), 1)
    else if (batch?.pending.includes(one)) batch.pending = batch.pending.filter((it) => it !== one)
    else return
    // a batch that nobody waits for any more continues: nothing overtakes it
    one.reject(new PublishError("deadline", "too late"))
  }

  #send(topic: string): void {
    const pending = this.#queues.get(topic)?.splice(0, this.#remote.batchRecords()) ?? []
    if (pending.length === 0) return
    const batch: Batch = { pending, isAppended: false }
    this.#out.set(topic, batch)
    this.#try(
      topic,
      batch,
      pending.map(({ record }) => record),
    )
  }

  /** As often as it takes: the log knows a batch again. */
  #try(topic: string, batch: Batch, records: readonly Record[]): void {
    const remote = this.#remote
    this.#world.after(ONE_WAY_MS, () => {
      if (remote.state !== "up") return
      const isRefused = !batch.isAppended && remote.refusesBatch()
      if (!batch.isAppended && !isRefused) {
        remote.records.push(...records)
        batch.isAppended = true
      }
      if (remote.losesAnswer()) return
      const answered = (): void =>
        isRefused ? this.#refused(topic, batch) : this.#acknowledged(topic, batch)
      this.#process.run(answered, ONE_WAY_MS)
    })
    setTimeout(() => {
      if (this.#out.get(topic) === batch) this.#try(topic, batch, records)
    }, RETRY_MS)
  }

  #acknowledged(topic: string, batch: Batch): void {
    if (this.#out.get(topic) !== batch) return
    this.#out.delete(topic)
    for (const one of batch.pending) one.resolve({ partition: 0, offset: -1 })
    this.#send(topic)
  }

  #refused(topic: string, batch: Batch): void {
    if (this.#out.get(topic) !== batch) return
    this.#out.delete(topic)
    for (const one of batch.pending) one.reject(new PublishError("unavailable", "refused for now"))
    // once those who published them know
    this.#process.run(() => {
      if (!this.#out.has(topic)) this.#send(topic)
    }, 0)
  }
}

/** Fixed, so that what is sent arrives in order. */
const ONE_WAY_MS = 2
const RETRY_MS = 100
