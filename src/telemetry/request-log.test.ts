import { expect, test } from "bun:test"
import { Writable } from "node:stream"
import { pino } from "pino"
import { RequestLog } from "./request-log.ts"

function open(minuteMs?: number): { log: RequestLog; lines: { [key: string]: unknown }[] } {
  const lines: { [key: string]: unknown }[] = []
  const stream = new Writable({
    write(line, _encoding, done) {
      lines.push(JSON.parse(String(line)) as { [key: string]: unknown })
      done()
    },
  })
  return { log: new RequestLog(pino({ base: null, timestamp: false }, stream), { minuteMs }), lines }
}

test("a flood of one kind is ten lines and a count, and hides no other kind", () => {
  const { log, lines } = open()
  for (let n = 0; n < 1000; n++) {
    log.write(
      "info",
      { pipeline: "a", reason: "rate_limited", status: 429, path: `/${n}` },
      "request refused",
    )
  }
  log.write("warn", { pipeline: "a", reason: "unavailable", status: 503 }, "event rejected")
  log.write("info", { pipeline: "b", reason: "rate_limited", status: 429 }, "request refused")
  expect(lines.map(({ pipeline, path }) => [pipeline, path])).toEqual([
    ...Array.from({ length: 10 }, (_, n) => ["a", `/${n}`]),
    ["a", undefined],
    ["b", undefined],
  ])
  log.flush()
  expect(lines.slice(12)).toEqual([
    {
      level: 30,
      pipeline: "a",
      status: 429,
      reason: "rate_limited",
      more: 990,
      msg: "request refused: further lines suppressed",
    },
  ])
})

test("a new second has ten lines of its own", () => {
  const { log, lines } = open()
  for (let second = 0; second < 3; second++) {
    for (let n = 0; n < 11; n++) log.write("info", { pipeline: undefined, reason: "unknown_path" }, "refused")
    log.flush()
  }
  expect(lines.map(({ more }) => more ?? 0)).toEqual(
    Array.from({ length: 33 }, (_, n) => (n % 11 === 10 ? 1 : 0)),
  )
})

test("of what is warned of, a pipeline has a warning a minute: the first line, then the number of the others", async () => {
  const { log, lines } = open(50)
  const refuse = (pipeline: string, reason: string): void =>
    log.warn({ pipeline, reason, status: 401 }, "event rejected")
  const warnings = (): unknown[] => lines.filter(({ level }) => level === 40)
  const first = { pipeline: "a", reason: "unverified_no_match" }
  for (let n = 0; n < 3; n++) refuse("a", "unverified_no_match")
  refuse("a", "unverified_stale")
  refuse("b", "unverified_stale")
  expect(lines).toMatchObject([
    { level: 40, ...first },
    { level: 30, ...first },
    { level: 30, ...first },
    { level: 30, pipeline: "a", reason: "unverified_stale" },
    { level: 40, pipeline: "b", reason: "unverified_stale" },
  ])
  while (warnings().length < 3) await new Promise(setImmediate)
  const msg = "event rejected: more within a minute"
  const reasons = { unverified_no_match: 2, unverified_stale: 1 }
  expect(warnings()[2]).toEqual({ level: 40, pipeline: "a", status: 401, more: 3, reasons, msg })
  // the next minute has begun
  refuse("a", "unverified_stale")
  expect(lines.at(-1)).toMatchObject({ level: 30 })
  log.flush()
  expect(lines.at(-1)).toMatchObject({ level: 40, more: 1, reasons: { unverified_stale: 1 }, msg })
  refuse("a", "unverified_stale")
  expect(lines.at(-1)).toMatchObject({ level: 40, reason: "unverified_stale" })
  log.flush()
})

test("the second ends by itself", async () => {
  const { log, lines } = open()
  for (let n = 0; n < 11; n++) log.write("info", { pipeline: undefined, reason: "unknown_path" }, "refused")
  while (lines.length < 11) await new Promise(setImmediate)
  expect(lines[10]).toMatchObject({ more: 1 })
})
