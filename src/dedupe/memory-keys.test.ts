import { afterEach, expect, setSystemTime, test } from "bun:test"
import type { Logger } from "../telemetry/log.ts"
import { MemoryKeys } from "./memory-keys.ts"
import { TestMachine } from "../../test/support/kept-clock.ts"

afterEach(() => setSystemTime())

function open(options: { readonly most: number; readonly forgets?: boolean }) {
  const warnings: object[] = []
  const log = { warn: (fields: object) => warnings.push(fields) } as unknown as Logger
  const machine = new TestMachine()
  const keys = new MemoryKeys({ log, machine, ...options })
  const add = (key: string, windowMs = 600): true => keys.add(key, windowMs)
  return { warnings, keys, add, machine }
}

test("a key that has expired makes room for another one, and the log says nothing", () => {
  const { keys, add, warnings, machine } = open({ most: 2 })
  add("a")
  add("b")
  machine.ms += 601
  for (const key of ["c", "d"]) add(key)
  expect(["a", "b", "c", "d"].map((key) => keys.claim(key))).toEqual([
    "first",
    "first",
    "duplicate",
    "duplicate",
  ])
  expect(warnings).toEqual([])
})

test("the oldest key, by its last addition, is forgotten early when the memory is full, which is logged", () => {
  const { keys, add, warnings } = open({ most: 2 })
  for (const key of ["a", "b", "a"]) add(key)
  expect(warnings).toEqual([])
  add("c")
  expect(["a", "b", "c"].map((key) => keys.claim(key))).toEqual(["duplicate", "first", "duplicate"])
  expect(warnings).toEqual([{ most: 2 }])
})

test("keys whose repetition does no harm are forgotten early without a word in the log", () => {
  const { keys, add, warnings } = open({ most: 1, forgets: true })
  add("a")
  add("b")
  expect([keys.claim("a"), warnings]).toEqual(["first", []])
})

test("a key is forgotten when its window is over, whichever came before it, and whatever the time of day is", () => {
  const { keys, add, machine, warnings } = open({ most: 2 })
  add("long", 10_000)
  setSystemTime(Date.now() + 365 * 86_400_000)
  add("short")
  setSystemTime()
  machine.ms += 601
  add("new")
  expect(["long", "short", "new"].map((key) => keys.claim(key))).toEqual(["duplicate", "first", "duplicate"])
  expect(warnings).toEqual([])
})
