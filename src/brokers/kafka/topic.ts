import { ERROR } from "../../kafka-protocol/error-codes.ts"
import { rarely } from "../../clock/lasting.ts"
import type { PublishError } from "../../errors.ts"
import { Accumulator, type ProducerContext } from "./accumulator.ts"
import { PendingQueue, type PendingRecord } from "./pending-queue.ts"
import { StaleMetadata, topicIdOf, type TopicMetadata } from "./metadata.ts"
import { Partition } from "./partition.ts"
import { isPlaced, partitionFor } from "../placement.ts"
import { cancelled, topicMissing, topicRefused } from "./publish-errors.ts"
import { STALE_METADATA_LOG_MS, UNKNOWN_TOPIC_MS } from "./timeouts.ts"
import { CreationSchedule, type Creation } from "./topic-creation.ts"

/**
 * One topic: its partitions, their leaders, and the pending records that have no partition yet.
 *
 * States: `unknown` until the cluster has named it; `available`; `missing` when the cluster does not have it; `refused` when
 * it will never take a record of this client. What is published to the last two is rejected at once.
 *
 * Metadata may come from a broker that lags behind the others: the number of partitions only grows while the topic has the
 * same id, an older leader does not replace a newer one, and an id that the topic had before is stale, see StaleMetadata.
 * Partitions are never forgotten: their sequences continue, should they come back.
 */
export class Topic {
  readonly accumulator: Accumulator
  state: "unknown" | "available" | "missing" | "refused" = "unknown"
  partitions: readonly Partition[] = []
  readonly #creation = new CreationSchedule()
  /** Records with a key whose partition is unknown yet. */
  readonly #unplaced = new PendingQueue()
  /** Partitions with records or a batch, and some that had. */
  readonly #busy = new Set<Partition>()
  /** All partitions that it ever had, by index. */
  readonly #known: Partition[] = []
  #byLeader: ReadonlyMap<number, readonly Partition[]> = new Map()
  /** Index of the partition that takes records without a key next. */
  #next = 0
  #id: string | undefined
  readonly #formerIds = new Set<string>()
  readonly #staleMetadata = new StaleMetadata()
  readonly #staleFound = rarely(STALE_METADATA_LOG_MS, () => {
    const { log, metrics } = this.accumulator.context
    metrics.incident("metadata_behind")
    log.warn({ topic: this.name }, "stale metadata ignored: a broker lags behind")
  })
  #existed = false
  /** Since when the brokers asked do not know it. */
  #unknownSinceMs: number | undefined
  #refusalCode = 0

  constructor(name: string, context: ProducerContext) {
    this.accumulator = new Accumulator(name, context)
  }

  get name(): string {
    return this.accumulator.name
  }

  /** Queues a record. @returns the partition that has it; undefined: any may take it, or none is known yet */
  add(pending: PendingRecord): Partition | undefined {
    const { partitions } = this
    const isAnyones = !isPlaced(pending.record)
    if (isAnyones || partitions.length === 0) {
      const queue = isAnyones ? this.accumulator.unkeyed : this.#unplaced
      queue.push(pending)
      return undefined
    }
    const partition = partitions[partitionFor(pending.record, partitions.length)]!
    partition.queue.push(pending)
    this.#busy.add(partition)
    return partition
  }

  /** Why nothing can be published to the topic now; undefined: it can. */
  problem(): PublishError | undefined {
    if (this.state === "missing") return topicMissing(this.name, this.#existed, this.#creation.problem)
    return this.state === "refused" ? topicRefused(this.name, this.#refusalCode) : undefined
  }

  /** Node ids of the leaders, that of the next partition for records without a key first. */
  *leaders(): Generator<number> {
    const first = this.partitions[this.#next]?.leader
    if (first !== undefined) yield first
    for (const leader of this.#byLeader.keys()) if (leader !== first) yield leader
  }

  /**
   * The partition of a leader that takes the pending records without a key; if none can, when to try again. undefined: none
   * are pending.
   */
  place(leader: number, nowMs: number): Partition | number | undefined {
    const { unkeyed } = this.accumulator
    unkeyed.expire(nowMs)
    if (unkeyed.length === 0) return undefined
    const led = this.#byLeader.get(leader) ?? []
    const from = led.findIndex(({ index }) => index >= this.#next)
    let retryAtMs = Number.POSITIVE_INFINITY
    for (let step = 0; step < led.length; step++) {
      const partition = led[(Math.max(0, from) + step) % led.length]!
      if (partition.notBeforeMs > nowMs) retryAtMs = Math.min(retryAtMs, partition.notBeforeMs)
      else if (partition.batch === undefined) return partition
    }
    return retryAtMs
  }

  tookUnkeyed(partition: Partition): void {
    this.#next = (partition.index + 1) % this.partitions.length
    this.#busy.add(partition)
  }

  /** Whether every partition is known and has a leader. */
  get hasLeaders(): boolean {
    return this.state === "available" && !this.#byLeader.has(NO_LEADER)
  }

  /** Takes what the cluster says of the topic. @returns whether it is to be created */
  update(metadata: TopicMetadata, nowMs: number): boolean {
    const { errorCode } = metadata
    if (errorCode === ERROR.UNKNOWN_TOPIC_OR_PARTITION) {
      this.#unknownSinceMs ??= nowMs
      const isCreated = !this.#existed && this.#creation.begin(nowMs)
      if (!this.#creation.isPending && nowMs - this.#unknownSinceMs >= UNKNOWN_TOPIC_MS)
        this.#become("missing")
      return isCreated
    }
    this.#unknownSinceMs = undefined
    if (errorCode === ERROR.INVALID_TOPIC_EXCEPTION || errorCode === ERROR.TOPIC_AUTHORIZATION_FAILED) {
      this.#refusalCode = errorCode
      this.#become("refused")
    } else if (errorCode === 0 && metadata.partitions.length > 0) {
      this.#updatePartitions(metadata, nowMs)
    }
    return false
  }

  created(creation: Creation, nowMs: number): void {
    this.#creation.end(creation, nowMs)
    // brokers learn of it a moment later
    if (creation.problem === undefined && this.#unknownSinceMs !== undefined) this.#unknownSinceMs = nowMs
  }

  /** Whether nothing is pending, in flight or of unknown outcome. */
  get isIdle(): boolean {
    for (const partition of this.#busy) if (!partition.isBusy) this.#busy.delete(partition)
    return this.#unplaced.length + this.accumulator.unkeyed.length + this.#busy.size === 0
  }

  /** It was not looked up for some time: what is known of it may be wrong. */
  forgetState(): void {
    this.state = "unknown"
    this.#unknownSinceMs = undefined
  }

  expire(nowMs: number): void {
    this.accumulator.unkeyed.expire(nowMs)
    this.#unplaced.expire(nowMs)
    for (const partition of this.#busy) partition.expire(nowMs)
  }

  /** Rejects all records; batches in flight are not sent again. */
  cancel(): void {
    const error = cancelled()
    this.accumulator.unkeyed.reject(error)
    this.#unplaced.reject(error)
    for (const partition of this.#busy) partition.cancel(error)
  }

  /** Partitions with records or a batch. */
  *busyPartitions(): Generator<Partition> {
    for (const partition of this.#busy) if (partition.isBusy) yield partition
  }

  #updatePartitions(metadata: TopicMetadata, nowMs: number): void {
    const { partitions: named } = metadata
    const id = topicIdOf(metadata)
    const count = named.length
    const isOther = id !== undefined && this.#id !== undefined && id !== this.#id
    const isFewer = id === undefined && count < this.partitions.length
    const contradicts = isFewer || (isOther && this.#formerIds.has(id))
    if (this.#staleMetadata.isStale(contradicts, nowMs)) return this.#staleFound()
    if (isOther) this.#formerIds.add(this.#id!)
    this.#id = id ?? this.#id
    if (isOther || isFewer) {
      this.accumulator.context.log.warn({ topic: this.name }, "topic was deleted and created again")
      for (const partition of this.#known) partition.topicRecreated()
    }
    const displaced = isOther || isFewer || count > this.partitions.length ? this.#resize(count) : []
    this.#updateLeaders(named, nowMs)
    for (const record of displaced) this.add(record)
    this.#existed = true
    this.#become("available")
  }

  /** Partitions were added, or the topic was created again. @returns the records to be placed again */
  #resize(count: number): PendingRecord[] {
    const displaced = [...this.#unplaced.take(), ...this.partitions.flatMap(({ queue }) => queue.take())]
    for (const partition of this.partitions.slice(count)) {
      if (partition.batch !== undefined) partition.giveUp()
      partition.leader = NO_LEADER
    }
    while (this.#known.length < count) this.#known.push(new Partition(this.accumulator, this.#known.length))
    this.partitions = this.#known.slice(0, count)
    this.#next = 0
    return displaced
  }

  #updateLeaders(named: TopicMetadata["partitions"], nowMs: number): void {
    let isStale = named.length < this.partitions.length
    for (const { partitionIndex, leaderId, leaderEpoch } of named) {
      const partition = this.partitions[partitionIndex]
      if (partition === undefined) continue
      if (!partition.updateLeader(leaderId, leaderEpoch ?? -1, nowMs)) isStale = true
    }
    this.#byLeader = Map.groupBy(this.partitions, ({ leader }) => leader)
    if (isStale) this.#staleFound()
  }

  #become(state: Topic["state"]): void {
    if (state === this.state) return
    const before = this.state
    this.state = state
    const { log, spools = false } = this.accumulator.context
    const problem = this.problem()
    if (problem === undefined) {
      if (before !== "unknown") log.info({ topic: this.name }, "topic available; publishing")
      return
    }
    const isSpooled = spools && problem.retryHelps
    const effect = isSpooled ? "events of this topic are spooled" : "rejecting events of this topic"
    log[isSpooled ? "warn" : "error"]({ topic: this.name }, `${effect}: ${problem.message}`)
    this.accumulator.unkeyed.reject(problem)
    this.#unplaced.reject(problem)
    for (const { queue } of this.#busy) queue.reject(problem)
  }
}

const NO_LEADER = -1
