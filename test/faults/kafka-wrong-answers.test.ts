import { describe, expect, test } from "bun:test"
import { PublishError } from "../../src/errors.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare } from "../support/findings.ts"
import { folderOfTests } from "../support/hookline.ts"
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
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { openInterceptor } from "../support/kafka-interceptor.ts"
import { openTestBroker } from "../support/kafka-options.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 10_000
/** An error code that no version of Kafka has. */
const UNHEARD_OF = 999

const interceptor = await openInterceptor()

describe.skipIf(!(await canStartKafka()) || !hasKcat())("a Kafka that answers what no Kafka should", () => {
  const folder = folderOfTests()
  const kafka = kafkaOfTests({ properties: { "auto.create.topics.enable": "false" } }, [interceptor])

  test("an offset that it has given before is no acknowledgement: the log says so, and later events have a new producer id", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await using running = await startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${interceptor.address}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
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
  })

  test("an unknown error code in the metadata of one topic holds up no other topic", async () => {
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
  })
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
