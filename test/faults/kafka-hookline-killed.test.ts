import { describe, expect, test } from "bun:test"
import { isFull, report } from "../support/fault-table.ts"
import { expectKept } from "../support/findings.ts"
import type { RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import {
  DELIVERY_TIMEOUT_MS,
  endAgainAndAgain,
  kill,
  killWorkers,
  KILLS,
  WORKER_KILLS,
} from "../support/kills.ts"
import { eventsInKafka, onKafka } from "../support/webhook-service.ts"

const STOPS = isFull ? 20 : 4

async function stop(running: RunningHookline): Promise<void> {
  expect(await running.stop()).toBe(0)
}

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("Hookline on Kafka", () => {
  let topic: string
  const broker = () => ({
    connection: onKafka(kafka!),
    topic,
    read: () => eventsInKafka(kafka!, topic),
  })

  test(`killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const findings = await endAgainAndAgain(KILLS, kill, broker())
    report(`Hookline on Kafka killed ${KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)

  test(`one of two workers killed, ${WORKER_KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const findings = await killWorkers(WORKER_KILLS, broker())
    report(`One of two workers on Kafka killed ${WORKER_KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)

  test(`stopped ${STOPS} times under load: what was taken is answered, and few requests are cut off`, async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const findings = await endAgainAndAgain(STOPS, stop, broker())
    report(`Hookline on Kafka, SIGTERM ${STOPS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.unansweredAndFound).toBe(0)
    expect(findings.found).toBe(findings.acknowledged)
    // The 32 senders are told 503, but for those whose request comes at the very moment that connections are closed.
    expect(findings.unanswered).toBeLessThan(8 * STOPS)
  }, 120_000)
})
