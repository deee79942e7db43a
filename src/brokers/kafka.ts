import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { Broker } from "./broker.ts"
import { Cluster, type Metadata } from "./kafka-cluster.ts"
import { kafkaClient, type KafkaOptions } from "./kafka-connection.ts"
import { Lane } from "./kafka-lane.ts"
import { Backlog, Waiting } from "./kafka-queue.ts"
import { BATCH_HEADER_BYTES, recordBytes } from "./kafka-records.ts"
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
export function openKafka(options: KafkaOptions, { log, metrics }: KafkaDependencies): Broker {
  const client = kafkaClient(options)
  const backlog = new Backlog()
  const topics = new Map<string, Topic>()
  const lanes = new Map<number, Lane>()
  let closing = false
  let sweep: Timer | undefined

  const cluster = new Cluster(client, log, {
    topics: () => [...topics.keys()],
    told,
  })
  const topicOwner = {
    log,
    compression: options.compression_type,
    renewProducer: () => void cluster.renewProducer(),
    limitChanged: (topic: Topic) => void lookUpLimit(topic),
  }
  const laneOwner = {
    client,
    log,
    metrics,
    producerId: () => cluster.producerId,
    stale: () => cluster.refresh(),
    putBack: scheduleAll,
  }

  function topicNamed(name: string): Topic {
    let topic = topics.get(name)
    if (topic === undefined) {
      topic = new Topic(name, topicOwner)
      topics.set(name, topic)
      cluster.refresh()
    }
    return topic
  }

  function told({ brokers, topics: all }: Metadata): number {
    const nowMs = Date.now()
    let settled = true
    for (const one of all) {
      const topic = topics.get(one.name ?? "")
      if (topic === undefined) continue
      const before = topic.state
      topic.update(one, nowMs)
      if (topic.state === "there" && before !== "there") void lookUpLimit(topic)
      settled &&= topic.state === "there" && topic.partitions.every(({ leader }) => leader >= 0)
    }
    const partitions = [...topics.values()].flatMap((topic) => topic.partitions)
    for (const { nodeId, host, port } of brokers) {
      let lane = lanes.get(nodeId)
      if (lane === undefined) {
        lane = new Lane(nodeId, { host, port }, laneOwner)
        lanes.set(nodeId, lane)
      }
      lane.lead(
        { host, port },
        partitions.filter(({ leader }) => leader === nodeId),
      )
    }
    return settled ? REFRESH_MS : UNSETTLED_MS
  }

  async function lookUpLimit(topic: Topic): Promise<void> {
    topic.maxMessageBytes = (await cluster.maxMessageBytes(topic.name)) ?? Number.POSITIVE_INFINITY
  }

  function scheduleAll(): void {
    for (const lane of lanes.values()) lane.schedule()
  }

  /** Rejects what is past its deadline; goes on as long as anything waits. */
  function expire(): void {
    sweep = undefined
    const nowMs = Date.now()
    for (const topic of topics.values()) topic.expire(nowMs)
    if (backlog.size > 0) sweep = setTimeout(expire, SWEEP_MS)
  }

  cluster.refresh()

  return {
    publish(record: Record, deadlineMs: number): Promise<Receipt> {
      if (closing) return Promise.reject(new PublishError("closing", "the connection is closing"))
      const topic = topicNamed(record.topic)
      const problem = topic.problem()
      if (problem !== undefined) return Promise.reject(problem)
      if (
        options.compression_type === "none" &&
        recordBytes(record) + BATCH_HEADER_BYTES > topic.maxMessageBytes
      ) {
        return Promise.reject(topic.tooLarge())
      }
      return new Promise((resolve, reject) => {
        const partition = topic.add(new Waiting(record, deadlineMs, backlog, resolve, reject))
        sweep ??= setTimeout(expire, SWEEP_MS)
        if (partition !== undefined) lanes.get(partition.leader)?.schedule()
        else scheduleAll()
      })
    },
    prepare(names: readonly string[]): void {
      for (const name of names) topicNamed(name)
    },
    ready: () => (closing ? "closing" : cluster.ready()),
    async close(): Promise<void> {
      closing = true
      await backlog.empty()
      clearTimeout(sweep)
      for (const lane of lanes.values()) lane.close()
      cluster.close()
    },
  }
}

/** How often the cluster is asked when all is well, and when a topic or a leader is missing. */
const REFRESH_MS = 2000
const UNSETTLED_MS = 250
/** How late a deadline may be noticed. */
const SWEEP_MS = 25
