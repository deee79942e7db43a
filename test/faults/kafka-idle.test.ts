import { describe, test } from "bun:test"
import { steadyMs } from "../../src/clock/clock.ts"
import { fault, onNewTopic, type Destination } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { until } from "../support/kafka-options.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysOfEach } from "../support/keys.ts"

const PARTITIONS = 40
/** The network forgets a connection on which nothing passed for so long. */
const FORGET_MS = 1500
const TIMES = isFull ? 10 : 3

const proxy = await openProxy()

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a network that silently forgets idle connections", () => {
  const keys = keysOfEach(PARTITIONS)
  const kafka = kafkaOfTests({}, [proxy])
  const settings = { sending: { keys: 0 }, events: [0, 0], allAcked: true } as const
  const behind = (connection: string): Promise<Destination> => {
    proxy.heal()
    const to = `bootstrap_servers = ${proxy.address}\n${connection}`
    return onNewTopic(kafka, { partitions: PARTITIONS }, to)
  }

  test("the first events after idling are acknowledged, once, and so are the next", async () => {
    await fault(`idle connections dropped silently, ${TIMES} times`, await behind(""), {
      ...settings,
      async during({ senders }) {
        await senders.round(keys)
        proxy.forgetIdle(FORGET_MS)
        let longestBackMs = 0
        for (let n = 0; n < TIMES; n++) {
          await Bun.sleep(1.5 * FORGET_MS)
          const fromMs = steadyMs()
          await senders.round(keys)
          longestBackMs = Math.max(longestBackMs, steadyMs() - fromMs)
          await senders.round(keys)
        }
        return longestBackMs
      },
    })
  })

  test("with connections_max_idle below that they are closed without traffic, and the next events are acknowledged", async () => {
    const to = await behind("connections_max_idle = 500ms")
    await fault(`idle connections closed before they are dropped, ${TIMES} times`, to, {
      ...settings,
      async during({ senders }) {
        await senders.round(keys)
        proxy.forgetIdle(FORGET_MS)
        let longestBackMs = 0
        for (let n = 0; n < TIMES; n++) {
          const closed = proxy.closedByClients
          await until("it is closed", () => proxy.closedByClients > closed)
          await Bun.sleep(1.5 * FORGET_MS)
          const fromMs = steadyMs()
          await senders.round(keys)
          longestBackMs = Math.max(longestBackMs, steadyMs() - fromMs)
        }
        return longestBackMs
      },
    })
  })
})
