import { PublishError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { Metadata } from "./kafka-cluster.ts"
import { partitionOf } from "./kafka-murmur2.ts"
import { Partition } from "./kafka-partition.ts"
import { Queue, type Waiting } from "./kafka-queue.ts"
import { BATCH_HEADER_BYTES, type Compression } from "./kafka-records.ts"
import {
  CLUSTER_NOT_ALLOWED,
  INVALID_TIMESTAMP,
  INVALID_TOPIC,
  MESSAGE_TOO_LARGE,
  RECORD_LIST_TOO_LARGE,
  TOPIC_NOT_ALLOWED,
  UNKNOWN_TOPIC,
} from "./kafka-verdict.ts"

/** What a topic asks of the broker that it belongs to. */
export interface TopicOwner {
  readonly log: Logger
  readonly compression: Compression
  /** A new producer id is wanted. */
  readonly renewProducer: () => void
  /** A limit that was looked up has proved wrong. */
  readonly limitChanged: (topic: Topic) => void
}

type TopicMetadata = Metadata["topics"][number]

/**
 * One topic: its partitions and what waits for them.
 *
 * Keyless records wait for the topic, not for a partition: the leader that is free first takes them, as one batch for
 * the next of its partitions. Keyed ones wait for their partition. Before the partitions are known all wait here.
 *
 * States: `unknown` until the cluster has named it; `there`; `missing` when the cluster does not have it and does not
 * create it; `refused` when it will never take a record. What is published to the last two is rejected at once.
 */
export class Topic {
  readonly name: string
  readonly compression: Compression
  readonly keyless = new Queue()
  partitions: readonly Partition[] = []
  /** The largest batch that the broker takes, where it tells. */
  maxMessageBytes = Number.POSITIVE_INFINITY
  state: "unknown" | "there" | "missing" | "refused" = "unknown"
  readonly #owner: TopicOwner
  /** Keyed records that wait for the partitions to be known. */
  readonly #unplaced = new Queue()
  /** Metadata said that there is no such topic, first at this time. */
  #absentSinceMs: number | undefined
  #refusalCode = 0
  #leaders: readonly number[] = []
  /** The partition whose turn it is to take keyless records. */
  #turn = 0

  constructor(name: string, owner: TopicOwner) {
    this.name = name
    this.compression = owner.compression
    this.#owner = owner
  }

  /** How large a batch may be: an unknown limit is taken to be Kafka's default, message.max.bytes = 1 MiB. */
  get batchBytes(): number {
    return Math.min(this.maxMessageBytes, MAX_BATCH_BYTES) - BATCH_HEADER_BYTES
  }

  /** Queues a record; returns the partition it waits for, if it has one. */
  add(waiting: Waiting): Partition | undefined {
    const { key } = waiting.record
    if (key === undefined) {
      this.keyless.push(waiting)
      return undefined
    }
    const partition = this.partitions[this.partitions.length && partitionOf(key, this.partitions.length)]
    const queue = partition?.queue ?? this.#unplaced
    queue.push(waiting)
    return partition
  }

  /** Why nothing can be published to the topic now; undefined: it can. */
  problem(): PublishError | undefined {
    if (this.state === "missing") {
      return new PublishError(
        "unavailable",
        `topic ${this.name} does not exist, and the cluster does not create it`,
      )
    }
    return this.state === "refused" ? this.refusal(this.#refusalCode) : undefined
  }

  /** The partition of a leader whose turn it is to take the keyless records that wait; undefined: none can, or none do. */
  nextForKeyless(leader: number, nowMs: number): Partition | undefined {
    this.keyless.expire(nowMs)
    if (this.keyless.length === 0) return undefined
    const count = this.partitions.length
    for (let step = 0; step < count; step++) {
      const partition = this.partitions[(this.#turn + step) % count]!
      if (partition.leader === leader && partition.batch === undefined && partition.notBeforeMs <= nowMs) {
        this.#turn = (partition.index + 1) % count
        return partition
      }
    }
    return undefined
  }

  /** Ids of the brokers that lead partitions, that of the next turn first. */
  *leaders(): Generator<number> {
    const first = this.partitions[this.#turn]?.leader
    if (first !== undefined) yield first
    for (const leader of this.#leaders) if (leader !== first) yield leader
  }

  /** Whether every partition is known and has a leader. */
  get isLed(): boolean {
    return this.state === "there" && this.partitions.every(({ leader }) => leader >= 0)
  }

  /** Takes what the cluster says of the topic. */
  update(told: TopicMetadata, nowMs: number): void {
    if (told.errorCode === UNKNOWN_TOPIC) {
      this.#absentSinceMs ??= nowMs
      if (nowMs - this.#absentSinceMs >= ABSENT_MS) this.#become("missing")
      return
    }
    this.#absentSinceMs = undefined
    if (told.errorCode === INVALID_TOPIC || told.errorCode === TOPIC_NOT_ALLOWED) {
      this.#refusalCode = told.errorCode
      this.#become("refused")
    } else if (told.errorCode === 0 && told.partitions.length > 0) {
      this.#place(told.partitions)
      this.#become("there")
    }
  }

  /** Whether nothing waits, and nothing is under way or of unknown fate. */
  get isIdle(): boolean {
    const waiting = this.partitions.reduce((sum, { queue }) => sum + queue.length, this.#unplaced.length)
    return waiting + this.keyless.length === 0 && this.partitions.every(({ batch }) => batch === undefined)
  }

  /** It was not looked up for some time: what is known of it may be wrong. */
  wake(): void {
    this.state = "unknown"
    this.#absentSinceMs = undefined
  }

  /** Rejects what is past its deadline. */
  expire(nowMs: number): void {
    this.keyless.expire(nowMs)
    this.#unplaced.expire(nowMs)
    for (const partition of this.partitions) partition.expire(nowMs)
  }

  /** Rejects what waits, and lets go of what is under way. */
  withdraw(): void {
    const error = new PublishError("unavailable", "taken back before Kafka acknowledged it")
    this.keyless.refuse(error)
    this.#unplaced.refuse(error)
    for (const partition of this.partitions) partition.withdraw(error)
  }

  refusal(errorCode: number): PublishError {
    const why = REFUSALS[errorCode] ?? `Kafka refuses it with error ${errorCode}`
    return new PublishError("refused", `topic ${this.name}: ${why}`)
  }

  tooLarge(): PublishError {
    this.#owner.limitChanged(this)
    return new PublishError("record_too_large", `the record is larger than topic ${this.name} takes`)
  }

  /** Why a single record is not taken. */
  unfit(errorCode: number): PublishError {
    if (errorCode === MESSAGE_TOO_LARGE || errorCode === RECORD_LIST_TOO_LARGE) return this.tooLarge()
    const why =
      errorCode === INVALID_TIMESTAMP ? "this machine's clock is too far from its own" : `error ${errorCode}`
    return new PublishError("refused", `Kafka does not take the record into topic ${this.name}: ${why}`)
  }

  renewProducer(): void {
    this.#owner.renewProducer()
  }

  #become(state: Topic["state"]): void {
    if (state === this.state) return
    const before = this.state
    this.state = state
    const problem = this.problem()
    if (problem === undefined) {
      if (before !== "unknown")
        this.#owner.log.info({ topic: this.name }, "topic is there: its events are published")
      return
    }
    this.#owner.log.error({ topic: this.name }, `events of this topic are refused: ${problem.message}`)
    this.keyless.refuse(problem)
    this.#unplaced.refuse(problem)
    for (const { queue } of this.partitions) queue.refuse(problem)
  }

  #place(told: TopicMetadata["partitions"]): void {
    if (told.length !== this.partitions.length) this.#resize(told.length)
    for (const { partitionIndex, leaderId } of told) {
      const partition = this.partitions[partitionIndex]
      if (partition !== undefined) partition.leader = leaderId
    }
    this.#leaders = [...new Set(this.partitions.map(({ leader }) => leader))]
  }

  /** Partitions were added, or the topic was made anew with fewer. What waits is placed again. */
  #resize(count: number): void {
    const gone = this.partitions.slice(count)
    const waiting = [...this.#unplaced.takeAll(), ...this.partitions.flatMap(({ queue }) => queue.takeAll())]
    for (const partition of gone) partition.giveUp()
    this.#turn = 0
    this.partitions = Array.from(
      { length: count },
      (_, index) => this.partitions[index] ?? new Partition(this, index),
    )
    for (const each of waiting) this.add(each)
  }
}

/** For so long a topic that is said not to exist may be on its way: just created, or the broker just started. */
const ABSENT_MS = 700
const MAX_BATCH_BYTES = 1_048_576

const REFUSALS: { readonly [errorCode: number]: string } = {
  [INVALID_TOPIC]: "the name is not one that Kafka takes",
  [TOPIC_NOT_ALLOWED]: "this client is not authorized to write to it",
  [CLUSTER_NOT_ALLOWED]: "this client is not authorized for idempotent writes",
}
