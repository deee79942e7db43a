import { expect, test } from "bun:test"
import { pino } from "pino"
import { steadyMs } from "../clock/clock.ts"
import { DedupeKeys } from "./dedupe-keys.ts"
import { MemoryKeys } from "./memory-keys.ts"
import { HANG_MS } from "../../test/support/hang.ts"

const log = pino({ level: "silent" })
const soon = (): number => steadyMs() + HANG_MS
const open = (options: { most?: number } = {}) => ({
  keys: new DedupeKeys(new MemoryKeys({ log, ...options })),
})

/** Begins without waiting: a promise says that the key has company. */
const begin = (keys: DedupeKeys, key: string, deadlineMs = soon()) => keys.begin(key, deadlineMs)

test("those who come meanwhile wait, and are duplicates when the first one was published", async () => {
  const { keys } = open()
  begin(keys, "a")
  const waiting = Promise.all([begin(keys, "a"), begin(keys, "a")])
  expect(await Promise.race([waiting, Bun.sleep(20).then(() => "still waiting")])).toBe("still waiting")
  expect(keys.waiting()).toBe(2)
  keys.end("a", 1000, soon())
  expect(await waiting).toEqual(["duplicate", "duplicate"])
  expect(keys.waiting()).toBe(0)
})

test("when the first one fails the next one takes its turn, in the order they came, and the rest wait for it", async () => {
  const { keys } = open()
  begin(keys, "a")
  const order: string[] = []
  const waiting = ["second", "third", "fourth"].map(async (name) => {
    const claim = await begin(keys, "a")
    order.push(`${name} ${claim}`)
    if (name === "second") keys.end("a", undefined, soon())
    if (name === "third") keys.end("a", 1000, soon())
  })
  keys.end("a", undefined, soon())
  await Promise.all(waiting)
  expect(order).toEqual(["second first", "third first", "fourth duplicate"])
})

test("nobody waits beyond the own deadline, and who left does not get the turn", async () => {
  const { keys } = open()
  begin(keys, "a")
  const left = begin(keys, "a", steadyMs() + 20)
  const stays = begin(keys, "a")
  expect(await left).toBe("late")
  keys.end("a", undefined, soon())
  expect(await stays).toBe("first")
})

test("a turn that comes at the deadline is passed on", async () => {
  const { keys } = open()
  begin(keys, "a")
  const deadlineMs = steadyMs() + 20
  const late = begin(keys, "a", deadlineMs)
  const stays = begin(keys, "a")
  // holds the event loop, so that the turn comes before the timer
  while (steadyMs() < deadlineMs);
  keys.end("a", undefined, soon())
  expect(await Promise.all([late, stays])).toEqual(["late", "first"])
})
