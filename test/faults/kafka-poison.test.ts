import { describe, expect, test } from "bun:test"
import { fault, onNewTopic } from "../support/fault.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { isFull } from "../support/fault-table.ts"
import type { Findings } from "../support/findings.ts"
import { kafkaForTests, setTopic } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { KeptConnection, type Answer } from "../support/kept-connection.ts"
import { isAcknowledged } from "../support/numbered-senders.ts"

const ROUNDS = isFull ? 40 : 10
/** Numbers of poisoned events begin here. */
const POISONED = 1_000_000
/** Less than a poisoned event, more than a batch of the others. */
const MAX_MESSAGE_BYTES = 20_000

const kafka = hasKcat() ? await kafkaForTests() : undefined

/** Publishes poisoned events among good ones, which all pass; a poisoned one gets the answer. */
async function poison(
  row: string,
  body: (number: number) => string,
  answer: Answer,
  { configs, before }: { configs: { [key: string]: string }; before?: (topic: string) => Promise<unknown> },
): Promise<Findings> {
  const to = await onNewTopic(kafka!, { configs })
  const { posted, findings } = await fault(`${row}, ${ROUNDS} times`, to, {
    deliveryTimeoutMs: PATIENT_MS,
    sending: { pauseMs: 1 },
    events: [300, 0],
    async during({ senders, running }) {
      await before?.(to.topic)
      using connection = new KeptConnection(running.urls["webhooks"]!)
      for (let round = 0; round < ROUNDS; round++) {
        await senders.many(20)
        const number = POISONED + round
        await senders.post(connection, { number, key: undefined }, body(number))
      }
    },
  })
  const [others, poisoned] = [false, true].map((is) =>
    posted.filter(({ number }) => number >= POISONED === is),
  )
  expect(new Set(poisoned!.map((it) => it.answer))).toEqual(new Set([answer]))
  expect(others!.every(isAcknowledged)).toBe(true)
  return findings
}

describe.skipIf(kafka === undefined)("a batch with one record that Kafka does not take", () => {
  test("too large: it gets 413, the others pass", async () => {
    const body = (number: number): string =>
      `{"n":${number},"k":"k0","pad":"${"x".repeat(MAX_MESSAGE_BYTES)}"}`
    await poison("record too large", body, 413, { configs: {}, before: limit })
  })

  test("refused, for having no key in a compacted topic: it gets 503, the others pass", async () => {
    const configs = { "cleanup.policy": "compact" }
    const findings = await poison("record refused by the broker", (number) => `{"n":${number}}`, 503, {
      configs,
    })
    expect(findings.found).toBe(findings.acknowledged)
  })
})

/** Lowers a topic's limit without those noticing who have looked it up, so that the broker is the one to refuse. */
const limit = (topic: string): Promise<unknown> =>
  setTopic(kafka!, topic, "max.message.bytes", `${MAX_MESSAGE_BYTES}`)
