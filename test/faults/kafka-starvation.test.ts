import { afterAll, afterEach, describe, expect, test } from "bun:test"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests, openAdmin } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysIn } from "../support/keys.ts"
import { isAcknowledged, NumberedSenders, type Posted } from "../support/numbered-senders.ts"
import { eventsInKafka, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 5000
const LOAD_MS = isFull ? 8000 : 4000
const PAD_BYTES = 200_000
/** Senders of large events: more than any request takes. */
const LARGE = 100
const SMALL = 16
const LARGE_FROM = 1_000_000
const SMALL_FROM = 2_000_000

const kafka = hasKcat() ? await kafkaForTests() : undefined

describe.skipIf(kafka === undefined)("large events on the first partitions all the time", () => {
  const folder = temporaryFolder()
  let running: RunningHookline
  let topic: string
  afterEach(async () => {
    await running.stop()
    // It has some GB.
    const admin = openAdmin(kafka!)
    await admin.deleteTopics({ topics: [topic] })
    await admin.close()
  })
  afterAll(() => folder[Symbol.dispose]())

  /** Has each key acknowledged once: a broker makes files, with an fsync each, for the first batch of a partition. */
  async function firstOfEach(keys: readonly string[]): Promise<readonly Posted[]> {
    await using senders = new NumberedSenders(serving(running), { keys })
    const acknowledged = new Set<string | undefined>()
    await senders.first((it) => {
      if (isAcknowledged(it)) acknowledged.add(it.key)
      return acknowledged.size === new Set(keys).size
    })
    await senders.stop()
    return senders.posted
  }

  test.each([8, 500])(
    "small ones on the last of %d partitions are acknowledged all the same",
    async (partitions) => {
      topic = freshTopic()
      await createTopic(kafka!, topic, { partitions })
      running = await startService({
        folder: folder.path,
        connection: onKafka(kafka!),
        topic,
        deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      })
      const last = Math.min(partitions / 4, SMALL)
      const largeKeys = keysIn(partitions, 0, Math.min(partitions - last, LARGE), LARGE)
      const smallKeys = keysIn(partitions, partitions - last, partitions, SMALL)
      const first = await firstOfEach([...largeKeys, ...smallKeys])
      const large = new NumberedSenders(serving(running), {
        keys: largeKeys,
        firstNumber: LARGE_FROM,
        pauseMs: 0,
        padBytes: PAD_BYTES,
      })
      const small = new NumberedSenders(serving(running), {
        keys: smallKeys,
        firstNumber: SMALL_FROM,
      })
      await Bun.sleep(LOAD_MS)
      await Promise.all([large.stop(), small.stop()])

      const posted = [...first, ...large.posted, ...small.posted]
      const findings = compare(posted, await eventsInKafka(kafka!, topic))
      report(`large events beside small ones, ${partitions} partitions`, findings)
      const refused = (senders: NumberedSenders): number =>
        senders.posted.filter((it) => !isAcknowledged(it)).length
      expect({ large: refused(large), small: refused(small) }).toEqual({ large: 0, small: 0 })
      expectKept(findings, DELIVERY_TIMEOUT_MS)
    },
    120_000,
  )
})
