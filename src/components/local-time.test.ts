import { expect, test } from "bun:test"
import { fileURLToPath } from "node:url"

const module = JSON.stringify(fileURLToPath(new URL("local-time.ts", import.meta.url)))

/** What an expression is in a process whose `TZ` has that value. */
function evaluated(zone: string, expression: string): unknown {
  const script = `import { checkTimeZone, toLocalTime } from ${module}
    console.log(JSON.stringify(${expression}))`
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", script], {
    env: { ...process.env, TZ: zone },
  })
  expect(stderr.toString()).toBe("")
  expect(exitCode).toBe(0)
  return JSON.parse(stdout.toString())
}

/** Moments given as ISO times in UTC, in a time zone. */
const inZone = (zone: string, moments: readonly string[]): unknown =>
  evaluated(zone, `${JSON.stringify(moments)}.map((moment) => toLocalTime(Date.parse(moment)))`)

test.each([
  [
    "Europe/Berlin",
    [
      ["2026-11-20T13:03:07.123Z", "2026-11-20T14:03:07.123+01:00"],
      // The clock goes forward at 01:00 UTC on 29 March 2026 and back at 01:00 UTC on 25 October.
      ["2026-03-29T00:59:59.999Z", "2026-03-29T01:59:59.999+01:00"],
      ["2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00.000+02:00"],
      ["2026-10-25T00:30:00.000Z", "2026-10-25T02:30:00.000+02:00"],
      ["2026-10-25T00:59:59.999Z", "2026-10-25T02:59:59.999+02:00"],
      ["2026-10-25T01:00:00.000Z", "2026-10-25T02:00:00.000+01:00"],
      ["2026-12-31T23:00:00.000Z", "2027-01-01T00:00:00.000+01:00"],
    ],
  ],
  [
    "America/St_Johns",
    [
      ["2026-11-20T13:03:07.120Z", "2026-11-20T09:33:07.120-03:30"],
      ["2026-03-08T05:29:59.999Z", "2026-03-08T01:59:59.999-03:30"],
      ["2026-03-08T05:30:00.000Z", "2026-03-08T03:00:00.000-02:30"],
      ["2026-11-01T04:29:59.999Z", "2026-11-01T01:59:59.999-02:30"],
      ["2026-11-01T04:30:00.000Z", "2026-11-01T01:00:00.000-03:30"],
    ],
  ],
  ["Asia/Kathmandu", [["2026-02-28T18:15:00.007Z", "2026-03-01T00:00:00.007+05:45"]]],
  ["Pacific/Marquesas", [["2026-01-01T00:00:00.000Z", "2025-12-31T14:30:00.000-09:30"]]],
  ["UTC", [["2026-11-20T14:03:07.123Z", "2026-11-20T14:03:07.123+00:00"]]],
] as const)("local time in %s", (zone, moments) => {
  expect(
    inZone(
      zone,
      moments.map(([moment]) => moment),
    ),
  ).toEqual(moments.map(([, local]) => local))
})

const WARNINGS = "(() => { const all = []; checkTimeZone((text) => all.push(text)); return all })()"

test.each([
  "EST5EDT,M3.2.0,M11.1.0",
  "<+0545>-5:45",
  "CET-1CEST",
  "UTC+3",
  "+03:00",
  "Europe/Berln",
  " Europe/Berlin",
  "/usr/share/zoneinfo/Europe/Berlin",
  ":/usr/share/zoneinfo/Europe/Berlin",
  "/usr/share/zoneinfo",
])("TZ = %p, for which local time is in UTC, is warned of", (zone) => {
  expect(evaluated(zone, WARNINGS)).toEqual([expect.stringContaining(`TZ is ${JSON.stringify(zone)}, which`)])
})

test.each([
  "Europe/Berlin",
  ":Europe/Berlin",
  "europe/berlin",
  "EST5EDT",
  "EST",
  "US/Pacific",
  "Etc/GMT-3",
  "UTC",
  "Etc/UTC",
  "Zulu",
  "GMT0",
  "GMT",
  "UTC0",
  "<-00>0",
  "UTC0:00",
  "/usr/share/zoneinfo/Etc/UTC",
  "",
  ":",
])("TZ = %p, for which local time is what it asks for, is not warned of", (zone) => {
  expect(evaluated(zone, WARNINGS)).toEqual([])
})
