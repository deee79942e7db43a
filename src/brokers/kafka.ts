import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { YieldingBroker } from "./broker.ts"
import { Cluster, type Metadata } from "./kafka-cluster.ts"
import { kafkaClient, type KafkaOptions } from "./kafka-connection.ts"
import { Lane } from "./kafka-lane.ts"
import type { Partition } from "./kafka-partition.ts"
import { Backlog, Waiting } from "./kafka-queue.ts"
import { recordBytes } from "./kafka-records.ts"
import { Topic } from "./kafka-topic.ts"

export interface KafkaDependencies {
  readonly log: Logger
  readonly metrics: ConnectionMetrics
}

/**
 * Opens a connection to Apache Kafka that publishes with acks=all as an idempotent producer. Does not wait for the
 * cluster: see `ready`.
 *
 * @throws HooklineError `no_input` when a certificate or key can't be read
 */
export function openKafka(options: KafkaOptions, { log, metrics }: KafkaDependencies): YieldingBroker {
  const client = kafkaClient(options)
  const backlog = new Backlog()
  const topics = new Map<string, Topic>()
  /** No longer named and not looked up. They keep their places in the producer's sequence, should they come back. */
  const dormant = new Map<string, Topic>()
  /** Names of those that are to be looked up; undefined: all. */
  let named: ReadonlySet<string> | undefined
  const lanes = new Map<number, Lane>()
  const lookedUpMs = new WeakMap<Topic, number>()
  let closing: Promise<void> | undefined
  let sweep: Timer | undefined

  const cluster = new Cluster(client, log, {
    topics: () => [...topics.keys()],
    told,
  })
  const topicOwner = {
    log,
    compression: options.compression_type,
    renewProducer: () => cluster.renewProducer(),
    limitChanged: (topic: Topic) => void lookUpLimit(topic),
  }
  const laneOwner = {
    client,
    log,
    metrics,
    producerId: () => cluster.producerId,
    availableSinceMs: () => cluster.availableSinceMs,
    stale: () => cluster.refresh(),
    putBack: scheduleAll,
  }

  function topicNamed(name: string): Topic {
    let topic = topics.get(name)
    if (topic === undefined) {
      topic = dormant.get(name) ?? new Topic(name, topicOwner)
      if (dormant.delete(name)) topic.wake()
      topics.set(name, topic)
      cluster.refresh()
    }
    return topic
  }

  function leaveUnnamed(): void {
    for (const [name, topic] of topics) {
      if (named === undefined || named.has(name) || !topic.isIdle) continue
      topics.delete(name)
      dormant.set(name, topic)
    }
  }

  function told({ brokers, topics: all }: Metadata): number {
    const nowMs = steadyMs()
    leaveUnnamed()
    let nextMs = REFRESH_MS
    for (const one of all) {
      const topic = topics.get(one.name ?? "")
      if (topic === undefined) continue
      topic.update(one, nowMs)
      const isOld = nowMs - (lookedUpMs.get(topic) ?? 0) > LIMIT_AGE_MS
      if (topic.state === "there" && isOld) void lookUpLimit(topic)
      if (topic.problem() !== undefined) nextMs = Math.min(nextMs, PROBLEM_MS)
      else if (!topic.isLed) nextMs = Math.min(nextMs, UNSETTLED_MS)
    }
    for (const { nodeId, host, port } of brokers) {
      if (!lanes.has(nodeId)) lanes.set(nodeId, new Lane(nodeId, { host, port }, laneOwner))
    }
    const partitions = [...topics.values()].flatMap((topic) => topic.partitions)
    for (const [id, lane] of lanes) {
      const endpoint = brokers.find(({ nodeId }) => nodeId === id)
      lane.lead(
        endpoint,
        partitions.filter(({ leader }) => leader === id),
      )
    }
    return nextMs
  }

  async function lookUpLimit(topic: Topic, nowMs = steadyMs()): Promise<void> {
    if (nowMs - (lookedUpMs.get(topic) ?? 0) < LOOK_UP_AGAIN_MS) return
    lookedUpMs.set(topic, nowMs)
    topic.maxMessageBytes = (await cluster.maxMessageBytes(topic.name)) ?? topic.maxMessageBytes
  }

  function scheduleAll(): void {
    for (const lane of lanes.values()) lane.schedule()
  }

  /** Has a record sent by the lane that it is bound to, or by the first that is free. */
  function dispatch(topic: Topic, partition: Partition | undefined): void {
    if (partition !== undefined) {
      lanes.get(partition.leader)?.schedule()
      return
    }
    for (const leader of topic.leaders()) if (lanes.get(leader)?.schedule() === true) return
  }

  /** Rejects what is past its deadline; goes on as long as anything waits. */
  function expire(): void {
    sweep = undefined
    const nowMs = steadyMs()
    for (const topic of topics.values()) topic.expire(nowMs)
    if (backlog.size > 0) sweep = setTimeout(expire, SWEEP_MS)
  }

  cluster.refresh()

  return {
    // A hot path; bench/bench.ts measures it.
    publish(record: Record, deadlineMs: number): Promise<Receipt> {
      if (closing !== undefined)
        return Promise.reject(new PublishError("closing", "the connection is closing"))
      const topic = topicNamed(record.topic)
      const problem = topic.problem()
      if (problem !== undefined) return Promise.reject(problem)
      // Compressed it may fit, and what may just fit is decided on its exact bytes.
      if (options.compression_type === "none" && recordBytes(record) > topic.maxMessageBytes) {
        return Promise.reject(topic.tooLarge())
      }
      return new Promise((resolve, reject) => {
        const partition = topic.add(new Waiting(record, deadlineMs, backlog, resolve, reject))
        sweep ??= setTimeout(expire, SWEEP_MS)
        dispatch(topic, partition)
      })
    },
    prepare(names: readonly string[]): void {
      named = new Set(names)
      for (const name of named) topicNamed(name)
    },
    withdraw(topic: string): void {
      topics.get(topic)?.withdraw()
    },
    ready: () => (closing === undefined ? reachable() : "the connection is closing"),
    close(): Promise<void> {
      closing ??= end()
      return closing
    },
  }

  function reachable(): true | string {
    const known = cluster.ready()
    const leading = [...lanes.values()].filter(({ leads }) => leads)
    const isLost = leading.length > 0 && leading.every(({ problem }) => problem !== undefined)
    return known === true && isLost ? `no leader can be reached: ${leading[0]?.problem}` : known
  }

  async function end(): Promise<void> {
    await backlog.empty()
    clearTimeout(sweep)
    for (const lane of lanes.values()) lane.close()
    cluster.close()
  }
}

/** How often the cluster is asked: when all is well, about topics that can't be used, and while leaders are wanted. */
const REFRESH_MS = 1000
const PROBLEM_MS = 500
const UNSETTLED_MS = 100
/** How old a topic's limit may get, and how soon it is looked up again when it has proved wrong. */
const LIMIT_AGE_MS = 60_000
const LOOK_UP_AGAIN_MS = 1000
/** How late a deadline may be noticed. */
const SWEEP_MS = 10
