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

const MIB = 1024 * 1024

/** Lets so many bodies go while others are held, and tells how often garbage was collected. */
async function collections(held: number, left: { count: number; bytes: number }): Promise<number> {
  let collected = 0
  const inFlight = new InFlight(64 * MIB, () => collected++)
  inFlight.enter().hold(held)
  for (let n = 0; n < left.count; n++) {
    const share = inFlight.enter()
    expect(share.hold(left.bytes)).toBe(true)
    share.release()
  }
  await new Promise(setImmediate)
  return collected
}

test("garbage of large bodies is collected each time that as much has come and gone as is not held, or half the budget", async () => {
  expect(await collections(40 * MIB, { count: 64, bytes: MIB })).toBe(5)
  expect(await collections(0, { count: 64, bytes: MIB })).toBe(2)
  expect(await collections(0, { count: 30, bytes: MIB })).toBe(0)
})

test("garbage of small bodies is collected while much is held alone", async () => {
  expect(await collections(0, { count: 100_000, bytes: 1024 })).toBe(0)
  expect(await collections(6 * MIB, { count: 100_000, bytes: 1024 })).toBe(0)
  expect(await collections(40 * MIB, { count: 100_000, bytes: 1024 })).toBe(7)
})

test("bodies that have arrived crowd it when they hold more than half, announced ones do not", () => {
  const inFlight = new InFlight(100)
  const announced = inFlight.enter()
  announced.hold(40)
  const arrived = inFlight.enter()
  arrived.hold(51)
  expect(inFlight.isCrowded).toBe(false)
  arrived.arrive()
  expect(inFlight.isCrowded).toBe(true)
  arrived.release()
  expect(inFlight.isCrowded).toBe(false)
})
