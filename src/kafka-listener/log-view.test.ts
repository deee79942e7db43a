import { beforeEach, expect, test } from "bun:test"
import { LogView, type PartitionOfTopic } from "./log-view.ts"
import { SharedCounters } from "./shared-counters.ts"
import { FakeLog } from "../../test/support/fake-listener-log.ts"

const counters = new SharedCounters()
const log = new FakeLog()
const view = new LogView(() => log, counters)
let of: PartitionOfTopic
let end = 0

function publish(count: number): void {
  commit(count)
  counters.changed()
}

/** As the listener's thread sees it before the event loop has the answer. */
function commit(count: number): void {
  for (let n = 0; n < count; n++) log.append("t", Buffer.from(`{"n":${end++}}`))
}

beforeEach(() => {
  publish(10)
  view.open()
  of = { topic: view.topic("t")!, partition: 0 }
})

const read = (offset: number, maxBytes = 1_000_000) => view.batch(of, offset, maxBytes)!

test("consumers at the end of a partition share a batch, those too that ask for its second half less", () => {
  const batch = read(end - 10)
  expect(batch).toMatchObject({ firstOffset: end - 10, endOffset: end })
  expect(read(end - 10)).toBe(batch)
  expect(read(end - 6)).toBe(batch)
  // it would get more records that it has than others
  expect(read(end - 2)).toMatchObject({ firstOffset: end - 2, endOffset: end })
})

test("a batch that others have read keeps nobody from what came since", () => {
  const batch = read(end - 10)
  publish(1)
  expect(view.offsets(of)).toEqual({ first: 0, end })
  expect(read(batch.firstOffset)).toMatchObject({ firstOffset: batch.firstOffset, endOffset: end })
})

test("the end of a partition is never before what was read from it", () => {
  expect(view.offsets(of)).toEqual({ first: 0, end })
  commit(1)
  expect(read(end - 10)).toMatchObject({ endOffset: end })
  expect(view.offsets(of)).toEqual({ first: 0, end })
})

test("a batch that is larger than a consumer asks for is not the one it gets", () => {
  const batch = read(end - 10)
  expect(read(end - 10, batch.bytes.length)).toBe(batch)
  expect(read(end - 10, batch.bytes.length - 1).endOffset).toBeLessThan(end)
})

test("what a consumer asks for next is read while it is busy, for one", async () => {
  const [from, endThen] = [end - 10, end]
  view.readAhead(of, from, 1_000_000)
  await new Promise((resolve) => setImmediate(resolve))
  publish(1)
  expect(read(from)).toMatchObject({ firstOffset: from, endOffset: endThen })
  expect(read(from)).toMatchObject({ firstOffset: from, endOffset: end })
})

test("what was read ahead of a file that was closed is forgotten", async () => {
  view.readAhead(of, end - 10, 1_000_000)
  await new Promise((resolve) => setImmediate(resolve))
  view.readAhead(of, end - 5, 1_000_000)
  view.close()
  await new Promise((resolve) => setImmediate(resolve))
  view.open()
  publish(1)
  expect(read(end - 11).endOffset).toBe(end)
  expect(read(end - 6).endOffset).toBe(end)
})

test("batches from before the file was closed are forgotten", () => {
  const batch = read(end - 10)
  view.close()
  view.open()
  expect(read(end - 10)).not.toBe(batch)
  expect(read(end - 10)).toEqual(batch)
})
