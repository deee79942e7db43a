import { describe, expect, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { LATE_MS } from "../support/findings.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"

const available = (await canStartKafka()) && hasKcat()

describe.skipIf(!available)("one Kafka broker", () => {
  const kafka = kafkaOfTests()

  test("that is down at the start makes no one wait, and is used once it is up", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await kafka.nodes[0]!.kill()
    await using broker = openTestBroker(kafka)
    broker.prepare([topic])
    expect(broker.ready()).toBe("Kafka is not connected yet")
    const refusal = `Kafka unavailable: connection refused (${kafka.bootstrapServers[0]})`
    await until("a reason", () => broker.ready() === refusal)
    const began = steadyMs()
    const refused = broker.publish({ topic, value: Buffer.from("early") }, began + 300)
    await expect(refused).rejects.toMatchObject({ code: "deadline" })
    expect(steadyMs() - began).toBeWithin(300, 300 + LATE_MS)
    const patient = broker.publish({ topic, value: Buffer.from("patient") }, began + PATIENT_MS)
    await kafka.nodes[0]!.start()
    expect(await patient).toEqual({ partition: 0, offset: 0 })
    expect((await readWithKcat(kafka, topic)).map(({ value }) => value.toString())).toEqual(["patient"])
  })

  test("that is gone does not keep a closing connection longer than the deadlines", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const broker = openTestBroker(kafka)
    await broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + PATIENT_MS)
    kafka.nodes[0]!.pause()
    const open = broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + 700)
    const began = steadyMs()
    const [outcome] = await Promise.all([Promise.allSettled([open]), broker.close()])
    expect(outcome[0]).toMatchObject({ status: "rejected", reason: { code: "deadline" } })
    expect(steadyMs() - began).toBeWithin(650, 700 + LATE_MS)
  })
})
