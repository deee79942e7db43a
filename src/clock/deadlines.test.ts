import { expect, test } from "bun:test"
import { Deadlines } from "./deadlines.ts"

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
