import { steadyMs } from "../../clock/clock.ts"
import { sweepDeadlines } from "../../clock/deadlines.ts"
import type { Receipt, Record } from "../../pipeline/record.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import type { PublishError } from "../../errors.ts"
import type { Impairment, YieldingBroker } from "../broker.ts"
import { type ProducerContext } from "./accumulator.ts"
import { PendingRecord } from "./pending-queue.ts"
import { BatchMemory } from "./batch-memory.ts"
import { kafkaClient, type KafkaClient } from "./connection.ts"
import type { KafkaOptions } from "./options.ts"
import { impairmentOf, Impairments } from "./impairment.ts"
import { LeaderSender, type SenderContext } from "./leader-sender.ts"
import { ClusterMetadata, type Metadata } from "./metadata.ts"
import { closing, deadlinePassed, recordTooLarge } from "./publish-errors.ts"
import { recordBytes } from "./record-batch.ts"
import { MAX_MESSAGE_BYTES_MS, REFRESH_MS } from "./timeouts.ts"
import { Topic } from "./topic.ts"

interface KafkaDependencies {
  readonly log: Logger
  readonly metrics: KafkaMetrics
  /** As in connection.ts. */
  readonly isUnreadable?: boolean
  /** As in ProducerContext. */
  readonly spools?: boolean
}

/**
 * A connection to Apache Kafka that publishes with acks=all as an idempotent producer. It does not wait for the cluster: see
 * `ready`.
 *
 * Records are queued in their topic, by key in one of its partitions. A LeaderSender per broker gathers them into batches,
 * one a partition, and has the partitions settle what the broker answers. Metadata says which broker leads which partition.
 */
export class KafkaProducer implements YieldingBroker {
  readonly #log: Logger
  readonly #isPlain: boolean
  readonly #client: KafkaClient
  readonly #cluster: ClusterMetadata
  readonly #context: ProducerContext
  readonly #senderContext: SenderContext
  /** All that were ever published to: one that is not looked up any more is kept for its partitions' sequences. */
  readonly #topics = new Map<string, Topic>()
  /** Topics that are looked up, by name, the least recently looked up first. */
  readonly #active = new Map<string, Topic>()
  /** Topics with pending records or batches, and some that had; the others cost nothing. */
  readonly #busy = new Set<Topic>()
  /** Names of the configuration: others are looked up only while records are pending. Undefined: all are looked up. */
  #named: ReadonlySet<string> | undefined
  /** Topics with pending records without a key. */
  readonly #unkeyed = new Set<Topic>()
  readonly #senders = new Map<number, LeaderSender>()
  readonly #impairments: Impairments
  /** Records that have no answer yet. */
  #pending = 0
  readonly #drained = Promise.withResolvers<void>()
  #closed: Promise<void> | undefined
  readonly #sweep = sweepDeadlines(() => this.#expire())

  /** @throws OptionError `config` of a certificate or key that can't be used */
  constructor(options: KafkaOptions, { log, metrics, isUnreadable, spools }: KafkaDependencies) {
    this.#log = log
    this.#isPlain = options.compression_type === "none"
    const client = (this.#client = kafkaClient(options, { log, metrics }, isUnreadable))
    this.#cluster = new ClusterMetadata(
      client,
      log,
      metrics,
      () => this.#toLookUp(),
      (metadata) => this.#update(metadata),
    )
    const { producerId } = this.#cluster
    const memory = new BatchMemory()
    this.#context = { log, metrics, producerId, memory, spools, compression: options.compression_type }
    this.#senderContext = {
      ...this.#context,
      client,
      unkeyed: this.#unkeyed,
      maxRequestBytes: options.max_request_bytes,
      maxIdleMs: options.connections_max_idle,
      onFailure: () => {
        this.#cluster.refresh()
        this.#enqueueAll()
        for (const sender of this.#senders.values()) sender.schedule()
      },
    }
    this.#impairments = new Impairments(log)
    this.#cluster.refresh()
  }

  // A hot path; bench/bench.ts measures it.
  publish(record: Record, deadlineMs: number): Promise<Receipt> {
    if (this.#closed !== undefined) return Promise.reject(closing())
    const topic = this.#activate(record.topic)
    const problem = topic.problem()
    if (problem !== undefined) return Promise.reject(problem)
    // compressed it may fit, and what may just fit is decided on its exact bytes
    const { maxMessageBytes } = topic.accumulator
    if (this.#isPlain && recordBytes(record) > maxMessageBytes) {
      void this.#lookUpLimits([topic], MAX_MESSAGE_BYTES_MS.retry)
      return Promise.reject(recordTooLarge(topic.name, maxMessageBytes))
    }
    return new Promise((resolve, reject) => {
      const pending = new PendingRecord(record, deadlineMs, (error, receipt) => {
        this.#settled(topic, error)
        if (error === undefined) resolve(receipt!)
        else reject(error.code === "deadline" ? deadlinePassed(this.#problemOf(topic)) : error)
      })
      this.#pending++
      this.#busy.add(topic)
      this.#sweep()
      const partition = topic.add(pending)
      if (partition !== undefined) return this.#senders.get(partition.leader)?.enqueue(partition)
      this.#unkeyed.add(topic)
      this.#dispatch(topic, deadlineMs)
    })
  }

  prepare(names: readonly string[]): void {
    this.#named = new Set(names)
    for (const name of names) this.#activate(name)
  }

  cancel(topic: string): void {
    this.#active.get(topic)?.cancel()
  }

  impaired(): readonly Impairment[] {
    return this.#closed === undefined ? this.#impairments.lasting(steadyMs()) : []
  }

  ready(): true | string {
    if (this.#closed !== undefined) return closing().message
    const leaders = [...this.#senders.values()].filter(({ leads }) => leads)
    const isLost = leaders.length > 0 && leaders.every(({ problem }) => problem !== undefined)
    const isReady = this.#cluster.ready()
    return isReady === true && isLost ? `no partition leader reachable: ${leaders[0]?.problem}` : isReady
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    if (this.#pending > 0) await this.#drained.promise
    for (const sender of this.#senders.values()) sender.close()
    this.#cluster.close()
    this.#client.tokens?.close()
  }

  #settled(topic: Topic, error: PublishError | undefined): void {
    this.#pending--
    // the limit may have been raised
    if (error?.code === "record_too_large") void this.#lookUpLimits([topic], MAX_MESSAGE_BYTES_MS.retry)
    if (this.#pending === 0 && this.#closed !== undefined) this.#drained.resolve()
  }

  /** Why records of a topic are not acknowledged; undefined: not known. */
  #problemOf(topic: Topic): string | undefined {
    const ready = this.ready()
    return ready === true ? impairmentOf(topic, this.#unreachable, steadyMs())?.problem : ready
  }

  readonly #unreachable = (leader: number): string | undefined => this.#senders.get(leader)?.problem

  /** Has a topic looked up from now on. */
  #activate(name: string): Topic {
    const known = this.#active.get(name)
    if (known !== undefined) return known
    const topic = this.#topics.getOrInsertComputed(name, () => new Topic(name, this.#context))
    topic.forgetState()
    this.#active.set(name, topic)
    this.#cluster.refresh()
    return topic
  }

  /** Has all that is pending sent by those that lead the partitions now. */
  #enqueueAll(): void {
    for (const topic of this.#busy) {
      if (topic.accumulator.unkeyed.length > 0) this.#unkeyed.add(topic)
      for (const partition of topic.busyPartitions()) this.#senders.get(partition.leader)?.enqueue(partition)
    }
  }

  /** Has a record without a key sent by the first leader that is free and may acknowledge it in time. */
  #dispatch(topic: Topic, deadlineMs: number): void {
    for (const leader of topic.leaders())
      if (this.#senders.get(leader)?.scheduleFor(deadlineMs) === true) return
  }

  /** Rejects what is past its deadline. @returns whether anything is pending */
  #expire(): boolean {
    const nowMs = steadyMs()
    for (const topic of this.#busy) {
      topic.expire(nowMs)
      if (topic.isIdle) this.#busy.delete(topic)
    }
    return this.#pending > 0
  }

  /** Names for the next metadata request: of topics with pending records, those that are unknown yet, and some of the others, in turn. */
  #toLookUp(): string[] {
    const active = this.#active
    for (const [name, topic] of active)
      if (this.#named?.has(name) === false && topic.isIdle) active.delete(name)
    const chosen = new Set(this.#busy)
    for (const topic of active.values())
      if (topic.state === "unknown" || chosen.size < LOOK_UP_TOPICS) chosen.add(topic)
    for (const topic of chosen) if (active.delete(topic.name)) active.set(topic.name, topic)
    return Array.from(chosen, ({ name }) => name)
  }

  /** Applies metadata to topics and senders. @returns after how many milliseconds the next is due */
  #update({ brokers, topics }: Metadata): number {
    const nowMs = steadyMs()
    const senders = this.#senders
    for (const { nodeId, host, port } of brokers)
      if (!senders.has(nodeId))
        senders.set(nodeId, new LeaderSender(nodeId, { host, port }, this.#senderContext))
    const [updated, nextMs] = this.#updateTopics(topics, nowMs)
    const leading = new Set<number>()
    for (const topic of this.#active.values()) for (const leader of topic.leaders()) leading.add(leader)
    for (const [id, sender] of senders) {
      const endpoint = brokers.find(({ nodeId }) => nodeId === id)
      sender.update(endpoint, leading.has(id), this.#cluster.availableSinceMs)
    }
    this.#enqueueAll()
    this.#impairments.update(updated, this.#unreachable, ({ name }) => this.#active.has(name), nowMs)
    return nextMs
  }

  #updateTopics(described: Metadata["topics"], nowMs: number): [updated: readonly Topic[], nextMs: number] {
    let nextMs = REFRESH_MS.usual
    const updated: Topic[] = []
    const toCreate: Topic[] = []
    for (const one of described) {
      const topic = this.#active.get(one.name ?? "")
      if (topic === undefined) continue
      if (topic.update(one, nowMs)) toCreate.push(topic)
      updated.push(topic)
      if (topic.problem() !== undefined) nextMs = Math.min(nextMs, REFRESH_MS.unavailable)
      else if (!topic.hasLeaders) nextMs = Math.min(nextMs, REFRESH_MS.leaderless)
    }
    if (toCreate.length > 0) void this.#create(toCreate)
    const available = updated.filter(({ state }) => state === "available")
    void this.#lookUpLimits(available, MAX_MESSAGE_BYTES_MS.age)
    return [updated, nextMs]
  }

  async #create(toCreate: readonly Topic[]): Promise<void> {
    const created = await this.#cluster.createTopics(toCreate.map(({ name }) => name))
    for (const topic of toCreate) {
      const creation = created.get(topic.name)!
      topic.created(creation, steadyMs())
      if (creation.problem === undefined) this.#log.info({ topic: topic.name }, "topic created")
      else this.#log.debug({ topic: topic.name, reason: creation.problem }, "topic not created")
    }
    this.#cluster.refresh()
  }

  /** Looks up the largest batch of topics for which that was done so long ago. */
  async #lookUpLimits(of: readonly Topic[], ageMs: number): Promise<void> {
    const nowMs = steadyMs()
    const due = of.filter(({ accumulator }) => nowMs - accumulator.limitAskedMs >= ageMs)
    if (due.length === 0) return
    for (const { accumulator } of due) accumulator.limitAskedMs = nowMs
    const limits = await this.#cluster.maxMessageBytes(due.map(({ name }) => name))
    for (const { name, accumulator } of due)
      accumulator.maxMessageBytes = limits.get(name) ?? accumulator.maxMessageBytes
  }
}

/** How many topics are looked up at once, in addition to those with pending records. */
const LOOK_UP_TOPICS = 100
