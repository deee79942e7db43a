import { expect, test } from "bun:test"
import { pino } from "pino"
import { steadyMs } from "../steady-clock.ts"
import { Marks } from "./marks.ts"
import { openMemoryMarks } from "./memory-marks.ts"

const log = pino({ level: "silent" })
const soon = (): number => steadyMs() + 5000
const open = (options: { most?: number } = {}) => {
  const clock = { ms: 1_000_000 }
  return { clock, marks: new Marks(openMemoryMarks({ log, now: () => clock.ms, ...options })) }
}

/** Begins without waiting: a promise says that the key has company. */
const begin = (marks: Marks, key: string, deadlineMs = soon()) => marks.begin(key, deadlineMs)

test("an event of a key that was published is a duplicate until the mark's time has passed", () => {
  const { marks, clock } = open()
  expect(begin(marks, "a")).toBe("first")
  expect(marks.end("a", clock.ms + 1000, soon())).toBe(true)
  clock.ms += 1000
  expect([begin(marks, "a"), begin(marks, "b")]).toEqual(["duplicate", "first"])
  clock.ms += 1
  expect(begin(marks, "a")).toBe("first")
})

test("an event that was not published leaves no mark", () => {
  const { marks } = open()
  expect(begin(marks, "a")).toBe("first")
  marks.end("a", undefined, soon())
  expect(begin(marks, "a")).toBe("first")
})

test("those who come meanwhile wait, and are duplicates when the first one was published", async () => {
  const { marks, clock } = open()
  begin(marks, "a")
  const waiting = Promise.all([begin(marks, "a"), begin(marks, "a")])
  expect(await Promise.race([waiting, Bun.sleep(20).then(() => "still waiting")])).toBe("still waiting")
  expect(marks.waiting()).toBe(2)
  marks.end("a", clock.ms + 1000, soon())
  expect(await waiting).toEqual(["duplicate", "duplicate"])
  expect(marks.waiting()).toBe(0)
})

test("when the first one fails the next one takes its turn, in the order they came, and the rest wait for it", async () => {
  const { marks, clock } = open()
  begin(marks, "a")
  const order: string[] = []
  const waiting = ["second", "third", "fourth"].map(async (name) => {
    const claim = await begin(marks, "a")
    order.push(`${name} ${claim}`)
    if (name === "second") marks.end("a", undefined, soon())
    if (name === "third") marks.end("a", clock.ms + 1000, soon())
  })
  marks.end("a", undefined, soon())
  await Promise.all(waiting)
  expect(order).toEqual(["second first", "third first", "fourth duplicate"])
})

test("nobody waits beyond the own deadline, and who left does not get the turn", async () => {
  const { marks } = open()
  begin(marks, "a")
  const left = begin(marks, "a", steadyMs() + 20)
  const stays = begin(marks, "a")
  expect(await left).toBe("late")
  marks.end("a", undefined, soon())
  expect(await stays).toBe("first")
})

test("a turn that comes at the deadline is passed on", async () => {
  const { marks } = open()
  begin(marks, "a")
  const deadlineMs = steadyMs() + 20
  const late = begin(marks, "a", deadlineMs)
  const stays = begin(marks, "a")
  // holds the event loop, so that the turn comes before the timer
  while (steadyMs() < deadlineMs);
  marks.end("a", undefined, soon())
  expect(await Promise.all([late, stays])).toEqual(["late", "first"])
})

test("keys have nothing to do with each other", () => {
  const { marks } = open()
  expect(["a", "b", "c"].map((key) => begin(marks, key))).toEqual(["first", "first", "first"])
})

test("beyond its bound the memory forgets the oldest, which a duplicate then passes", () => {
  const { marks, clock } = open({ most: 2 })
  for (const key of ["a", "b", "c"]) {
    begin(marks, key)
    marks.end(key, clock.ms + 1000, soon())
  }
  expect([begin(marks, "a"), begin(marks, "b"), begin(marks, "c")]).toEqual([
    "first",
    "duplicate",
    "duplicate",
  ])
})
