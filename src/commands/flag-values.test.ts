import { expect, setSystemTime, test } from "bun:test"
import { join } from "node:path"
import { parseOffset, parseTimeFlag } from "./flag-values.ts"

test.each([
  ["90s", "2026-11-22T13:58:30.000Z"],
  ["1h", "2026-11-22T13:00:00.000Z"],
  ["1.5d", "2026-11-21T02:00:00.000Z"],
  ["2026-11-22", new Date(2026, 10, 22).toISOString()],
  ["2026-11-22T14:00", new Date(2026, 10, 22, 14).toISOString()],
  ["yesterday", new Date(2026, 10, 21).toISOString()],
  ["Today", new Date(2026, 10, 22).toISOString()],
  ["yesterday 9:05", new Date(2026, 10, 21, 9, 5).toISOString()],
  ["todayT23:00", new Date(2026, 10, 22, 23).toISOString()],
  ["2026-11-22T14:00:07.5Z", "2026-11-22T14:00:07.500Z"],
  ["2026-11-22T14:00:00+05:30", "2026-11-22T08:30:00.000Z"],
])("%s is %s", (text, time) => {
  setSystemTime(new Date("2026-11-22T14:00:00Z"))
  try {
    expect(new Date(parseTimeFlag(text)).toISOString()).toBe(time)
  } finally {
    setSystemTime()
  }
})

test("a time of the day is the last one, by the local clock, also where the clocks change", () => {
  // in New York 2026-11-01 had 25 hours: clocks went from 2:00 EDT back to 1:00 EST; 2026-03-08 had 23
  const code = `import { setSystemTime } from "bun:test"
    const { parseTimeFlag } = await import(${JSON.stringify(join(import.meta.dir, "flag-values.ts"))})
    for (const [now, text] of ${JSON.stringify(OF_DAY.map(([now, text]) => [now, text]))}) {
      setSystemTime(new Date(now))
      console.log(new Date(parseTimeFlag(text)).toISOString())
    }`
  const { stdout } = Bun.spawnSync([process.execPath, "-e", code], {
    env: { ...process.env, TZ: "America/New_York" },
  })
  expect(stdout.toString().trim().split("\n")).toEqual(OF_DAY.map(([, , time]) => time))
})

const OF_DAY: readonly (readonly [now: string, text: string, time: string])[] = [
  ["2026-06-02T18:30:00Z", "14:30", "2026-06-02T18:30:00.000Z"],
  ["2026-06-02T18:30:00Z", "14:31", "2026-06-01T18:31:00.000Z"],
  ["2026-06-02T03:30:00Z", "yesterday", "2026-05-31T04:00:00.000Z"],
  ["2026-11-02T12:00:00Z", "yesterday", "2026-11-01T04:00:00.000Z"],
  ["2026-11-02T12:00:00Z", "08:00:30", "2026-11-01T13:00:30.000Z"],
  ["2026-11-01T12:00:00Z", "08:00", "2026-10-31T12:00:00.000Z"],
  ["2026-03-09T12:00:00Z", "yesterday 03:00", "2026-03-08T07:00:00.000Z"],
  ["2026-03-09T03:00:00Z", "today", "2026-03-08T05:00:00.000Z"],
]

test.each(["", "tomorrow", "1", "2026-13-01", "2026-11-22 14:00", "-1h", "24:00", "14", "yesterday 1h", " "])(
  "%p is no time",
  (text) => {
    expect(() => parseTimeFlag(text)).toThrow("Expected a duration such as 90s")
  },
)

test("offsets are of every partition, or of one", () => {
  expect(parseOffset("3:42", parseOffset("7"))).toEqual([
    { partition: undefined, offset: 7 },
    { partition: 3, offset: 42 },
  ])
  for (const text of ["", "-1", "1:", ":1", "a", "1:2:3"])
    expect(() => parseOffset(text)).toThrow("Expected an offset")
})
