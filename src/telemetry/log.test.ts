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
