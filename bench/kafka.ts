import { ListOffsetTimestamps, type Admin } from "@platformatic/kafka"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  administer,
  startKafka,
  type TestKafka,
} from "../test/support/kafka.ts"
import { reasonOf } from "../src/brokers/kafka/failure.ts"
import { steadyMs } from "../src/clock/clock.ts"
import { openTestBroker } from "../test/support/kafka-options.ts"
import { startKafkaBehind } from "../test/support/kafka-behind.ts"
import { openProxy } from "../test/support/kafka-proxy.ts"
import { keysOfEach } from "../test/support/keys.ts"
import type { Topic } from "./target.ts"

/** The Kafka that targets publish to. */
export interface BenchKafka {
  readonly pid: number
  /** Gives a target a topic of its own, until it is disposed; between turns the broker stands still. */
  turn(partitions?: number): Promise<Turn>
  /** Makes topics of one partition that stay. */
  makeTopics(names: readonly string[]): Promise<void>
  stop(): Promise<void>
}

export interface Turn extends Topic, AsyncDisposable {
  /** How many records the topic has had. */
  records(): Promise<number>
}

const PARTITIONS = 6

/**
 * Starts a broker, or says that there can be none. Away from its turns it takes nothing from targets that don't need it.
 *
 * @param delayMs for how long a byte is on its way to it, and on its way back, as from another building
 * @returns undefined where no Kafka can be started
 */
export async function openBenchKafka({ delayMs = 0 } = {}): Promise<BenchKafka | undefined> {
  if (!(await canStartKafka())) return undefined
  const delay = delayMs === 0 ? undefined : await openProxy({ delayMs })
  const settings = {
    isForLoad: true,
    properties: {
      // While it stands still it does not say that it lives, and would not be given a topic at once.
      "broker.session.timeout.ms": "3600000",
      // What was measured goes soon, or the disk of a long run fills.
      "log.segment.delete.delay.ms": "1000",
      "log.retention.check.interval.ms": "5000",
    },
  }
  const kafka = await (delay === undefined ? startKafka(settings) : startKafkaBehind([delay], settings))
  const [node] = kafka.nodes
  node!.pause()
  return {
    pid: node!.pid,
    async stop() {
      await kafka.stop()
      await delay?.[Symbol.asyncDispose]()
    },
    async turn(partitions = PARTITIONS) {
      node!.resume()
      const topic = freshTopic("bench")
      const configs = { "retention.bytes": `${512 * 1024 ** 2}`, "segment.bytes": `${128 * 1024 ** 2}` }
      await createTopic(kafka, topic, { partitions, configs })
      await begin(kafka, topic, partitions)
      return {
        bootstrapServers: delay === undefined ? kafka.bootstrapServers : [delay.address],
        topic,
        records: () => administer(kafka, (admin) => endOffsets(admin, topic, partitions)),
        async [Symbol.asyncDispose]() {
          await administer(kafka, (admin) => admin.deleteTopics({ topics: [topic] }))
          node!.pause()
        },
      }
    },
    async makeTopics(names) {
      node!.resume()
      await administer(kafka, async (admin) => {
        for (let at = 0; at < names.length; at += TOPICS_A_REQUEST)
          await admin.createTopics({ topics: names.slice(at, at + TOPICS_A_REQUEST), partitions: 1 })
        // the broker is still making them when it has answered
        while (!(await isThere(admin, names.at(-1)!))) await Bun.sleep(50)
      })
      node!.pause()
    },
  }
}

/**
 * Gives each partition its first records: for those a broker makes files, with an fsync each, and takes the first pages of
 * its indexes, one entry for 4 KiB of records (index.interval.bytes), at some 10 ms a partition.
 */
async function begin(kafka: TestKafka, topic: string, partitions: number): Promise<void> {
  await using broker = openTestBroker(kafka)
  // correctness.ts passes over these
  const value = Buffer.from(JSON.stringify({ first: true, filler: "x".repeat(6000) }))
  const publish = (key: string): Promise<unknown> =>
    broker.publish({ topic, key: Buffer.from(key), value }, steadyMs() + BEGIN_MS)
  for (let n = 0; n < 3; n++) await Promise.all(keysOfEach(partitions).map(publish))
}

const BEGIN_MS = 120_000
const TOPICS_A_REQUEST = 100

async function isThere(admin: Admin, topic: string): Promise<boolean> {
  try {
    const { topics } = await admin.metadata({ topics: [topic], forceUpdate: true })
    return topics.get(topic)!.partitions.every(({ leader }) => leader >= 0)
  } catch (error) {
    if (/UNKNOWN_TOPIC|Unknown topic/.test(reasonOf(error))) return false
    throw error
  }
}

async function endOffsets(admin: Admin, topic: string, count: number): Promise<number> {
  const partitions = Array.from({ length: count }, (_, partitionIndex) => {
    return { partitionIndex, timestamp: ListOffsetTimestamps.LATEST }
  })
  const [listed] = await admin.listOffsets({ topics: [{ name: topic, partitions }] })
  return listed!.partitions.reduce((total, { offset }) => total + Number(offset), 0)
}
