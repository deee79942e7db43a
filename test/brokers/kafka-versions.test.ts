import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { reachKafka } from "../../src/brokers/kafka/reach.ts"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { VERSION } from "../support/kafka-jars.ts"
import { kafkaOptions, openTestBroker, until } from "../support/kafka-options.ts"
import { canStartKafka, createTopic, freshTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { startTokenServer, takesTokens, type TokenServer } from "../support/token-server.ts"

const PASSWORD = "not-a-real-password"
/** Authenticated again after 0.8 of it: the rest is what a busy machine may be late by. */
const REAUTHENTICATE_MS = 8000

// The names of the tests are the rows of the table in docs/kafka-versions.md.
describe.skipIf(!(await canStartKafka()) || !hasKcat())(`Apache Kafka ${VERSION}`, () => {
  let kafka: OwnKafka
  let tokens: TokenServer

  beforeAll(async () => {
    const plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    tokens = await startTokenServer()
    const oauth = takesTokens("oauth", tokens, REAUTHENTICATE_MS)
    kafka = await startKafka({
      ...oauth,
      listeners: { SASL: "SASL_PLAINTEXT", OAUTH: "SASL_PLAINTEXT" },
      properties: {
        ...oauth.properties,
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": `${plain} user_alice="${PASSWORD}";`,
        "listener.name.sasl.plain.connections.max.reauth.ms": `${REAUTHENTICATE_MS}`,
      },
    })
    // the first start of a release fetches it and prepares what later ones begin with
  })
  afterAll(async () => {
    await kafka?.stop()
    await tokens?.[Symbol.asyncDispose]()
  })

  const publish = (
    broker: ReturnType<typeof openTestBroker>,
    topic: string,
    n: number,
    withinMs = PATIENT_MS,
  ) =>
    broker.publish(
      {
        topic,
        key: Buffer.from(`k${n % 7}`),
        value: Buffer.from(`${n}`),
        headers: [["source", Buffer.from("test")]],
      },
      steadyMs() + withinMs,
    )
  async function topicOf(partitions = 1): Promise<string> {
    const topic = freshTopic("versions")
    await createTopic(kafka, topic, { partitions })
    return topic
  }
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

  test("records with keys and headers are read back by kcat, in the order of each key", async () => {
    const topic = await topicOf(3)
    await using broker = openTestBroker(kafka)
    await Promise.all(numbers(500).map((n) => publish(broker, topic, n)))
    const read = await readWithKcat(kafka, topic)
    expect(read.map(({ value }) => Number(value)).toSorted((a, b) => a - b)).toEqual(numbers(500))
    expect(new Set(read.map(({ headers }) => headers))).toEqual(new Set(["source=test"]))
    for (const records of Map.groupBy(read, ({ key }) => String(key)).values()) {
      const ofKey = records.map(({ value }) => Number(value))
      expect(ofKey).toEqual(ofKey.toSorted((a, b) => a - b))
      expect(new Set(records.map(({ partition }) => partition)).size).toBe(1)
    }
  })

  test.each(["gzip", "snappy", "lz4", "zstd"] as const)("compression_type = %s", async (compression_type) => {
    const topic = await topicOf()
    await using broker = openTestBroker(kafka, { compression_type })
    await Promise.all(numbers(100).map((n) => publish(broker, topic, n)))
    expect(await readWithKcat(kafka, topic)).toHaveLength(100)
  })

  test("a missing topic is created", async () => {
    const topic = freshTopic("missing")
    await using broker = openTestBroker(kafka)
    await publish(broker, topic, 0)
    expect(await readWithKcat(kafka, topic)).toHaveLength(1)
  })

  test("a record over max.message.bytes is refused, and the next one published", async () => {
    const topic = freshTopic("small")
    await createTopic(kafka, topic, { configs: { "max.message.bytes": "1000" } })
    await using broker = openTestBroker(kafka)
    const large = broker.publish({ topic, value: Buffer.alloc(2000) }, steadyMs() + PATIENT_MS)
    await expect(large).rejects.toMatchObject({ code: "record_too_large" })
    await publish(broker, topic, 0)
  })

  test("hookline tail: from the beginning, by time, to the end", async () => {
    const topic = await topicOf(2)
    await using broker = openTestBroker(kafka, { compression_type: "zstd" })
    await Promise.all(numbers(20).map((n) => publish(broker, topic, n)))
    await Bun.sleep(5)
    const sinceMs = Date.now()
    await publish(broker, topic, 20)
    const reader = openKafkaReader(kafkaOptions(kafka.bootstrapServers))
    const { signal } = new AbortController()
    const all = await Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
    expect(all.map(({ value }) => Number(Buffer.from(value).toString())).toSorted((a, b) => a - b)).toEqual(
      numbers(21),
    )
    const since = await reader.ranges(topic, { sinceMs })
    expect(since.reduce((total, { first, end }) => total + end - first, 0)).toBe(1)
    await reader.close()
  })

  test("check --connect: the brokers answer, and topics are known or not", async () => {
    const [known, missing] = [await topicOf(), freshTopic("missing")]
    const { isUsable, answers } = await reachKafka(kafkaOptions(kafka.bootstrapServers), [known, missing])
    expect(isUsable).toBe(true)
    expect(answers.slice(2)).toEqual([
      `topic ${known} has 1 partition`,
      `topic ${missing} does not exist; a start creates it, where the cluster allows that`,
    ])
  })

  test.each<[string, string, () => Partial<KafkaOptions>]>([
    [
      "SASL PLAIN",
      "SASL",
      () => ({ sasl_mechanism: "PLAIN", sasl_username: "alice", sasl_password: PASSWORD }),
    ],
    [
      "SASL OAUTHBEARER",
      "OAUTH",
      () => ({
        sasl_mechanism: "OAUTHBEARER",
        sasl_oauth_token_endpoint: tokens.tokenUrl,
        sasl_oauth_client_id: "hookline",
        sasl_oauth_client_secret: PASSWORD,
      }),
    ],
  ])("%s, with connections that authenticate again under load", async (_, listener, options) => {
    const topic = await topicOf()
    tokens.lifetimeS = 20
    const client = { security_protocol: "sasl_plaintext", ...options() } as const
    await using broker = openTestBroker({ bootstrapServers: kafka.listener(listener) }, client)
    const end = steadyMs() + 2.5 * REAUTHENTICATE_MS
    let count = 0
    const publishAll = async (): Promise<void> => {
      while (steadyMs() < end) await publish(broker, topic, count++)
    }
    await Promise.all(Array.from({ length: 4 }, publishAll))
    expect(await readWithKcat(kafka, topic)).toHaveLength(count)
    expect(broker.log.filter(({ level }) => level !== "info")).toEqual([])
  })

  test("kill -9 of the broker: each acknowledged record is in the log once", async () => {
    const topic = await topicOf(2)
    await using broker = openTestBroker(kafka)
    const acknowledged = new Set<number>()
    const stopping = new AbortController()
    let next = 0
    const publishAll = async (): Promise<void> => {
      while (!stopping.signal.aborted) {
        const n = next++
        const ended = await Promise.allSettled([publish(broker, topic, n, 1000)])
        if (ended[0].status === "fulfilled") acknowledged.add(n)
      }
    }
    const publishing = Array.from({ length: 7 }, publishAll)
    await until("published", () => acknowledged.size > 300)
    const [node] = kafka.nodes
    await node!.kill()
    // with ZooKeeper a broker can't come back before its session is over
    await until("the broker is back", () =>
      node!.start().then(
        () => true,
        () => false,
      ),
    )
    const before = acknowledged.size
    await until("published again", () => acknowledged.size > before + 300)
    stopping.abort()
    await Promise.all(publishing)
    const found = (await readWithKcat(kafka, topic)).map(({ value }) => Number(value))
    expect(found.length).toBe(new Set(found).size)
    expect([...acknowledged].filter((n) => !found.includes(n))).toEqual([])
  })
})
