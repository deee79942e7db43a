import { expect, setDefaultTimeout, test } from "bun:test"
import { Database } from "bun:sqlite"
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { packBatch } from "../../src/brokers/embedded/batch.ts"
import { LogDatabase } from "../../src/brokers/embedded/log-database.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { SpoolDatabase, spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { readManifest } from "../../src/commands/backup-manifest.ts"
import { stepsOfRestore } from "../../src/commands/log-restore.ts"
import { positionFile, Positions } from "../../src/replay/positions.ts"
import { logIn } from "../../src/storage/database-file.ts"
import { fillLog, recordsInLog } from "../support/embedded-log.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { folderOfTests } from "../support/hookline.ts"

setDefaultTimeout(300_000)

const folder = folderOfTests()

const CONFIGURATION = `[connection:log]
directory = log
[connection:kafka]
bootstrap_servers = 127.0.0.1:9
spool = spools/spool.sqlite
[pipeline:hooks:WebHookSource]
[pipeline:hooks:BrokerSink]
connection = log
topic = hooks
`

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({ value: Buffer.from(`${from + n}`) }))

function fillSpool(file: string, values: readonly string[]): void {
  const spool = new SpoolDatabase(spoolAt(file))
  for (const value of values)
    spool.commitSpooled(packBatch([{ record: { topic: "hooks", value: Buffer.from(value) } }]), 1000)
  spool.close()
}

/** A folder with a log, a spool and a position. @param from number of the first record that it gets */
async function fill(own: string, from: number, to: number): Promise<void> {
  await fillLog(join(own, "log"), "hooks", numbered(from, to))
  fillSpool(
    join(own, "spools/spool.sqlite"),
    numbered(from, to).map(({ value }) => `${value}`),
  )
  Positions.advance(positionFile(join(own, "log"), "forward", "app")).close()
}

const valuesIn = async (directory: string): Promise<string[]> =>
  (await recordsInLog(directory, "hooks")).map(({ value }) => Buffer.from(value).toString())

/** The files of a folder and those below it that a restore has to do with. */
const namesIn = (path: string): string[] =>
  readdirSync(path, { recursive: true })
    .map(String)
    .filter((name) => name.includes("restor"))

test("a restore that is killed after any of its steps opens no log beside half of it, and is continued", async () => {
  const own = folder.make("killed")
  writeFileSync(join(own, "pipelines.conf"), CONFIGURATION)
  for (const name of ["spools", "log/forwards"]) mkdirSync(join(own, name), { recursive: true })
  await fill(own, 0, 10)
  expect((await hooklineInProcess(["log", "backup", "backup"], { cwd: own })).status).toBe(0)
  await fill(own, 10, 15)
  const backup = join(own, "backup")
  const saved = join(own, "saved")
  const places = ["log", "spools"]
  for (const name of places) cpSync(join(own, name), join(saved, name), { recursive: true })
  const { files } = readManifest(backup)
  const outcomes = { old: 0, refused: 0, restored: 0 }
  for (let kill = 0, isOver = false; !isOver; kill++) {
    for (const name of places) {
      rmSync(join(own, name), { recursive: true })
      cpSync(join(saved, name), join(own, name), { recursive: true })
    }
    const steps = stepsOfRestore(backup, files)
    for (let step = 0; step < kill && !isOver; step++) isOver = steps.next().done === true
    const opened = ((): number | undefined => {
      try {
        const log = new LogDatabase(logIn(join(own, "log")))
        const { nextOffset } = log.topics.get("hooks")!.partitions[0]!
        log.close()
        return nextOffset
      } catch (error) {
        expect((error as Error).message).toContain(`hookline log restore ${backup} again`)
        return undefined
      }
    })()
    if (opened === undefined) {
      outcomes.refused++
      expect(() => openEmbeddedReader(join(own, "log"))).toThrow()
      const backedUp = await hooklineInProcess(["log", "backup", `half-${kill}`], { cwd: own })
      expect([backedUp.status, backedUp.stderr]).toEqual([74, expect.stringContaining("has not ended")])
    } else outcomes[opened === 15 ? "old" : "restored"]++
    expect([kill, opened]).toEqual([kill, opened === undefined ? undefined : opened === 15 ? 15 : 10])
    const { status, stderr } = await hooklineInProcess(["log", "restore", backup], { cwd: own })
    expect([kill, status, stderr]).toEqual([kill, 0, ""])
    const was = numbered(0, 10).map(({ value }) => `${value}`)
    expect([kill, await valuesIn(join(own, "log"))]).toEqual([kill, was])
    const spool = new SpoolDatabase(spoolAt(join(own, "spools/spool.sqlite")))
    expect([kill, spool.state().records]).toEqual([kill, 10])
    spool.close()
    expect(namesIn(own).filter((name) => !name.includes(".before-restore-"))).toEqual([])
  }
  console.log("restores killed after a step: the log was", outcomes)
  expect(outcomes.refused).toBeGreaterThan(3)
  expect(outcomes.old).toBeGreaterThan(3)
})

test("what a restore replaces opens with its WAL", async () => {
  const own = folder.make("wal")
  writeFileSync(join(own, "pipelines.conf"), CONFIGURATION)
  const file = join(own, "log/log.sqlite")
  await fillLog(dirname(file), "hooks", numbered(0, 3))
  expect((await hooklineInProcess(["log", "backup", "backup"], { cwd: own })).status).toBe(0)
  {
    // as a killed process leaves it
    const log = new LogDatabase(logIn(dirname(file)))
    log.commit(packBatch([{ record: { topic: "hooks", value: Buffer.from("3") } }]), 1000)
    for (const suffix of ["", "-wal"]) cpSync(`${file}${suffix}`, `${file}.kept${suffix}`)
    log.close()
    for (const suffix of ["", "-wal"]) cpSync(`${file}.kept${suffix}`, `${file}${suffix}`)
  }
  expect((await hooklineInProcess(["log", "restore", "backup"], { cwd: own })).status).toBe(0)
  expect(await valuesIn(dirname(file))).toEqual(["0", "1", "2"])
  const before = readdirSync(dirname(file)).find((name) =>
    /^log\.sqlite\.before-restore-[^-]*(-\d+)*T?[\dZT-]*$/.test(name),
  )!
  using db = new Database(join(dirname(file), before), { readonly: true })
  expect(db.query("SELECT count(*) AS n FROM records_1").get()).toEqual({ n: 4 })
})
