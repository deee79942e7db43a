import { expect, test } from "bun:test"
import { join } from "node:path"
import { LOG_FORMATS } from "./log.ts"

const HOSTILE = "\u001b[2J\u009b31m\u202e\u007f\rover\nforged"

/** What a process of its own, with a log of this format, writes to standard output. */
function logged(format: (typeof LOG_FORMATS)[number]): string {
  const script = `
    import { openLog } from ${JSON.stringify(join(import.meta.dir, "log.ts"))}
    const { log } = openLog({ level: "info", format: ${JSON.stringify(format)} })
    log.warn({ path: ${JSON.stringify(HOSTILE)}, list: [${JSON.stringify(HOSTILE)}] }, ${JSON.stringify(HOSTILE)})
    log.error({ err: new Error(${JSON.stringify(HOSTILE)}) }, "failed")
  `
  const run = Bun.spawnSync([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  return run.stdout.toString()
}

test.each(["json", "pretty"] as const)(
  "what senders wrote drives no terminal from a log of format %s",
  (format) => {
    const text = logged(format)
    expect(text).toContain("u001b[2J")
    // oxlint-disable-next-line no-control-regex
    expect(text.match(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E]/g)).toBeNull()
  },
)

test("in a log of format pretty, a message and its fields are one line, and a stack has its own", () => {
  const lines = logged("pretty").split("\n")
  expect(lines[0]).toContain('\\u000dover\\u000aforged {"path":"')
  expect(lines[1]).toContain("failed")
  expect(lines.some((line) => /^ +at /.test(line))).toBe(true)
})

test("a log of format json has the same values", () => {
  const [first] = logged("json").split("\n")
  expect(JSON.parse(first!)).toMatchObject({ msg: HOSTILE, path: HOSTILE, list: [HOSTILE] })
})

/** What a script with `openLog` writes to standard output. */
function run(body: string): string {
  const script = `import { openLog } from ${JSON.stringify(join(import.meta.dir, "log.ts"))}\n${body}`
  const { stdout } = Bun.spawnSync([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  return Bun.stripANSI(stdout.toString())
}

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
  const text = run(
    `openLog({ level: "info", format: "pretty" }).log.info(${JSON.stringify(line)}, "event rejected")`,
  )
  expect(text.trimEnd().split("\n")).toHaveLength(1)
  expect(text).toContain("event rejected: 401 payments unverified_no_match, POST \\u001b[2J")
  expect(text).toContain('from 192.0.2.7, request 4f0k2m9x-1c: no secret gives this signature {"bytes":312}')
})

test("a level that is set applies to the log, its children and theirs, and to those made later", () => {
  const lines = run(`
    const { log, setLevel } = openLog({ level: "info", format: "json" })
    const child = log.child({ pipeline: "a" })
    const grandchild = child.child({ component: "b" })
    const all = () => [log, child, grandchild, child.child({ later: 1 }), log.child({ later: 2 })]
    for (const level of ["debug", "warn", "silent", "info"]) {
      setLevel(level)
      console.log(JSON.stringify(all().map((it) => [it.level, it.isLevelEnabled("debug"), it.isLevelEnabled("warn")])))
      for (const it of all()) it.debug("said")
    }`)
  const levels = lines.split("\n").filter((it) => it.startsWith("["))
  const ofAll = (level: string, debug: boolean, warn: boolean): string =>
    JSON.stringify(Array.from({ length: 5 }, () => [level, debug, warn]))
  expect(levels).toEqual([
    ofAll("debug", true, true),
    ofAll("warn", false, true),
    ofAll("silent", false, false),
    ofAll("info", false, true),
  ])
  expect(lines.match(/"said"/g)).toHaveLength(5)
})
