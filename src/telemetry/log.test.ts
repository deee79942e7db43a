import { expect, test } from "bun:test"
import { openLog, type LOG_FORMATS, type OpenLog } from "./log.ts"

const HOSTILE = "\u001b[2J\u009b31m\u202e\u007f\rover\nforged"

/** What is written to a log of this format. */
function logged(
  format: (typeof LOG_FORMATS)[number],
  write: (log: OpenLog["log"], setLevel: OpenLog["setLevel"]) => void,
): string {
  let text = ""
  const { log, setLevel } = openLog({ level: "info", format, onLine: (line) => (text += line) })
  write(log, setLevel)
  return text
}

const hostile = (log: OpenLog["log"]): void => {
  log.warn({ path: HOSTILE, list: [HOSTILE] }, HOSTILE)
  log.error({ err: new Error(HOSTILE) }, "failed")
}

test.each(["json", "pretty"] as const)(
  "what senders wrote drives no terminal from a log of format %s",
  (format) => {
    const text = logged(format, hostile)
    expect(text).toContain("u001b[2J")
    // oxlint-disable-next-line no-control-regex
    expect(text.match(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E]/g)).toBeNull()
  },
)

test("in a log of format pretty, a message and its fields are one line, and a stack has its own", () => {
  const lines = logged("pretty", hostile).split("\n")
  expect(lines[0]).toContain('\\u000dover\\u000aforged {"path":"')
  expect(lines[1]).toContain("failed")
  expect(lines.some((line) => /^ +at /.test(line))).toBe(true)
})

test("a log of format json has the same values", () => {
  const [first] = logged("json", hostile).split("\n")
  expect(JSON.parse(first!)).toMatchObject({ msg: HOSTILE, path: HOSTILE, list: [HOSTILE] })
})

test("in a log of format pretty a refused request is a sentence, whatever its path", () => {
  const line = {
    pipeline: "payments",
    reason: "unverified_no_match",
    method: "POST",
    path: HOSTILE,
    remote_address: "192.0.2.7",
    request_id: "4f0k2m9x-1c",
    bytes: 312,
    status: 401,
    detail: "no secret gives this signature",
  }
  const text = Bun.stripANSI(logged("pretty", (log) => log.info(line, "event rejected")))
  expect(text.trimEnd().split("\n")).toHaveLength(1)
  expect(text).toContain("event rejected: 401 payments unverified_no_match, POST \\u001b[2J")
  expect(text).toContain('from 192.0.2.7, request 4f0k2m9x-1c: no secret gives this signature {"bytes":312}')
})

test("a level that is set applies to the log, its children and theirs, and to those made later", () => {
  const levels: string[] = []
  const text = logged("json", (log, setLevel) => {
    const child = log.child({ pipeline: "a" })
    const grandchild = child.child({ component: "b" })
    const all = () => [log, child, grandchild, child.child({ later: 1 }), log.child({ later: 2 })]
    for (const level of ["debug", "warn", "silent", "info"] as const) {
      setLevel(level)
      const states = all().map((it) => [it.level, it.isLevelEnabled("debug"), it.isLevelEnabled("warn")])
      levels.push(JSON.stringify(states))
      for (const it of all()) it.debug("said")
    }
  })
  const ofAll = (level: string, debug: boolean, warn: boolean): string =>
    JSON.stringify(Array.from({ length: 5 }, () => [level, debug, warn]))
  expect(levels).toEqual([
    ofAll("debug", true, true),
    ofAll("warn", false, true),
    ofAll("silent", false, false),
    ofAll("info", false, true),
  ])
  expect(text.match(/"said"/g)).toHaveLength(5)
})

test("whoever takes the lines gets JSON, and one that throws costs its line alone", () => {
  const [lines, dropped]: [string[], number[]] = [[], []]
  const onLine = (line: string): void => {
    if (line.includes("second")) throw new Error("the taker's own")
    lines.push(line)
  }
  const { log } = openLog({ level: "info", format: "auto", onLine, onDropped: () => dropped.push(1) })
  for (const message of ["first", "second", "third"]) log.info(message)
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(["first", "third"])
  expect(lines.every((line) => line.endsWith("}\n"))).toBeTrue()
  expect(dropped).toEqual([1])
})
