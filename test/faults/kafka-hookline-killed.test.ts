import { describe, expect, test } from "bun:test"
import { fault, KILLS, onNewTopic, restarted } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"

const STOPS = isFull ? 20 : 4

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("Hookline on Kafka", () => {
  test(`killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    await fault(`Hookline on Kafka killed ${KILLS} times`, await onNewTopic(kafka!), restarted(KILLS))
  })

  test(`stopped ${STOPS} times under load: what was accepted is answered, and few requests are cut off`, async () => {
    const row = `Hookline on Kafka, SIGTERM ${STOPS} times`
    const stops = restarted(STOPS, async (running) => expect(await running.stop()).toBe(0))
    const { findings } = await fault(row, await onNewTopic(kafka!), stops)
    expect(findings.unansweredAndFound).toBe(0)
    expect(findings.found).toBe(findings.acknowledged)
    // The 32 senders get 503, but for those whose request comes at the very moment that connections are closed.
    expect(findings.unanswered).toBeLessThan(32 * STOPS)
  })
})
