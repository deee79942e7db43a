import { expect, test } from "bun:test"
import type { StoredRecord } from "../brokers/broker.ts"
import type { Attempt, AttemptOptions } from "./attempt.ts"
import { KeyedTarget } from "./keyed-target.ts"
import type { Sent } from "./target.ts"

const recordOf = (offset: number, key?: string): StoredRecord => ({
  topic: "payments",
  partition: 0,
  offset,
  timestampMs: 0,
  key: key === undefined ? undefined : Buffer.from(key),
  value: Buffer.from(`${offset}`),
  headers: [],
})

const DELIVERED: Attempt = { outcome: "delivered", reason: "", durationMs: 0 }
const REFUSED: Attempt = { outcome: "refused", status: 422, reason: "422", durationMs: 0 }
const UNAVAILABLE: Attempt = { outcome: "unavailable", status: 500, reason: "500", durationMs: 0 }

/** A target whose attempts are answered by the test; records of the attempts, in order. */
function opened(
  { concurrency = 2, ...options }: Omit<AttemptOptions, "attempt">,
  answer: (offset: number) => Attempt | Promise<Attempt>,
) {
  const attempts: number[] = []
  const target = new KeyedTarget({
    ...options,
    concurrency,
    async attempt({ offset }) {
      attempts.push(offset)
      return answer(offset)
    },
  })
  return { attempts, target }
}

test("records of a key are delivered one after the other, those of others and without one at once", async () => {
  const waiting = new Map<number, (attempt: Attempt) => void>()
  const { attempts, target } = opened(
    { concurrency: 4 },
    (offset) => new Promise((resolve) => waiting.set(offset, resolve)),
  )
  const keys = ["a", "a", "b", undefined, undefined, "c"]
  const sent = keys.map((key, offset) => target.send(recordOf(offset, key)))
  const answer = async (offset: number): Promise<void> => {
    waiting.get(offset)!(DELIVERED)
    await sent[offset]
  }
  expect(attempts).toEqual([0, 2, 3, 4])
  await answer(3)
  expect(attempts).toEqual([0, 2, 3, 4, 5])
  await answer(0)
  expect(attempts).toEqual([0, 2, 3, 4, 5, 1])
  for (const offset of [2, 4, 5, 1]) await answer(offset)
  expect(await Promise.all(sent)).toEqual(keys.map(() => "delivered"))
})

const patience = { refusals: Number.POSITIVE_INFINITY, parkAfterMs: 60_000, retries: 1 }

test.each([2, 4])(
  "at concurrency %d a record that is refused alone is refused for good at its second try",
  async (concurrency) => {
    const { attempts, target } = opened({ concurrency, patience }, (offset) =>
      offset === 1 ? REFUSED : DELIVERED,
    )
    const sent = await Promise.all([0, 1, 2, 3].map((offset) => target.send(recordOf(offset))))
    expect(sent).toEqual(["delivered", { reason: "422", status: 422 }, "delivered", "delivered"])
    expect(attempts.filter((it) => it === 1)).toHaveLength(2)
  },
)

test("a record without an answer that counts is refused after its retries, if others are accepted", async () => {
  const { attempts, target } = opened({ patience }, (offset) => (offset === 0 ? UNAVAILABLE : DELIVERED))
  const first = target.send(recordOf(0, "a"))
  // those of its key wait for it
  const second = target.send(recordOf(1, "a"))
  await target.send(recordOf(2, "b"))
  expect(await first).toEqual({ reason: "500", status: 500 })
  expect(await second).toBe("delivered")
  expect(attempts.at(-1)).toBe(1)
})

test("a record that fails alone is refused after its retries, even if the window has fewer other records than that", async () => {
  let failed = Promise.withResolvers<void>()
  const { attempts, target } = opened(
    {
      patience: { ...patience, retries: 10 },
      attempted: (_, { outcome }) => {
        if (outcome === "delivered") return
        failed.resolve()
        failed = Promise.withResolvers()
      },
    },
    (offset) => (offset === 0 ? UNAVAILABLE : DELIVERED),
  )
  const first = target.send(recordOf(0))
  let result: Sent | "failed" = "failed"
  for (let sent = 1; result === "failed";) {
    while (sent < target.window.records) await target.send(recordOf(sent++))
    result = await Promise.race([first, failed.promise.then(() => "failed" as const)])
  }
  expect(result).toEqual({ reason: "500", status: 500 })
  expect(attempts.filter((it) => it === 0).length).toBeGreaterThan(10)
})

test("while a target fails all, the first records wait, and are delivered in order when it is back", async () => {
  let isDown = true
  const delivered: number[] = []
  const rounds: number[] = []
  const { attempts, target } = opened(
    {
      concurrency: 2,
      patience,
      attempted: (record, _, retryInMs) => rounds.push(retryInMs ?? -record.offset),
    },
    (offset) => {
      if (attempts.length > 6) isDown = false
      if (!isDown) delivered.push(offset)
      return isDown ? (offset === 0 ? REFUSED : UNAVAILABLE) : DELIVERED
    },
  )
  const sent = Array.from({ length: 8 }, (_, offset) => target.send(recordOf(offset)))
  expect(await Promise.all(sent)).toEqual(sent.map((): Sent => "delivered"))
  expect(delivered).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  // two rounds of those that may be under way, and one that has not failed yet
  expect(attempts.slice(0, 6)).toEqual([0, 1, 2, 0, 1, 3])
  expect(Math.max(...rounds.slice(0, 3))).toBeLessThan(Math.min(...rounds.slice(3, 6)))
})

test("where all are refused, a record is refused for good after a time", async () => {
  const { target } = opened({ patience: { ...patience, parkAfterMs: 300 } }, () => REFUSED)
  const startedMs = performance.now()
  expect(await target.send(recordOf(0))).toEqual({ reason: "422", status: 422 })
  expect(performance.now() - startedMs).toBeGreaterThan(299)
})

test("what is stopped has no answer, and is not attempted again", async () => {
  const { attempts, target } = opened({}, () => UNAVAILABLE)
  const sent = [0, 1].map((offset) => target.send(recordOf(offset, "a")))
  await new Promise(setImmediate)
  target.stop()
  expect(await Promise.all([...sent, target.send(recordOf(2))])).toEqual(["stopped", "stopped", "stopped"])
  expect(attempts).toEqual([0])
})
