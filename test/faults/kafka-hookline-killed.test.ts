import { describe, expect, test } from "bun:test"
import { fault, KILLS, onNewTopic, restarted } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { childrenOf } from "../support/worker-processes.ts"

const STOPS = isFull ? 20 : 4
/** Each waits longer for the next one's start, see restart-delay.ts. */
const WORKER_KILLS = isFull ? 8 : 4

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("Hookline on Kafka", () => {
  test(`killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    await fault(`Hookline on Kafka killed ${KILLS} times`, await onNewTopic(kafka!), restarted(KILLS))
  })

  test(`one of two workers killed, ${WORKER_KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    await fault(`One of two workers on Kafka killed ${WORKER_KILLS} times`, await onNewTopic(kafka!), {
      workers: 2,
      sending: { pauseMs: 1 },
      events: [0, 50],
      async during({ senders, running }) {
        for (let time = 1; time <= WORKER_KILLS; time++) {
          await senders.many(50 + Math.floor(Math.random() * 100))
          // in turn, so that neither is taken for one that ends again and again before the other
          process.kill(childrenOf(running.pid)[0]!, "SIGKILL")
          await running.logged(
            () => running.log.filter(({ msg }) => msg === "worker restarted").length >= time,
          )
        }
      },
    })
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
