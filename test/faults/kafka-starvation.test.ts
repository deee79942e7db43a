import { afterEach, describe, expect, test } from "bun:test"
import { fault, onNewTopic, type Destination } from "../support/fault.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { isFull } from "../support/fault-table.ts"
import { deleteTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysIn } from "../support/keys.ts"
import { isAcknowledged } from "../support/numbered-senders.ts"

const LOAD_MS = isFull ? 8000 : 4000
const PAD_BYTES = 200_000
/** How many events of each small key are acknowledged meanwhile. */
const ROUNDS = 3
/** Senders of large events: more than any request takes. */
const LARGE = 100
const SMALL = 16
const LARGE_FROM = 1_000_000
const SMALL_FROM = 2_000_000

const kafka = hasKcat() ? await kafkaForTests() : undefined

describe.skipIf(kafka === undefined)("large events on the first partitions all the time", () => {
  let to: Destination
  // It has some GB.
  afterEach(() => deleteTopic(kafka!, to.topic))

  test.each([8, 500])(
    "small ones on the last of %d partitions are acknowledged all the same",
    async (partitions) => {
      to = await onNewTopic(kafka!, { partitions })
      const last = Math.min(partitions / 4, SMALL)
      const largeKeys = keysIn(partitions, 0, Math.min(partitions - last, LARGE), LARGE)
      const smallKeys = keysIn(partitions, partitions - last, partitions, SMALL)
      const keys = [...largeKeys, ...smallKeys]
      const { posted } = await fault(`large events beside small ones, ${partitions} partitions`, to, {
        deliveryTimeoutMs: PATIENT_MS,
        sending: { keys },
        events: [0, 0],
        async during({ senders, send }) {
          // a broker makes files, with an fsync each, for the first batch of a partition
          const acknowledged = new Set<string | undefined>()
          await senders.first((it) => {
            if (isAcknowledged(it)) acknowledged.add(it.key)
            return acknowledged.size === new Set(keys).size
          })
          await senders.stop()
          send({ keys: largeKeys, firstNumber: LARGE_FROM, pauseMs: 0, padBytes: PAD_BYTES })
          const small = send({ keys: smallKeys, firstNumber: SMALL_FROM })
          // while the large ones go on
          const rounds = smallKeys.map(async (key) => {
            let left = ROUNDS
            await small.first((it) => it.key === key && isAcknowledged(it) && --left === 0)
          })
          await Promise.all([...rounds, Bun.sleep(LOAD_MS)])
        },
      })
      expect(posted.filter((it) => it.number >= LARGE_FROM && !isAcknowledged(it))).toEqual([])
    },
  )
})
