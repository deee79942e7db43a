import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test"
import type { Logger } from "../telemetry/log.ts"
import { MemoryKeys } from "./memory-keys.ts"

beforeEach(() => setSystemTime(1_800_000_000_000))
afterEach(() => setSystemTime())

function open(options: { readonly most: number; readonly forgets?: boolean }) {
  const warnings: object[] = []
  const log = { warn: (fields: object) => warnings.push(fields) } as unknown as Logger
  const keys = new MemoryKeys({ log, ...options })
  const add = (key: string): true => keys.add(key, Date.now() + 600)
  return { warnings, keys, add }
}

test("a key that has expired makes room for another one, and the log says nothing", () => {
  const { keys, add, warnings } = open({ most: 2 })
  add("a")
  add("b")
  setSystemTime(Date.now() + 601)
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
