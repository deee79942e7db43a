import { describe, expect, test } from "bun:test"
import { ConfigResourceTypes, IncrementalAlterConfigOperationTypes } from "@platformatic/kafka"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { folderOfTests } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests, openAdmin, type TestKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { KeptConnection, type Answer } from "../support/kept-connection.ts"
import { isAcknowledged, NumberedSenders, type Posted } from "../support/numbered-senders.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
const ROUNDS = isFull ? 40 : 10
/** Numbers of poisoned events begin here. */
const POISONED = 1_000_000
/** Less than a poisoned event, more than a batch of the others. */
const MAX_MESSAGE_BYTES = 20_000

const kafka = hasKcat() ? await kafkaForTests() : undefined
const folder = folderOfTests()

/** Publishes poisoned events among good ones, and compares what became of both. */
async function poison(
  body: (number: number) => string,
  { configs, before }: { configs: { [key: string]: string }; before?: (topic: string) => Promise<void> },
): Promise<{ answers: Set<Answer>; others: readonly Posted[]; findings: ReturnType<typeof compare> }> {
  const topic = freshTopic()
  await createTopic(kafka!, topic, { configs })
  await using running = await startService({
    folder: folder.path,
    connection: onKafka(kafka!),
    topic,
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
  })
  await using senders = new NumberedSenders(serving(running), { pauseMs: 1 })
  await senders.many(300)
  await before?.(topic)
  using connection = new KeptConnection(running.urls["webhooks"]!)
  for (let round = 0; round < ROUNDS; round++) {
    await senders.many(20)
    const number = POISONED + round
    await senders.post(connection, { number, key: undefined }, body(number))
  }
  await senders.stop()
  await running.stop()
  const logged = await eventsInKafka(kafka!, topic)
  const poisoned = senders.posted.filter(({ number }) => number >= POISONED)
  return {
    answers: new Set(poisoned.map(({ answer }) => answer)),
    others: senders.posted.filter(({ number }) => number < POISONED),
    findings: compare(senders.posted, logged),
  }
}

describe.skipIf(kafka === undefined)("a batch with one record that Kafka does not take", () => {
  test("too large: it gets 413, the others pass", async () => {
    const { answers, others, findings } = await poison(
      (number) => `{"n":${number},"k":"k0","pad":"${"x".repeat(MAX_MESSAGE_BYTES)}"}`,
      { configs: {}, before: (topic) => limit(kafka!, topic) },
    )
    report(`record too large, ${ROUNDS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(answers).toEqual(new Set([413]))
    expect(others.every(isAcknowledged)).toBe(true)
  }, 60_000)

  test("refused, for having no key in a compacted topic: it gets 503, the others pass", async () => {
    const { answers, others, findings } = await poison((number) => `{"n":${number}}`, {
      configs: { "cleanup.policy": "compact" },
    })
    report(`record refused by the broker, ${ROUNDS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(answers).toEqual(new Set([503]))
    expect(others.every(isAcknowledged)).toBe(true)
    expect(findings.found).toBe(findings.acknowledged)
  }, 60_000)
})

/** Lowers a topic's limit behind the back of those who have looked it up, so that the broker is the one to refuse. */
async function limit(kafka: TestKafka, topic: string): Promise<void> {
  const admin = openAdmin(kafka)
  const configs = [
    {
      name: "max.message.bytes",
      value: `${MAX_MESSAGE_BYTES}`,
      configOperation: IncrementalAlterConfigOperationTypes.SET,
    },
  ]
  await admin.incrementalAlterConfigs({
    resources: [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configs }],
  })
  await admin.close()
}
