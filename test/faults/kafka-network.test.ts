import { describe, test } from "bun:test"
import { fault, onNewTopic } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"

const CUTS = isFull ? 40 : 10

const proxy = await openProxy()

describe.skipIf(!(await canStartKafka()) || !hasKcat())("the network between Hookline and Kafka", () => {
  const kafka = kafkaOfTests({}, [proxy])

  test("a connection that is reset in the middle of a produce request: nothing is lost, doubled or refused", async () => {
    const to = await onNewTopic(kafka, { partitions: 3 }, `bootstrap_servers = ${proxy.address}`)
    await fault(`connection reset in a produce request, ${CUTS} times`, to, {
      sending: { keyless: 8 },
      events: [0, 0],
      allAcked: true,
      async during({ senders }) {
        let longestBackMs = 0
        for (let cut = 0; cut < CUTS; cut++) {
          await senders.many(50)
          await proxy.cutProduce()
          longestBackMs = Math.max(longestBackMs, await senders.backAfterMs())
        }
        return longestBackMs
      },
    })
  })
})
