import { PublishError } from "../errors.ts"
import type { Receipt, Record } from "../record.ts"
import { steadyMs } from "../steady-clock.ts"
import type { Logger } from "../telemetry/log.ts"
import type { ConnectionMetrics } from "../telemetry/metrics.ts"
import type { YieldingBroker } from "./broker.ts"
import { Cluster, type Metadata } from "./kafka-cluster.ts"
import { kafkaClient, type KafkaOptions } from "./kafka-connection.ts"
import { Impairments } from "./kafka-impairment.ts"
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
  /** Topics with records that wait or are under way, and some that had; the others cost nothing. */
  const busy = new Set<Topic>()
  /** Topics with records that wait for whichever partition takes them. */
  const keyless = new Set<Topic>()
  /** Topics in the order in which they are looked up. */
  const rotation = new Set<Topic>()
  const lanes = new Map<number, Lane>()
  const impairments = new Impairments(log)
  const lookedUpMs = new WeakMap<Topic, number>()
  let closing: Promise<void> | undefined
  let sweep: Timer | undefined

  const cluster = new Cluster(client, log, { topics: toLookUp, told, created })
  const topicOwner = {
    log,
    metrics,
    compression: options.compression_type,
    renewProducer: (reason: string) => {
      if (cluster.producerId !== undefined) metrics.incident("producer_id_renewed")
      cluster.renewProducer(reason)
    },
    limitChanged: (topic: Topic) => void lookUpLimits([topic], LOOK_UP_AGAIN_MS),
    create: (topic: Topic) => cluster.create(topic.name),
    keylessWait: (topic: Topic) => void keyless.add(topic),
    partitionWaits: (partition: Partition) => lanes.get(partition.leader)?.enqueue(partition),
  }
  const laneOwner = {
    client,
    log,
    metrics,
    maxRequestBytes: options.max_request_bytes,
    maxIdleMs: options.connections_max_idle,
    keyless,
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
      rotation.add(topic)
      cluster.refresh()
    }
    return topic
  }

  function leaveUnnamed(): void {
    for (const [name, topic] of topics) {
      if (named === undefined || named.has(name) || !topic.isIdle) continue
      topics.delete(name)
      rotation.delete(topic)
      dormant.set(name, topic)
    }
  }

  /** Topics that records wait for, those that are not known yet, and some of the others, in turn. */
  function toLookUp(): string[] {
    leaveUnnamed()
    const chosen = new Set<Topic>(busy)
    for (const topic of rotation) {
      if (topic.state === "unknown" || chosen.size < LOOK_UP_TOPICS) chosen.add(topic)
    }
    for (const topic of chosen) {
      if (rotation.delete(topic)) rotation.add(topic)
    }
    return Array.from(chosen, ({ name }) => name)
  }

  function told({ brokers, topics: some }: Metadata): number {
    const nowMs = steadyMs()
    for (const { nodeId, host, port } of brokers) {
      if (!lanes.has(nodeId)) lanes.set(nodeId, new Lane(nodeId, { host, port }, laneOwner))
    }
    let nextMs = REFRESH_MS
    const looked: Topic[] = []
    const there: Topic[] = []
    for (const one of some) {
      const topic = topics.get(one.name ?? "")
      if (topic === undefined) continue
      topic.update(one, nowMs)
      looked.push(topic)
      if (topic.state === "there") there.push(topic)
      if (topic.problem() !== undefined) nextMs = Math.min(nextMs, PROBLEM_MS)
      else if (!topic.isLed) nextMs = Math.min(nextMs, UNSETTLED_MS)
    }
    void lookUpLimits(there, LIMIT_AGE_MS)
    const leading = new Set<number>()
    for (const topic of topics.values()) for (const leader of topic.leaders()) leading.add(leader)
    for (const [id, lane] of lanes) {
      lane.lead(
        brokers.find(({ nodeId }) => nodeId === id),
        leading.has(id),
      )
    }
    for (const topic of busy) topic.requeue()
    const unreachable = (leader: number): string | undefined => lanes.get(leader)?.problem
    impairments.look(looked, unreachable, (topic) => topics.get(topic.name) === topic, nowMs)
    return nextMs
  }

  function created(name: string, problem: string | undefined, isFinal: boolean): void {
    topics.get(name)?.created(problem, isFinal, steadyMs())
    if (problem === undefined) log.info({ topic: name }, "topic created")
    else log.debug({ topic: name, reason: problem }, "topic not created")
  }

  /** Looks the limits of topics up that are older than a time. */
  async function lookUpLimits(of: readonly Topic[], ageMs: number): Promise<void> {
    const nowMs = steadyMs()
    const old = of.filter((topic) => nowMs - (lookedUpMs.get(topic) ?? Number.NEGATIVE_INFINITY) >= ageMs)
    if (old.length === 0) return
    for (const topic of old) lookedUpMs.set(topic, nowMs)
    const limits = await cluster.maxMessageBytes(old.map(({ name }) => name))
    for (const topic of old) topic.maxMessageBytes = limits.get(topic.name) ?? topic.maxMessageBytes
  }

  function scheduleAll(): void {
    for (const lane of lanes.values()) lane.schedule()
  }

  /** Has keyless records sent by the first leader that is free. */
  function dispatch(topic: Topic): void {
    for (const leader of topic.leaders()) if (lanes.get(leader)?.schedule() === true) return
  }

  /** Rejects what is past its deadline; goes on as long as anything waits. */
  function expire(): void {
    sweep = undefined
    const nowMs = steadyMs()
    for (const topic of busy) {
      topic.expire(nowMs)
      if (topic.isIdle) busy.delete(topic)
    }
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
        busy.add(topic)
        const partition = topic.add(new Waiting(record, deadlineMs, backlog, resolve, reject))
        sweep ??= setTimeout(expire, SWEEP_MS)
        if (partition === undefined) dispatch(topic)
      })
    },
    prepare(names: readonly string[]): void {
      named = new Set(names)
      for (const name of named) topicNamed(name)
    },
    withdraw(topic: string): void {
      topics.get(topic)?.withdraw()
    },
    impaired: () => (closing === undefined ? impairments.lasting(steadyMs()) : []),
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

/** How many topics are looked up at once, beside those that records wait for. */
const LOOK_UP_TOPICS = 100
/** How often the cluster is asked: when all is well, about topics that can't be used, and while leaders are wanted. */
const REFRESH_MS = 1000
const PROBLEM_MS = 500
const UNSETTLED_MS = 100
/** How old a topic's limit may get, and how soon it is looked up again when it has proved wrong. */
const LIMIT_AGE_MS = 60_000
const LOOK_UP_AGAIN_MS = 1000
/** How late a deadline may be noticed. */
const SWEEP_MS = 10
