import { expect, test } from "bun:test"
import { defaultInFlightBytes, InFlightBudget } from "./budget.ts"

test("requests that are in flight are answered when all that entered before have left, whoever enters after", async () => {
  const budget = new InFlightBudget(100)
  const ended: string[] = []
  const first = budget.enter()
  const one = budget.answered().then(() => ended.push("one"))
  const second = budget.enter()
  const two = budget.answered().then(() => ended.push("two"))
  const third = budget.enter()
  second.release()
  await new Promise(setImmediate)
  expect(ended).toEqual([])
  first.release()
  await Promise.all([one, two])
  expect(ended).toEqual(["one", "two"])
  third.release()
  expect(budget.requests).toBe(0)
})

test("a smaller budget lets nothing in until what is held fits into it", () => {
  const budget = new InFlightBudget(100)
  const reservation = budget.enter()
  expect(reservation.reserve(80)).toBe(true)
  budget.maxBytes = 50
  const other = budget.enter()
  expect(other.reserve(1)).toBe(false)
  reservation.release()
  expect(other.reserve(50)).toBe(true)
})

test("what is made of a body that has arrived is held until its request is answered", () => {
  const budget = new InFlightBudget(100)
  const reservation = budget.enter()
  reservation.reserve(30)
  reservation.arrived()
  expect([reservation.grow(71), budget.bytes, budget.isCrowded]).toEqual([false, 30, false])
  expect([reservation.grow(30), budget.bytes, budget.isCrowded]).toEqual([true, 60, true])
  reservation.release()
  expect([reservation.grow(1), budget.bytes, budget.isCrowded]).toEqual([false, 0, false])
})

const MIB = 1024 * 1024

/** Releases that many bodies while others are held, and returns how often garbage was collected. */
async function collections(held: number, left: { count: number; bytes: number }): Promise<number> {
  let collected = 0
  const budget = new InFlightBudget(64 * MIB, () => collected++)
  budget.enter().reserve(held)
  for (let n = 0; n < left.count; n++) {
    const reservation = budget.enter()
    expect(reservation.reserve(left.bytes)).toBe(true)
    reservation.release()
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
  const budget = new InFlightBudget(100)
  const announced = budget.enter()
  announced.reserve(40)
  const arrived = budget.enter()
  arrived.reserve(51)
  expect(budget.isCrowded).toBe(false)
  arrived.arrived()
  expect(budget.isCrowded).toBe(true)
  arrived.release()
  expect(budget.isCrowded).toBe(false)
})

test.each([
  ["without a limit it is 64 MiB", 32_768, 64],
  ["320 MiB allow all of it", 320, 64],
  ["128 MiB allow a quarter of it", 128, 16],
  ["little memory leaves it some", 64, 8],
  ["where the memory is unknown it is 64 MiB", 0, 64],
])("the default budget follows the memory limit: %s", (_, memoryMiB, budgetMiB) => {
  expect(defaultInFlightBytes(memoryMiB * MIB)).toBe(budgetMiB * MIB)
})
