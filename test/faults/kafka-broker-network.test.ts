import { describe, expect, test } from "bun:test"
import { PATIENT_MS } from "../support/hang.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { steadyMs } from "../../src/clock/clock.ts"

/** Time for a request to be out, also on a busy machine. */
const LOST_MS = 5000

const proxy = await openProxy()

describe.skipIf(!(await canStartKafka()) || !hasKcat())("between Hookline and Kafka", () => {
  const kafka = kafkaOfTests({ listeners: { LOST: "PLAINTEXT" }, advertised: { LOST: "127.0.0.1:1" } }, [
    proxy,
  ])
  const texts = async (topic: string): Promise<string[]> =>
    (await readWithKcat(kafka, topic)).map(({ value }) => value.toString())

  test("an acknowledgement that is lost on its way does not double the record, and comes again", async () => {
    await using broker = openTestBroker({ bootstrapServers: [proxy.address] })
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const publish = (text: string): Promise<unknown> =>
      broker.publish({ topic, key: Buffer.from("k"), value: Buffer.from(text) }, steadyMs() + PATIENT_MS)
    expect(await publish("first")).toEqual({ partition: 0, offset: 0 })
    proxy.loseAnswers()
    const lost = publish("lost")
    const later = publish("later")
    await until("it is in the log", async () => (await texts(topic)).includes("later"))
    proxy.heal()
    expect(await lost).toEqual({ partition: 0, offset: 1 })
    expect(await later).toEqual({ partition: 0, offset: 2 })
    expect(await publish("last")).toEqual({ partition: 0, offset: 3 })
    expect(await texts(topic)).toEqual(["first", "lost", "later", "last"])
  })

  test("a record whose deadline passes with its acknowledgement lost is not sent again, and the next ones pass", async () => {
    await using broker = openTestBroker({ bootstrapServers: [proxy.address] })
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const publish = (text: string, allowedMs = PATIENT_MS): Promise<unknown> =>
      broker.publish({ topic, key: Buffer.from("k"), value: Buffer.from(text) }, steadyMs() + allowedMs)
    await publish("first")
    for (let round = 0; round < 3; round++) {
      proxy.loseAnswers()
      const lost = expect(publish(`lost ${round}`, LOST_MS)).rejects.toMatchObject({ code: "deadline" })
      await until("it is in the log", async () => (await texts(topic)).includes(`lost ${round}`))
      await lost
      const next = publish(`next ${round}`)
      proxy.heal()
      expect(await next).toEqual({ partition: 0, offset: 2 * round + 2 })
    }
    expect(await texts(topic)).toEqual(["first", "lost 0", "next 0", "lost 1", "next 1", "lost 2", "next 2"])
  })

  test("leaders at an address that leads nowhere are named in the log and make it not ready", async () => {
    await using broker = openTestBroker({ bootstrapServers: kafka.listener("LOST") })
    const topic = freshTopic()
    await createTopic(kafka, topic)
    broker.prepare([topic])
    await until(
      "not ready",
      () => broker.ready() === "no partition leader reachable: connection refused (127.0.0.1:1)",
    )
    const refused = broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + 300)
    await expect(refused).rejects.toMatchObject({ code: "deadline" })
    await until("a line", () => broker.log.length > 1)
    expect(broker.log).toMatchObject([
      { level: "info", msg: "connected to Kafka" },
      {
        level: "error",
        broker: "127.0.0.1:1",
        reason: "connection refused",
        hint: expect.stringContaining("advertised.listeners"),
      },
    ])
  })
})
