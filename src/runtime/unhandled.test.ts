import { expect, test } from "bun:test"
import { closeSync, constants, openSync, writeSync } from "node:fs"
import { join } from "node:path"
import { runToEnd } from "../../test/support/child.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"

const script = (fault: string): string => `
  import { openLog } from ${JSON.stringify(join(import.meta.dir, "../telemetry/log.ts"))}
  import { exitOnUnhandled } from ${JSON.stringify(join(import.meta.dir, "unhandled.ts"))}
  const { log } = openLog({ level: "info", format: "json" })
  exitOnUnhandled(() => log)
  log.info("before")
  setInterval(() => {}, 1000)
  setTimeout(() => { ${fault} }, 1)`

const FAULTS = ["throw new Error('a fault')", "void Promise.reject(new Error('a fault'))"]

test.each(FAULTS)(
  "%s ends the process with 70, its stack in the log and on standard error",
  async (fault) => {
    const { status, stdout, stderr } = await runToEnd([process.execPath, "-e", script(fault)])
    expect(status).toBe(70)
    const [before, fatal, ...more] = stdout.trimEnd().split("\n")
    expect(JSON.parse(before!)).toMatchObject({ msg: "before" })
    expect(JSON.parse(fatal!)).toMatchObject({
      level: "fatal",
      err: { stack: expect.stringContaining("a fault") },
    })
    expect(more).toEqual([])
    expect(stderr).toContain("a fault")
  },
)

test("an unhandled error ends the process where standard output and error are a pipe that nobody reads", async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, "fifo")
  Bun.spawnSync(["mkfifo", path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const filler = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  expect(() => {
    for (;;) writeSync(filler, "x".repeat(4096))
  }).toThrow("EAGAIN")
  const blocked = openSync(path, "w")
  const child = Bun.spawn([process.execPath, "-e", script(FAULTS[0]!)], { stdout: blocked, stderr: blocked })
  expect(await child.exited).toBe(70)
  for (const fd of [reader, filler, blocked]) closeSync(fd)
})
