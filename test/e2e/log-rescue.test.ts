import { expect, setDefaultTimeout, spyOn, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { packBatch } from "../../src/brokers/embedded/batch.ts"
import { SpoolDatabase, spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { logIn } from "../../src/storage/database-file.ts"
import { lockForWriting } from "../../src/storage/writer-lock.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { fillLog } from "../support/embedded-log.ts"
import { temporaryFolder } from "../support/hookline.ts"

setDefaultTimeout(300_000)

const CONFIGURATION = `[connection:log]
directory = log
[connection:kafka]
bootstrap_servers = 127.0.0.1:9
spool = spool.sqlite
[pipeline:hooks:WebHookSource]
[pipeline:hooks:BrokerSink]
connection = log
topic = hooks
`

test("a damaged spool is rescued, and its copy is put in its place where losing records is agreed to", async () => {
  using own = temporaryFolder()
  const cwd = own.path
  const configuration = CONFIGURATION.replace("directory = log", "directory = other").replaceAll(
    "spools/",
    "",
  )
  writeFileSync(join(cwd, "pipelines.conf"), configuration)
  const file = join(cwd, "spool.sqlite")
  const spool = new SpoolDatabase(spoolAt(file))
  for (let n = 0; n < 100; n++) {
    const value = Buffer.from(`${n},`.padEnd(2000, "filled"))
    spool.commitSpooled(packBatch([{ record: { topic: "hooks", value } }]), 1000)
  }
  spool.close()
  const run = (...args: string[]) => hooklineInProcess(args, { cwd })
  const connection = ["--connection", "kafka"]
  const checked = await run("log", "check", ...connection)
  expect([checked.status, checked.stdout]).toEqual([0, `${file}: 100 records can be read\n`])
  const bytes = readFileSync(file)
  const page = Math.floor(bytes.indexOf("50,filled") / 16_384) * 16_384
  crypto.getRandomValues(bytes.subarray(page, page + 16_384))
  writeFileSync(file, bytes)
  const damaged = await run("log", "check", ...connection)
  expect([damaged.status, damaged.stdout]).toEqual([1, expect.stringContaining("records that can't be read")])
  const rescued = await run("log", "rescue", "rescued", ...connection)
  expect([rescued.status, rescued.stderr]).toEqual([1, ""])
  const records = Number(/^(\d+) records and 0 quarantined copied/.exec(rescued.stdout)![1])
  expect(records).toBeGreaterThan(80)
  expect(rescued.stdout).toMatch(/^hooks +0 +\d+ +\d+$/m)
  expect(rescued.stdout).toContain(`hookline log restore --without-lost ${join(cwd, "rescued")}`)
  const refused = await run("log", "restore", "rescued")
  expect([refused.status, refused.stderr]).toEqual([64, expect.stringContaining("--without-lost")])
  expect(readFileSync(file).equals(bytes)).toBe(true)
  expect((await run("log", "restore", "--without-lost", "rescued")).status).toBe(0)
  const status = JSON.parse((await run("spool", "status", "kafka", "--json")).stdout) as { records: number }[]
  expect(status[0]!.records).toBe(records)
  expect((await run("log", "check", ...connection)).status).toBe(0)
})

test("log check rests while a process writes to the log, and else does not", async () => {
  using own = temporaryFolder()
  const cwd = own.path
  writeFileSync(join(cwd, "pipelines.conf"), CONFIGURATION)
  const location = logIn(join(cwd, "log"))
  const value = new Uint8Array(50_000).fill(120)
  await fillLog(
    join(cwd, "log"),
    "hooks",
    Array.from({ length: 1500 }, () => ({ value })),
  )
  let sleptMs = 0
  using _ = spyOn(Bun, "sleepSync").mockImplementation((ms) => void (sleptMs += ms))
  const check = () => hooklineInProcess(["log", "check"], { cwd })
  const output = `${location.file}: 1500 records can be read\n`
  expect(await check()).toMatchObject({ status: 0, stdout: output })
  expect(sleptMs).toBe(0)
  const unlock = lockForWriting(location)
  expect(await check()).toMatchObject({ status: 0, stdout: output })
  unlock()
  expect(sleptMs).toBeGreaterThan(60)
})
