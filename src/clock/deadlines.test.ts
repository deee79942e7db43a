import { expect, test } from "bun:test"
import { DeadlineQueue, Deadlines } from "./deadlines.ts"

test("waits end in their order, each after its time, but those that were ended before", async () => {
  const deadlines = new Deadlines(30)
  const order: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const waits = ["a", "b", "c", "d"].map((name) => deadlines.start(() => order.push(name)))
  deadlines.start(() => resolve())
  deadlines.end(waits[1]!)
  deadlines.end(waits[0]!)
  deadlines.end(waits[3]!)
  deadlines.end(waits[3]!)
  await promise
  expect(order).toEqual(["c"])
})

test("a wait that begins after all before it are over has its whole time", async () => {
  const deadlines = new Deadlines(20)
  for (let round = 0; round < 3; round++) {
    const startedMs = performance.now()
    await new Promise<void>((resolve) => void deadlines.start(resolve))
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(19.9)
  }
})

test("a wait that begins while a timer runs for one that has ended is neither early nor forgotten", async () => {
  const deadlines = new Deadlines(40)
  deadlines.end(deadlines.start(() => {}))
  await Bun.sleep(20)
  const startedMs = performance.now()
  await new Promise<void>((resolve) => void deadlines.start(resolve))
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(39.9)
})

test("an item past its deadline leaves the queue, is reported once, and the others keep their order", () => {
  const late: string[] = []
  const queue = new DeadlineQueue<{ name: string; deadlineMs: number }>(({ name }) => late.push(name))
  for (const [name, deadlineMs] of [
    ["a", 30],
    ["b", 10],
    ["c", 20],
    ["d", 40],
  ] as const)
    queue.push({ name, deadlineMs })
  queue.expire(9)
  expect([late, queue.length, queue.earliestMs]).toEqual([[], 4, 10])
  queue.expire(20)
  expect([late, queue.items.map(({ name }) => name), queue.earliestMs]).toEqual([["b", "c"], ["a", "d"], 30])
  queue.expire(30)
  expect([late, queue.take().map(({ name }) => name)]).toEqual([["b", "c", "a"], ["d"]])
  queue.expire(100)
  expect([late, queue.length]).toEqual([["b", "c", "a"], 0])
})
