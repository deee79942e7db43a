import { expect, test } from "bun:test"
import { PLENTY, started } from "../../../test/support/kafka-topic.ts"
import { Accumulator, MAX_RECORDS, PendingQueue, PendingRecord } from "./accumulator.ts"

const ONE = { topic: "t", key: undefined, value: Buffer.from("{}") }

/** The deadlines of the batches that are formed of a queue's records. */
function batches(deadlines: readonly number[]): number[][] {
  const accumulator = new Accumulator("t", started().partition(0).topic.context)
  const queue = new PendingQueue()
  for (const deadlineMs of deadlines) queue.push(new PendingRecord(ONE, deadlineMs, () => {}))
  const all: number[][] = []
  while (queue.length > 0)
    all.push(accumulator.take(queue, false, MAX_RECORDS, PLENTY).map(({ deadlineMs }) => deadlineMs))
  return all
}

test.each<[string, number[][]]>([
  ["close together share a batch", [[1000, 1500, 1200]]],
  ["too late start another batch", [[1000, 1500], [1501]]],
  ["too early start another batch", [[1501, 1001], [1000]]],
  ["too far from any before start another batch", [[1300, 1000, 1500], [1501]]],
  ["share no batch with records without one", [[Infinity, Infinity], [1000], [Infinity]]],
])("records with deadlines %s", (_, expected) => {
  expect(batches(expected.flat())).toEqual(expected)
})

test.each([
  ["records with a key", true],
  ["records without a key", false],
])("%s do not wait while others without a deadline keep coming", (_, isKeyed) => {
  const accumulator = new Accumulator("t", started().partition(0).topic.context)
  const queue = new PendingQueue()
  const [waiting, others] = isKeyed ? [queue, accumulator.unkeyed] : [accumulator.unkeyed, queue]
  waiting.push(new PendingRecord(ONE, 1000, () => {}))
  for (let taken = 0; taken < 2; taken++) {
    others.push(new PendingRecord(ONE, Infinity, () => {}))
    accumulator.take(queue, true, MAX_RECORDS, PLENTY)
  }
  expect(waiting.length).toBe(0)
})
