import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { PublishError } from "../../src/errors.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import {
  METADATA,
  PRODUCE,
  readMetadata,
  readProduce,
  refusedPartition,
  writeMetadata,
  writeProduceAnswer,
  type ProduceAnswer,
} from "../support/kafka-frames.ts"
import { startKafkaBehind } from "../support/kafka-behind.ts"
import { openInterceptor, type Interceptor } from "../support/kafka-interceptor.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { addPartitions } from "../support/kafka-placement.ts"
import { canStartKafka, createTopic, freshTopic, openAdmin, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysOfEach } from "../support/keys.ts"
import { laggingBroker } from "../support/lagging-broker.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
const FEW = 2
/** An error code that no version of Kafka has. */
const UNHEARD_OF = 999
const MANY = 40

describe.skipIf(!(await canStartKafka()) || !hasKcat())("metadata from a broker that lags", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let interceptor: Interceptor

  beforeAll(async () => {
    interceptor = await openInterceptor()
    kafka = await startKafkaBehind([interceptor], { properties: { "auto.create.topics.enable": "false" } })
  }, 60_000)
  afterAll(async () => {
    await kafka?.stop()
    await interceptor?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const onTopic = (topic: string): Promise<RunningHookline> =>
    startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${interceptor.address}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })

  test("partitions were added, are not told of for a while, and are told of again: nothing is lost, and none waits", async () => {
    const broker = laggingBroker(interceptor)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: FEW })
    await using running = await onTopic(topic)
    await using senders = new NumberedSenders(serving(running), { keys: 0 })
    /** One event for each of the many partitions. */
    const round = (): Promise<void> => senders.round(keysOfEach(MANY))

    const earlier = await broker.told(topic, ({ partitions }) => partitions.length === FEW)
    await round()
    await addPartitions(
      kafka,
      topic,
      Array.from({ length: MANY - FEW }, () => [1]),
    )
    await broker.told(topic, ({ partitions }) => partitions.length === MANY)
    await round()
    await round()
    await broker.lag(earlier)
    await round()
    await broker.catchUp()
    await round()
    await round()
    await running.stop()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("added partitions not told of for a while", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
  }, 60_000)

  test("a topic was made anew, and is told of as it was before for a while: nothing is lost, and none waits", async () => {
    const broker = laggingBroker(interceptor)
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: MANY })
    await using running = await onTopic(topic)
    await using senders = new NumberedSenders(serving(running), { keys: 0 })
    const round = (): Promise<void> => senders.round(keysOfEach(MANY))

    await round()
    await round()
    const earlier = await broker.told(topic, ({ partitions }) => partitions.length === MANY)
    const admin = openAdmin(kafka)
    await admin.deleteTopics({ topics: [topic] })
    await until("it is gone", async () => !(await admin.listTopics()).includes(topic))
    await admin.close()
    await createTopic(kafka, topic, { partitions: MANY })
    await broker.told(topic, ({ topicId, errorCode }) => errorCode === 0 && topicId !== earlier.topicId)
    const gone = senders.posted.length
    await round()
    await round()
    await broker.lag(earlier)
    await round()
    await broker.catchUp()
    await round()
    await round()
    await running.stop()

    const since = senders.posted.slice(gone)
    const findings = compare(since, await eventsInKafka(kafka, topic))
    report("topic made anew, told of as before for a while", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(since.every(isAcknowledged)).toBe(true)
  }, 60_000)

  test("an offset that does not rise is no acknowledgement: the log says so, and others are published under a new producer id", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await using running = await onTopic(topic)
    await using senders = new NumberedSenders(serving(running), { keys: 0 })
    const producers: bigint[] = []
    let swallow = false
    interceptor.handle = (request) => {
      if (request.apiKey !== PRODUCE) return "pass"
      const { topics } = readProduce(request.body)
      producers.push(producerOf(topics[0]!.partitions[0]!.records))
      if (!swallow) return "pass"
      swallow = false
      return { answer: writeProduceAnswer(storedAt(0n, topic)) }
    }
    for (let n = 0; n < 3; n++) await senders.round(["k"])
    swallow = true
    await senders.round(["k"])
    for (let n = 0; n < 3; n++) await senders.round(["k"])
    await running.stop()
    interceptor.handle = () => "pass"

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("the broker answers with an offset that it has given before", findings)
    expect(findings).toMatchObject({ lost: 0, doubled: 0, disordered: 0 })
    expect(findings.acknowledged).toBeGreaterThanOrEqual(6)
    expect(producers.at(-1)).not.toBe(producers[0]!)
    expect(running.log.filter(({ level }) => level === "error")).toMatchObject([{ topic }])
  }, 60_000)

  test("an error code that nobody has heard of, for one topic, holds up no other", async () => {
    const [strange, other] = [freshTopic("strange"), freshTopic("other")]
    await createTopic(kafka, strange)
    await createTopic(kafka, other)
    interceptor.handle = ({ apiKey }) => {
      if (apiKey !== METADATA) return "pass"
      return {
        change: (body) => {
          const metadata = readMetadata(body)
          for (const topic of metadata.topics) if (topic.name === strange) topic.errorCode = UNHEARD_OF
          return writeMetadata(metadata)
        },
      }
    }
    await using broker = openTestBroker({ bootstrapServers: [interceptor.address] })
    broker.prepare([strange, other])
    const publish = (topic: string): Promise<unknown> =>
      broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + DELIVERY_TIMEOUT_MS)
    const refused = publish(strange).catch((error: unknown) => error)
    expect(await publish(other)).toEqual({ partition: 0, offset: 0 })
    expect(await refused).toBeInstanceOf(PublishError)
    interceptor.handle = () => "pass"
    expect(await publish(strange)).toEqual({ partition: 0, offset: 0 })
  }, 60_000)
})

/** What a broker says that has taken a batch into a topic's only partition. */
function storedAt(baseOffset: bigint, name: string): ProduceAnswer {
  const partition = { ...refusedPartition(0, 0), baseOffset, logStartOffset: 0n }
  return {
    responses: [{ name, partitionResponses: [partition] }],
    throttleTimeMs: 0,
    nodeEndpoints: [],
  }
}

/** The producer id of a record batch; kafka-records.ts draws one. */
const producerOf = (records: Buffer): bigint => records.readBigInt64BE(43)
