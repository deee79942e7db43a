import { PublishError } from "../errors.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { Metadata } from "./kafka-cluster.ts"
import { partitionOf } from "./kafka-murmur2.ts"
import { BELIEVED_MS, Partition } from "./kafka-partition.ts"
import { Queue, type Waiting } from "./kafka-queue.ts"
import { BATCH_HEADER_BYTES, type Compression } from "./kafka-records.ts"
import {
  CLUSTER_NOT_ALLOWED,
  INVALID_TIMESTAMP,
  INVALID_TOPIC,
  MESSAGE_TOO_LARGE,
  nameOf,
  RECORD_LIST_TOO_LARGE,
  TOPIC_NOT_ALLOWED,
  UNKNOWN_TOPIC,
} from "./kafka-verdict.ts"

/** What a topic asks of the broker that it belongs to. */
export interface TopicOwner {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
  readonly compression: Compression
  /** A new producer id is wanted, for a reason. */
  readonly renewProducer: (reason: string) => void
  /** A limit that was looked up has proved wrong. */
  readonly limitChanged: (topic: Topic) => void
  /** The cluster does not have the topic, and never had as long as this one knows it. */
  readonly create: (topic: Topic) => void
  /** Records wait for the topic, whichever of its partitions takes them. */
  readonly keylessWait: (topic: Topic) => void
  /** Records wait for a partition, or one that has something to send has got another leader. */
  readonly partitionWaits: (partition: Partition) => void
}

type TopicMetadata = Metadata["topics"][number]

/**
 * One topic: its partitions and what waits for them.
 *
 * Keyless records wait for the topic, not for a partition: the leader that is free first takes them, as one batch for
 * the next of its partitions. Keyed ones wait for their partition. Before the partitions are known all wait here.
 *
 * States: `unknown` until the cluster has named it; `there`; `missing` when the cluster does not have it; `refused` when
 * it will never take a record. What is published to the last two is rejected at once.
 *
 * Metadata may come from a broker that lags behind the others. So the number of partitions only grows as long as the topic
 * has the same id, an older leader does not follow a newer one, and an id that the topic had before is not believed, unless
 * nothing else is heard for BELIEVED_MS. Partitions are never forgotten, see kafka-partition.ts.
 */
export class Topic {
  readonly name: string
  readonly compression: Compression
  readonly keyless = new Queue()
  /** Those that the topic has. */
  partitions: readonly Partition[] = []
  /** The largest batch that the broker takes, where it tells. */
  maxMessageBytes = Number.POSITIVE_INFINITY
  state: "unknown" | "there" | "missing" | "refused" = "unknown"
  readonly #owner: TopicOwner
  /** Keyed records that wait for the partitions to be known. */
  readonly #unplaced = new Queue()
  /** Those with something to send or under way, and some that had. */
  readonly #busy = new Set<Partition>()
  /** All that it ever had, by index. */
  readonly #known: Partition[] = []
  #id: string | undefined
  readonly #formerIds = new Set<string>()
  /** Metadata contradicts what is known ever since. */
  #contradictedSinceMs: number | undefined
  #ignoredMs = Number.NEGATIVE_INFINITY
  #wasThere = false
  /** When the cluster is asked to create it, and how much later once more if that fails. */
  #createAtMs = 0
  #createPauseMs = CREATE_PAUSE_MS
  #isBeingCreated = false
  /** Why it was not created. */
  #notCreated: string | undefined
  /** Metadata said that there is no such topic, first at this time. */
  #absentSinceMs: number | undefined
  #refusalCode = 0
  /** By the broker that leads them. */
  #led: ReadonlyMap<number, readonly Partition[]> = new Map()
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
      if (this.keyless.length === 1) this.#owner.keylessWait(this)
      return undefined
    }
    const partition = this.partitions[this.partitions.length && partitionOf(key, this.partitions.length)]
    const queue = partition?.queue ?? this.#unplaced
    queue.push(waiting)
    if (partition !== undefined && queue.length === 1) this.#waits(partition)
    return partition
  }

  /** Puts keyless records back, before all others. */
  putBackKeyless(items: readonly Waiting[]): void {
    if (items.length === 0) return
    this.keyless.putBack(items)
    this.#owner.keylessWait(this)
  }

  /** Why nothing can be published to the topic now; undefined: it can. */
  problem(): PublishError | undefined {
    if (this.state === "missing") {
      const why = this.#notCreated === undefined ? "" : ` (${this.#notCreated})`
      const what = this.#wasThere ? "was deleted; create it again" : `does not exist${why}; create it`
      return new PublishError("unavailable", `topic ${this.name} ${what}`)
    }
    return this.state === "refused" ? this.refusal(this.#refusalCode) : undefined
  }

  /** The partition of a leader whose turn it is to take the keyless records that wait; undefined: none can, or none do. */
  nextForKeyless(leader: number, nowMs: number): Partition | undefined {
    this.keyless.expire(nowMs)
    if (this.keyless.length === 0) return undefined
    const led = this.#led.get(leader) ?? []
    const from = led.findIndex(({ index }) => index >= this.#turn)
    for (let step = 0; step < led.length; step++) {
      const partition = led[(Math.max(0, from) + step) % led.length]!
      if (partition.batch === undefined && partition.notBeforeMs <= nowMs) return partition
    }
    return undefined
  }

  /** A partition has taken its turn. */
  tookKeyless({ index }: Partition): void {
    this.#turn = (index + 1) % this.partitions.length
    this.#busy.add(this.partitions[index]!)
  }

  /** When the first of a leader's partitions may be sent to again that may not now. */
  nextTryMs(leader: number, nowMs: number): number {
    let earliestMs = Number.POSITIVE_INFINITY
    for (const { notBeforeMs } of this.#led.get(leader) ?? []) {
      if (notBeforeMs > nowMs) earliestMs = Math.min(earliestMs, notBeforeMs)
    }
    return earliestMs
  }

  /** Ids of the brokers that lead partitions, that of the next turn first. */
  *leaders(): Generator<number> {
    const first = this.partitions[this.#turn]?.leader
    if (first !== undefined) yield first
    for (const leader of this.#led.keys()) if (leader !== first) yield leader
  }

  /** Whether every partition is known and has a leader. */
  get isLed(): boolean {
    return this.state === "there" && !this.#led.has(NO_LEADER)
  }

  /** Takes what the cluster says of the topic. */
  update(told: TopicMetadata, nowMs: number): void {
    if (told.errorCode === UNKNOWN_TOPIC) {
      this.#absentSinceMs ??= nowMs
      if (!this.#wasThere && nowMs >= this.#createAtMs) {
        this.#createAtMs = Number.POSITIVE_INFINITY
        this.#isBeingCreated = true
        this.#owner.create(this)
      }
      if (!this.#isBeingCreated && nowMs - this.#absentSinceMs >= ABSENT_MS) this.#become("missing")
      return
    }
    this.#absentSinceMs = undefined
    if (told.errorCode === INVALID_TOPIC || told.errorCode === TOPIC_NOT_ALLOWED) {
      this.#refusalCode = told.errorCode
      this.#become("refused")
    } else if (told.errorCode === 0 && told.partitions.length > 0) {
      if (!this.#believes(told, nowMs)) return
      this.#follow(told.partitions, nowMs)
      this.#wasThere = true
      this.#become("there")
    }
  }

  /**
   * It was created, or was not.
   *
   * @param problem why not
   * @param isFinal whether another try would end in the same way
   */
  created(problem: string | undefined, isFinal: boolean, nowMs: number): void {
    this.#isBeingCreated = false
    this.#notCreated = problem
    // brokers tell of it a moment later
    if (problem === undefined && this.#absentSinceMs !== undefined) this.#absentSinceMs = nowMs
    if (problem === undefined || isFinal) return
    this.#createAtMs = nowMs + this.#createPauseMs
    this.#createPauseMs = Math.min(this.#createPauseMs * 2, MAX_CREATE_PAUSE_MS)
  }

  /** Whether nothing waits, and nothing is under way or of unknown fate. */
  get isIdle(): boolean {
    for (const partition of this.#busy) if (!partition.isBusy) this.#busy.delete(partition)
    return this.#unplaced.length + this.keyless.length + this.#busy.size === 0
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
    for (const partition of this.#busy) partition.expire(nowMs)
  }

  /** Rejects what waits, and lets go of what is under way. */
  withdraw(): void {
    const error = new PublishError("unavailable", "taken back before Kafka acknowledged it")
    this.keyless.refuse(error)
    this.#unplaced.refuse(error)
    for (const partition of this.#busy) partition.withdraw(error)
  }

  refusal(errorCode: number): PublishError {
    const why = REFUSALS[errorCode] ?? `Kafka refuses it with error ${nameOf(errorCode)}`
    return new PublishError("refused", `topic ${this.name}: ${why}`)
  }

  /** Why a batch is not sent any more whose answers say nothing about it. */
  unexpected(errorCode: number): PublishError {
    const reason = `Kafka answers error ${nameOf(errorCode)} again and again`
    this.#refusesBatch(reason)
    return new PublishError("refused", `topic ${this.name}: ${reason}`)
  }

  /** Why a batch is not sent any more on which the broker closes the connection. */
  connectionClosedOn(bytes: number, isTooLarge: boolean): PublishError {
    const reason = `Kafka closes the connection on a request of ${bytes} bytes again and again`
    this.#refusesBatch(reason)
    return new PublishError(isTooLarge ? "record_too_large" : "refused", `topic ${this.name}: ${reason}`)
  }

  tooLarge(): PublishError {
    this.#owner.limitChanged(this)
    return new PublishError("record_too_large", `the record is larger than topic ${this.name} takes`)
  }

  /** Why a single record is not taken. */
  unfit(errorCode: number): PublishError {
    if (errorCode === MESSAGE_TOO_LARGE || errorCode === RECORD_LIST_TOO_LARGE) return this.tooLarge()
    const why =
      errorCode === INVALID_TIMESTAMP
        ? "this machine's clock is too far from its own"
        : `error ${nameOf(errorCode)}`
    return new PublishError("refused", `Kafka does not take the record into topic ${this.name}: ${why}`)
  }

  /** Why a batch is not acknowledged that is said to be stored at an offset where another one is. */
  offsetBehind(partition: number, offset: number, lastOffset: number): PublishError {
    this.#owner.metrics.incident("offset_behind")
    this.#owner.log.error(
      { topic: this.name, partition, offset, last_offset: lastOffset },
      "acknowledged offset did not advance: answering 503, since the batch may not be in the log, or the partition's log was truncated",
    )
    this.renewProducer("an offset went back")
    return new PublishError("unavailable", `topic ${this.name}: Kafka acknowledged another batch`)
  }

  renewProducer(reason: string): void {
    this.#owner.renewProducer(reason)
  }

  #refusesBatch(reason: string): void {
    this.#owner.metrics.incident("batch_refused")
    this.#owner.log.error({ topic: this.name, reason }, "batch refused")
  }

  #waits(partition: Partition): void {
    this.#busy.add(partition)
    this.#owner.partitionWaits(partition)
  }

  #become(state: Topic["state"]): void {
    if (state === this.state) return
    const before = this.state
    this.state = state
    const problem = this.problem()
    if (problem === undefined) {
      if (before !== "unknown") this.#owner.log.info({ topic: this.name }, "topic available; publishing")
      return
    }
    this.#owner.log.error({ topic: this.name }, `events of this topic are refused: ${problem.message}`)
    this.keyless.refuse(problem)
    this.#unplaced.refuse(problem)
    for (const { queue } of this.#busy) queue.refuse(problem)
  }

  /** Whether metadata is of the topic as it is, and not from a broker that lags behind. */
  #believes({ topicId, partitions: { length: count } }: TopicMetadata, nowMs: number): boolean {
    const id = topicId === undefined || topicId === NO_ID ? undefined : topicId
    const isOther = id !== undefined && this.#id !== undefined && id !== this.#id
    const isFewer = id === undefined && count < this.partitions.length
    if (isFewer || (isOther && this.#formerIds.has(id))) {
      this.#contradictedSinceMs ??= nowMs
      if (nowMs - this.#contradictedSinceMs < BELIEVED_MS) {
        this.#ignores(nowMs)
        return false
      }
    }
    this.#contradictedSinceMs = undefined
    if (isOther) this.#formerIds.add(this.#id!)
    if (isOther || isFewer) this.#renew()
    this.#id = id ?? this.#id
    if (isOther || isFewer || count > this.partitions.length) this.#resize(count)
    return true
  }

  /** Has what waits for partitions sent by those that lead them now. */
  requeue(): void {
    for (const partition of this.#busy) if (partition.isBusy) this.#owner.partitionWaits(partition)
  }

  #renew(): void {
    this.#owner.log.warn({ topic: this.name }, "topic was deleted and created again")
    for (const partition of this.#known) partition.renew()
  }

  #follow(told: TopicMetadata["partitions"], nowMs: number): void {
    let hasMoved = false
    let isBehind = told.length < this.partitions.length
    for (const { partitionIndex, leaderId, leaderEpoch } of told) {
      const partition = this.partitions[partitionIndex]
      if (partition === undefined) continue
      const { leader } = partition
      if (!partition.follow(leaderId, leaderEpoch ?? -1, nowMs)) isBehind = true
      if (partition.leader === leader) continue
      hasMoved = true
      if (partition.isBusy) this.#owner.partitionWaits(partition)
    }
    if (isBehind) this.#ignores(nowMs)
    if (hasMoved) this.#led = Map.groupBy(this.partitions, ({ leader }) => leader)
  }

  /** Metadata of a broker that lags behind was not believed. It may be asked again and again. */
  #ignores(nowMs: number): void {
    if (nowMs - this.#ignoredMs < IGNORED_MS) return
    this.#ignoredMs = nowMs
    this.#owner.metrics.incident("metadata_behind")
    this.#owner.log.warn({ topic: this.name }, "a broker's metadata is older than what is known; ignored")
  }

  /** Partitions were added, or the topic was made anew with fewer. What waits is placed again. */
  #resize(count: number): void {
    const waiting = [...this.#unplaced.takeAll(), ...this.partitions.flatMap(({ queue }) => queue.takeAll())]
    for (const partition of this.partitions.slice(count)) {
      if (partition.batch !== undefined) partition.giveUp()
      partition.leader = NO_LEADER
    }
    while (this.#known.length < count) this.#known.push(new Partition(this, this.#known.length))
    this.partitions = this.#known.slice(0, count)
    this.#led = Map.groupBy(this.partitions, ({ leader }) => leader)
    this.#turn = 0
    for (const each of waiting) this.add(each)
  }
}

/** For so long a topic that is said not to exist may be on its way: just created, or the broker just started. */
const ABSENT_MS = 700
const CREATE_PAUSE_MS = 1000
const MAX_CREATE_PAUSE_MS = 30_000
/** How often it is logged that metadata was ignored. */
const IGNORED_MS = 60_000
const MAX_BATCH_BYTES = 1_048_576
const NO_LEADER = -1
/** Of topics on brokers that give them no ids. */
const NO_ID = "00000000-0000-0000-0000-000000000000"

const REFUSALS: { readonly [errorCode: number]: string } = {
  [INVALID_TOPIC]: "the name is not one that Kafka takes",
  [TOPIC_NOT_ALLOWED]: "this client is not authorized to write to it",
  [CLUSTER_NOT_ALLOWED]: "this client is not authorized for idempotent writes",
}
