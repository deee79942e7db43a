import { beforeEach, describe, expect, test } from "bun:test"
import { fault, onNewTopic, type UnderLoad } from "../support/fault.ts"
import { isFull } from "../support/fault-table.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { until } from "../support/kafka-options.ts"
import { KeptConnection } from "../support/kept-connection.ts"
import { isAcknowledged, type Posted } from "../support/numbered-senders.ts"
import { serving } from "../support/webhook-service.ts"
import { paced } from "../support/paced.ts"
import { openSlowBroker } from "../support/slow-broker.ts"

const SECONDS = isFull ? 20 : 12
/** With it an event has some 400 bytes. */
const PAD_BYTES = 350
const KEYS = 97
/** The number of the first event that is posted to a broker that acknowledges at once again. */
const ONCE_OVER = 1_000_000

interface Slow {
  readonly lateMs: number
  readonly overlap: boolean
  readonly perSecond: number
  readonly partitions?: number
  readonly padBytes?: number
}

/** What a busy machine may add to the time of an acknowledgement, and to that of an answer. */
const BEHIND_MS = 1000

const slow = await openSlowBroker()
beforeEach(() => {
  slow.behindMs = 0
})

/** That none was refused, as long as the machine kept to the times that are promised something. */
function expectAcknowledged(posted: readonly Posted[]): void {
  if (slow.behindMs > BEHIND_MS) return
  expect(posted.filter((it) => !isAcknowledged(it) && it.withheldMs < BEHIND_MS)).toEqual([])
}

describe.skipIf(!(await canStartKafka()) || !hasKcat())("acknowledgements come late", () => {
  const kafka = kafkaOfTests({}, [slow])

  const destination = (partitions: number, connection = "") =>
    onNewTopic(kafka, { partitions }, `bootstrap_servers = ${slow.address}\n${connection}`)

  /** Posts so many events a second, whatever the answers do, half of them with a key, once one was acknowledged late. */
  async function load({ running, send }: UnderLoad, what: Slow): Promise<void> {
    const { lateMs, overlap, perSecond, padBytes = PAD_BYTES } = what
    Object.assign(slow, { lateMs, overlap })
    const senders = send({ keys: [] })
    const free: KeptConnection[] = []
    const post = async (n: number): Promise<void> => {
      const connection = free.pop() ?? new KeptConnection(serving(running).url)
      const key = n % 2 === 0 ? undefined : `k${n % KEYS}`
      await senders.post(
        connection,
        { number: n, key },
        JSON.stringify({ n, k: key, pad: "x".repeat(padBytes) }),
      )
      free.push(connection)
    }
    await post(0)
    await paced(perSecond, SECONDS, (n) => post(n + 1))
    for (const connection of free) connection[Symbol.dispose]()
  }

  /** Posts events to a broker that acknowledges at once. */
  async function loadOnceOver({ send }: UnderLoad): Promise<void> {
    slow.lateMs = 0
    const after = send({ keys: 8, firstNumber: ONCE_OVER })
    await after.many(200)
    await after.stop()
  }

  const cases: readonly (readonly [string, Slow, number])[] = [
    ["together, 700 ms late", { lateMs: 700, overlap: true, perSecond: 200 }, 5000],
    ["one after the other, 700 ms late", { lateMs: 700, overlap: false, perSecond: 200 }, 5000],
    [
      "one after the other, 1.5 s late, to an idle connection",
      { lateMs: 1500, overlap: false, perSecond: 0.8 },
      5000,
    ],
    ...(isFull
      ? ([
          ["together, 1.5 s late", { lateMs: 1500, overlap: true, perSecond: 2000, partitions: 6 }, 5000],
          [
            "one after the other, 1.5 s late",
            { lateMs: 1500, overlap: false, perSecond: 2000, partitions: 6 },
            5000,
          ],
          ["one after the other, 3 s late", { lateMs: 3000, overlap: false, perSecond: 500 }, 10_000],
        ] as const)
      : []),
  ]

  test.each(cases)("%s: no event is refused", async (name, what, deliveryTimeoutMs) => {
    const { perSecond, partitions = 1 } = what
    const { posted } = await fault(
      `acknowledgements ${name}, ${perSecond} events/s`,
      await destination(partitions),
      {
        deliveryTimeoutMs,
        sending: { keys: [] },
        events: [0, 0],
        async during(under) {
          await load(under, what)
          await loadOnceOver(under)
        },
      },
    )
    expectAcknowledged(posted)
  })

  test("twice as much as the broker can take: some are acknowledged, and all once it is over", async () => {
    // a batch of a partition has 1 MiB: some 50 of these events in each 700 ms
    const what = { lateMs: 700, overlap: false, perSecond: 140, padBytes: 20_000 }
    const { posted } = await fault("twice the load that 700 ms late allow", await destination(1), {
      deliveryTimeoutMs: 3000,
      sending: { keys: [] },
      events: [0, 0],
      async during(under) {
        await load(under, what)
        await loadOnceOver(under)
      },
    })
    const during = posted.filter(({ number }) => number > 0 && number < ONCE_OVER)
    expect(during.filter(isAcknowledged).length / during.length).toBeGreaterThan(0.2)
    expectAcknowledged(posted.filter(({ number }) => number >= ONCE_OVER))
  })

  test("with a spool nothing is spooled", async () => {
    let before: number | undefined
    let after: number | undefined
    const { posted } = await fault(
      "acknowledgements 700 ms late, with a spool",
      await destination(1, "spool = spool.sqlite"),
      {
        deliveryTimeoutMs: 5000,
        sending: { keys: ["first"], pauseMs: 100, firstNumber: ONCE_OVER },
        events: [1, 0],
        async during(under) {
          const count = async (outcome: string): Promise<number> => {
            const metrics = await (await fetch(`${under.running.adminUrl}/metrics`)).text()
            const line = new RegExp(`^hookline_spooled_records_total\\{.*"${outcome}"\\} (.*)$`, "m")
            return Number(line.exec(metrics)![1])
          }
          // the first events came before Kafka was reached
          await until("forwarded", async () => (await count("forwarded")) === (await count("spooled")))
          await under.senders.acknowledged()
          before = await count("spooled")
          await load(under, { lateMs: 700, overlap: true, perSecond: 200 })
          after = await count("spooled")
        },
      },
    )
    expectAcknowledged(posted)
    if (slow.behindMs < BEHIND_MS) expect(after).toBe(before!)
  })
})
