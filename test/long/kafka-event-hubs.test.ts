import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { folderOfTests } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { openTestBroker } from "../support/kafka-options.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const SECRET =
  "Endpoint=sb://obviously-fake.example/;SharedAccessKeyName=send;SharedAccessKey=obviously-fake="
/** Event Hubs closes larger requests, and idle connections, as of https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations */
const MAX_REQUEST_BYTES = 1_046_528
const MAX_MESSAGE_BYTES = 1_048_576
/** Instead of 4 minutes. */
const IDLE_MS = 6000

describe.skipIf(!(await canStartKafka()) || !hasKcat())("a Kafka with the limits of Azure Event Hubs", () => {
  let kafka: OwnKafka
  let proxy: Proxy
  const folder = folderOfTests()
  let given: Partial<KafkaOptions>
  let topic: string

  beforeAll(async () => {
    const { ca, server } = await makeCertificates(folder.path)
    const plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    proxy = await openProxy()
    kafka = await startKafka({
      listeners: { HUBS: "SASL_SSL" },
      advertised: { HUBS: proxy.address },
      properties: {
        "listener.name.hubs.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.hubs.plain.sasl.jaas.config": `${plain} "user_$ConnectionString"="${SECRET}";`,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": server.keystore,
        "socket.request.max.bytes": `${MAX_REQUEST_BYTES}`,
        "message.max.bytes": `${MAX_MESSAGE_BYTES}`,
        "connections.max.idle.ms": `${IDLE_MS}`,
        "auto.create.topics.enable": "false",
      },
    })
    proxy.target = kafka.listener("HUBS")[0]
    given = {
      security_protocol: "sasl_ssl",
      ssl_ca_location: ca,
      sasl_mechanism: "PLAIN",
      sasl_username: "$ConnectionString",
      sasl_password: SECRET,
    }
    topic = freshTopic("hubs")
    await createTopic(kafka, topic, { partitions: 2 })
  })
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.[Symbol.asyncDispose]()
  })

  const open = (more: Partial<KafkaOptions> = {}) =>
    openTestBroker({ bootstrapServers: [proxy.address] }, { ...given, ...more })
  const publish = (broker: ReturnType<typeof open>, bytes: number) =>
    broker.publish({ topic, value: Buffer.alloc(bytes, "x") }, steadyMs() + PATIENT_MS)

  test("gets requests below its limit, by the defaults, however large the events are together", async () => {
    const before = (await readWithKcat(kafka, topic)).length
    await using broker = open()
    await Promise.all(Array.from({ length: 40 }, (_, i) => publish(broker, i % 4 === 0 ? 300_000 : 90_000)))
    expect((await readWithKcat(kafka, topic)).length - before).toBe(40)
    expect(broker.log.filter(({ level }) => level !== "info")).toEqual([])
  })

  test("an event over a megabyte is refused, and those after it are published", async () => {
    await using broker = open()
    await expect(publish(broker, MAX_MESSAGE_BYTES)).rejects.toMatchObject({ code: "record_too_large" })
    await publish(broker, 900_000)
    expect(broker.log.filter(({ level }) => level === "error")).toEqual([])
  })

  test("connections are replaced before it closes them", async () => {
    await using broker = open({ connections_max_idle: IDLE_MS / 3 })
    await publish(broker, 10)
    for (let i = 0; i < 3; i++) {
      const closed = proxy.closedByBroker
      await Bun.sleep(2 * IDLE_MS)
      await broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + PATIENT_MS)
      expect(proxy.closedByBroker).toBe(closed)
    }
    expect(broker.log.filter(({ level }) => level !== "info")).toEqual([])
  })
})
