import type { Receipt, Record } from "../../pipeline/record.ts"
import type { Logger } from "../../telemetry/log.ts"
import type { KafkaMetrics } from "../../telemetry/metrics.ts"
import type { YieldingBroker } from "../broker.ts"
import { BatchMemory } from "./batch-memory.ts"
import { kafkaClient } from "./connection.ts"
import type { KafkaOptions } from "./options.ts"
import { Impairments } from "./impairment.ts"
import { LeaderSender } from "./leader-sender.ts"
import { ClusterMetadata, type Metadata } from "./metadata.ts"
import type { Partition } from "./partition.ts"
import { PendingRecord } from "./accumulator.ts"
import { closing, recordTooLarge } from "./publish-errors.ts"
import { recordBytes } from "./record-batch.ts"
import { EXPIRE_MS, MAX_MESSAGE_BYTES_MS, REFRESH_MS } from "./timeouts.ts"
import { Topic } from "./topic.ts"

interface KafkaDependencies {
  readonly log: Logger
  readonly metrics: KafkaMetrics
  /** As in connection.ts. */
  readonly isUnreadable?: boolean
}

/**
 * Opens a connection to Apache Kafka that publishes with acks=all as an idempotent producer. Does not wait for the
 * cluster: see `ready`.
 *
 * Records are queued in their topic, by key in one of its partitions. A LeaderSender per broker gathers them into batches,
 * one a partition, and has the partitions settle what the broker answers. Metadata says which broker leads which partition.
 *
 * @throws OptionError `config` of a certificate or key that can't be used
 */
export function openKafka(
  options: KafkaOptions,
  { log, metrics, isUnreadable }: KafkaDependencies,
): YieldingBroker {
  const client = kafkaClient(options, { log, metrics }, isUnreadable)
  const { system } = client
  const cluster = new ClusterMetadata(client, log, metrics, toLookUp, update)
  const { producerId } = cluster
  const memory = new BatchMemory()
  const context = { log, metrics, system, producerId, memory, compression: options.compression_type }
  /** All that were ever published to: one that is not looked up any more is kept for its partitions' sequences. */
  const topics = new Map<string, Topic>()
  /** Topics that are looked up, by name, the least recently looked up first. */
  const active = new Map<string, Topic>()
  /** Topics with pending records or batches, and some that had; the others cost nothing. */
  const busy = new Set<Topic>()
  /** Names of the configuration: others are looked up only while records are pending. Undefined: all are looked up. */
  let named: ReadonlySet<string> | undefined
  /** Topics with pending records without a key. */
  const unkeyed = new Set<Topic>()
  const senders = new Map<number, LeaderSender>()
  const senderContext = {
    client,
    log,
    metrics,
    unkeyed,
    producerId,
    maxRequestBytes: options.max_request_bytes,
    maxIdleMs: options.connections_max_idle,
    onFailure() {
      cluster.refresh()
      for (const sender of senders.values()) sender.schedule()
    },
  }
  const impairments = new Impairments(log)
  /** Records that have no answer yet. */
  let pending = 0
  const drained = Promise.withResolvers<void>()
  let closed: Promise<void> | undefined
  let expiry: Timer | undefined

  function onPending(topic: Topic, partition: Partition | undefined): void {
    if (partition === undefined) unkeyed.add(topic)
    else senders.get(partition.leader)?.enqueue(partition)
  }

  /** Has a topic looked up from now on. */
  function activate(name: string): Topic {
    const known = active.get(name)
    if (known !== undefined) return known
    const topic = topics.getOrInsertComputed(name, () => new Topic(name, context, onPending))
    topic.forgetState()
    active.set(name, topic)
    cluster.refresh()
    return topic
  }

  /** Names for the next metadata request: of topics with pending records, those that are unknown yet, and some of the others, in turn. */
  function toLookUp(): string[] {
    for (const [name, topic] of active) if (named?.has(name) === false && topic.isIdle) active.delete(name)
    const chosen = new Set(busy)
    for (const topic of active.values())
      if (topic.state === "unknown" || chosen.size < LOOK_UP_TOPICS) chosen.add(topic)
    for (const topic of chosen) if (active.delete(topic.name)) active.set(topic.name, topic)
    return Array.from(chosen, ({ name }) => name)
  }

  function update({ brokers, topics: described }: Metadata): number {
    const nowMs = system.steadyMs()
    for (const { nodeId, host, port } of brokers)
      if (!senders.has(nodeId)) senders.set(nodeId, new LeaderSender(nodeId, { host, port }, senderContext))
    let nextMs = REFRESH_MS.usual
    const updated: Topic[] = []
    const toCreate: Topic[] = []
    for (const one of described) {
      const topic = active.get(one.name ?? "")
      if (topic === undefined) continue
      if (topic.update(one, nowMs)) toCreate.push(topic)
      updated.push(topic)
      if (topic.problem() !== undefined) nextMs = Math.min(nextMs, REFRESH_MS.unavailable)
      else if (!topic.hasLeaders) nextMs = Math.min(nextMs, REFRESH_MS.leaderless)
    }
    if (toCreate.length > 0) void create(toCreate)
    const available = updated.filter(({ state }) => state === "available")
    void lookUpLimits(available, MAX_MESSAGE_BYTES_MS.age)
    const leading = new Set<number>()
    for (const topic of active.values()) for (const leader of topic.leaders()) leading.add(leader)
    for (const [id, sender] of senders) {
      const endpoint = brokers.find(({ nodeId }) => nodeId === id)
      sender.update(endpoint, leading.has(id), cluster.availableSinceMs)
    }
    for (const topic of busy) topic.enqueueAll()
    const unreachable = (leader: number): string | undefined => senders.get(leader)?.problem
    impairments.update(updated, unreachable, ({ name }) => active.has(name), nowMs)
    return nextMs
  }

  async function create(toCreate: readonly Topic[]): Promise<void> {
    const created = await cluster.createTopics(toCreate.map(({ name }) => name))
    for (const topic of toCreate) {
      const creation = created.get(topic.name)!
      topic.created(creation, system.steadyMs())
      if (creation.problem === undefined) log.info({ topic: topic.name }, "topic created")
      else log.debug({ topic: topic.name, reason: creation.problem }, "topic not created")
    }
    cluster.refresh()
  }

  /** Looks up the largest batch of topics for which that was done so long ago. */
  async function lookUpLimits(of: readonly Topic[], ageMs: number): Promise<void> {
    const nowMs = system.steadyMs()
    const due = of.filter(({ accumulator }) => nowMs - accumulator.limitAskedMs >= ageMs)
    if (due.length === 0) return
    for (const { accumulator } of due) accumulator.limitAskedMs = nowMs
    const limits = await cluster.maxMessageBytes(due.map(({ name }) => name))
    for (const { name, accumulator } of due)
      accumulator.maxMessageBytes = limits.get(name) ?? accumulator.maxMessageBytes
  }

  /** Has records without a key sent by the first leader that is free. */
  function dispatch(topic: Topic): void {
    for (const leader of topic.leaders()) if (senders.get(leader)?.schedule() === true) return
  }

  /** Rejects what is past its deadline, as long as anything is pending. */
  function expire(): void {
    const nowMs = system.steadyMs()
    for (const topic of busy) {
      topic.expire(nowMs)
      if (topic.isIdle) busy.delete(topic)
    }
    expiry = pending > 0 ? system.setTimeout(expire, EXPIRE_MS) : undefined
  }

  function ready(): true | string {
    const leaders = [...senders.values()].filter(({ leads }) => leads)
    const isLost = leaders.length > 0 && leaders.every(({ problem }) => problem !== undefined)
    const isReady = cluster.ready()
    return isReady === true && isLost ? `no partition leader reachable: ${leaders[0]?.problem}` : isReady
  }

  async function close(): Promise<void> {
    if (pending > 0) await drained.promise
    system.clearTimeout(expiry)
    for (const sender of senders.values()) sender.close()
    cluster.close()
    client.tokens?.close()
  }

  cluster.refresh()

  return {
    // A hot path; bench/bench.ts measures it.
    publish(record: Record, deadlineMs: number): Promise<Receipt> {
      if (closed !== undefined) return Promise.reject(closing())
      const topic = activate(record.topic)
      const problem = topic.problem()
      if (problem !== undefined) return Promise.reject(problem)
      // compressed it may fit, and what may just fit is decided on its exact bytes
      const isPlain = options.compression_type === "none"
      if (isPlain && recordBytes(record) > topic.accumulator.maxMessageBytes) {
        void lookUpLimits([topic], MAX_MESSAGE_BYTES_MS.retry)
        return Promise.reject(recordTooLarge(topic.name))
      }
      return new Promise((resolve, reject) => {
        const added = new PendingRecord(record, deadlineMs, (error, receipt) => {
          pending--
          // the limit may have been raised
          if (error?.code === "record_too_large") void lookUpLimits([topic], MAX_MESSAGE_BYTES_MS.retry)
          if (error !== undefined) reject(error)
          else resolve(receipt!)
          if (pending === 0 && closed !== undefined) drained.resolve()
        })
        pending++
        busy.add(topic)
        expiry ??= system.setTimeout(expire, EXPIRE_MS)
        if (topic.add(added)) dispatch(topic)
      })
    },
    prepare(names: readonly string[]): void {
      named = new Set(names)
      for (const name of names) activate(name)
    },
    cancel(topic: string): void {
      active.get(topic)?.cancel()
    },
    impaired: () => (closed === undefined ? impairments.lasting(system.steadyMs()) : []),
    ready: () => (closed === undefined ? ready() : closing().message),
    close: () => (closed ??= close()),
  }
}

/** How many topics are looked up at once, in addition to those with pending records. */
const LOOK_UP_TOPICS = 100
