import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { fillLog, untilEpochsArePast } from "../support/embedded-log.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { Receiver } from "../support/receiver.ts"

setDefaultTimeout(300_000)

const CONFIGURATION = `[connection:log]
directory = log
`

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({ value: Buffer.from(`{"n":${from + n}}`) }))

test.each([
  ["another log", async (_copy: string, log: string) => fillLog(log, "hooks", numbered(100, 130))],
  [
    "an earlier copy of the log",
    async (copy: string, log: string) => {
      cpSync(copy, log, { recursive: true })
      // as far as the log was
      await untilEpochsArePast()
      await fillLog(log, "hooks", numbered(100, 130))
    },
  ],
])("a replay that was interrupted does not continue in %s", async (what, replace) => {
  using folder = temporaryFolder()
  const cwd = folder.path
  const log = join(cwd, "log")
  writeFileSync(join(cwd, "pipelines.conf"), CONFIGURATION)
  await using receiver = new Receiver(
    ({ body }) => new Response("", { status: body.toString() === '{"n":20}' ? 422 : 200 }),
  )
  await fillLog(log, "hooks", numbered(0, 10))
  cpSync(log, join(cwd, "copy"), { recursive: true })
  await fillLog(log, "hooks", numbered(10, 30))
  const replay = (...more: string[]) =>
    hooklineInProcess(["replay", "--from", "log/hooks", "--to", receiver.url, "--name", "mine", ...more], {
      cwd,
    })
  // ends at the refused record, and keeps its position
  expect((await replay()).status).not.toBe(0)
  expect((await replay()).stderr).not.toContain("in the place of")
  rmSync(log, { recursive: true })
  await replace(join(cwd, "copy"), log)
  const before = receiver.all.length
  const refused = await replay()
  expect([refused.status, refused.stderr]).toEqual([
    64,
    expect.stringContaining(`and ${what} is in the place of`),
  ])
  expect(receiver.all.length).toBe(before)
  expect((await replay("--restart")).status).toBe(0)
  expect(receiver.all.length - before).toBe(what === "another log" ? 30 : 40)
})
