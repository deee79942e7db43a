import { ListOffsetTimestamps } from "@platformatic/kafka"
import {
  canStartKafka,
  createTopics,
  freshTopic,
  administer,
  startKafka,
  type TestKafka,
} from "../test/support/kafka.ts"
import { steadyMs } from "../src/clock/clock.ts"
import { openTestBroker } from "../test/support/kafka-options.ts"
import { startKafkaBehind } from "../test/support/kafka-behind.ts"
import { openProxy } from "../test/support/kafka-proxy.ts"
import { keysOfEach } from "../test/support/keys.ts"
import type { Target, Topic } from "./target.ts"

/** The Kafka that targets publish to. */
export interface BenchKafka extends AsyncDisposable {
  readonly pid: number
  /** Gives a target a topic of its own, until it is disposed; its idle topics stay. Between turns the broker stands still. */
  turn(target?: Pick<Target, "partitions" | "idleTopics">): Promise<Turn>
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
  const made = new Set<string>()
  return {
    pid: node!.pid,
    async [Symbol.asyncDispose]() {
      await kafka.stop()
      await delay?.[Symbol.asyncDispose]()
    },
    async turn({ partitions = PARTITIONS, idleTopics = [] } = {}) {
      node!.resume()
      const missing = idleTopics.filter((name) => !made.has(name))
      for (let at = 0; at < missing.length; at += TOPICS_A_REQUEST)
        await createTopics(kafka, missing.slice(at, at + TOPICS_A_REQUEST))
      for (const name of missing) made.add(name)
      const topic = freshTopic("bench")
      const configs = { "retention.bytes": `${512 * 1024 ** 2}`, "segment.bytes": `${128 * 1024 ** 2}` }
      await createTopics(kafka, [topic], { partitions, configs })
      await begin(kafka, topic, partitions)
      return {
        bootstrapServers: delay === undefined ? kafka.bootstrapServers : [delay.address],
        topic,
        async records() {
          const all = Array.from({ length: partitions }, (_, partitionIndex) => {
            return { partitionIndex, timestamp: ListOffsetTimestamps.LATEST }
          })
          const [listed] = await administer(kafka, (admin) =>
            admin.listOffsets({ topics: [{ name: topic, partitions: all }] }),
          )
          return listed!.partitions.reduce((total, { offset }) => total + Number(offset), 0)
        },
        async [Symbol.asyncDispose]() {
          await administer(kafka, (admin) => admin.deleteTopics({ topics: [topic] }))
          node!.pause()
        },
      }
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
