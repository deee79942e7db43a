import { expect, test } from "bun:test"
import { InFlight } from "./in-flight.ts"

test("a turn is over when all that entered before it have left, whoever enters after", async () => {
  const inFlight = new InFlight(100)
  const ended: string[] = []
  const first = inFlight.enter()
  const one = inFlight.turn().then(() => ended.push("one"))
  const second = inFlight.enter()
  const two = inFlight.turn().then(() => ended.push("two"))
  const third = inFlight.enter()
  second.release()
  await new Promise(setImmediate)
  expect(ended).toEqual([])
  first.release()
  await Promise.all([one, two])
  expect(ended).toEqual(["one", "two"])
  third.release()
  expect(inFlight.requests).toBe(0)
})

test("what enters on behalf of a request that is there is of that request's time", async () => {
  const inFlight = new InFlight(100)
  const judged = inFlight.enter()
  let isOver = false
  const over = inFlight.turn().then(() => (isOver = true))
  const taken = inFlight.enter(judged)
  judged.release()
  await new Promise(setImmediate)
  expect(isOver).toBe(false)
  taken.release()
  await over
})

test("a smaller budget lets nothing in until what is held fits into it", () => {
  const inFlight = new InFlight(100)
  const share = inFlight.enter()
  expect(share.hold(80)).toBe(true)
  inFlight.maxBytes = 50
  const other = inFlight.enter()
  expect(other.hold(1)).toBe(false)
  share.release()
  expect(other.hold(50)).toBe(true)
})
