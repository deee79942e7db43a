import { expect, test } from "bun:test"
import { Outages } from "./outages.ts"

test("an outage lasts from the first look that finds it to the first that does not", () => {
  const outages = new Outages()
  const see = (kafka: string | undefined, atMs: number): (number | undefined)[] => {
    outages.see([...new Map([["kafka", kafka]]), ["log", undefined]], atMs)
    return [outages.since("kafka"), outages.since("log")]
  }
  expect(see(undefined, 1000)).toEqual([undefined, undefined])
  expect(see("no broker answers", 2000)).toEqual([2000, undefined])
  expect(see("another reason", 3000)).toEqual([2000, undefined])
  expect(see(undefined, 4000)).toEqual([undefined, undefined])
  expect(see("no broker answers", 5000)).toEqual([5000, undefined])
  // a reload has removed it
  outages.see([], 6000)
  expect(outages.since("kafka")).toBeUndefined()
})
