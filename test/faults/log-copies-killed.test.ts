import { expect, setDefaultTimeout, test } from "bun:test"
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { LogDatabase } from "../../src/brokers/embedded/log-database.ts"
import { logIn } from "../../src/storage/database-file.ts"
import { endingWithThisProcess } from "../support/child.ts"
import { fillLog, recordsInLog } from "../support/embedded-log.ts"
import { KILL_TRIALS, report } from "../support/fault-table.ts"
import { folderOfTests, hookline } from "../support/hookline.ts"
import { PROGRAM } from "../support/program.ts"
import { Random } from "../support/random.ts"

setDefaultTimeout(900_000)

const folder = folderOfTests()

const CONFIGURATION = `[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
[pipeline:hooks:BrokerSink]
topic = hooks
`
const BACKED_UP = 200
const ALL = 300
/** Large enough that copying takes a part of a command's time. */
const VALUE_BYTES = 40_000

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({
    value: Buffer.from(`${from + n},`.padEnd(VALUE_BYTES, "x")),
  }))

const numbersIn = async (directory: string): Promise<number[]> =>
  (await recordsInLog(directory, "hooks")).map(({ value }) => Number.parseInt(Buffer.from(value).toString()))

const upTo = (end: number): number[] => Array.from({ length: end }, (_, n) => n)

const random = new Random(5)

/** Ends a command by SIGKILL at a random instant of the time that it takes. @returns whether it had not ended before */
async function kill(cwd: string, args: readonly string[], mostMs: number): Promise<boolean> {
  const child = Bun.spawn(endingWithThisProcess(...PROGRAM, ...args), {
    cwd,
    stdout: "ignore",
    stderr: "ignore",
  })
  await Promise.race([Bun.sleep(random.below(Math.ceil(mostMs))), child.exited])
  const isRunning = child.exitCode === null
  child.kill("SIGKILL")
  await child.exited
  return isRunning
}

/** The records of a log as a service would open it; undefined: it refuses. */
function opened(directory: string): number | undefined {
  try {
    const log = new LogDatabase(logIn(directory))
    const end = log.topics.get("hooks")?.partitions[0]?.nextOffset ?? 0
    log.close()
    return end
  } catch (error) {
    expect((error as Error).message).toContain("a restore of its folder has not ended")
    return undefined
  }
}

test.each(["backup", "rescue", "restore"])(
  `hookline log %s is killed ${KILL_TRIALS} times at random instants`,
  async (command) => {
    const own = folder.make(command)
    const [log, backup, saved] = ["log", "backup", "saved"].map((name) => join(own, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(join(own, "pipelines.conf"), CONFIGURATION)
    await fillLog(log, "hooks", numbered(0, BACKED_UP))
    expect((await hookline(["log", "backup", "backup"], { cwd: own })).status).toBe(0)
    await fillLog(log, "hooks", numbered(BACKED_UP, ALL))
    cpSync(log, saved, { recursive: true })
    const isRestore = command === "restore"
    const args = (name: string): string[] => ["log", command, isRestore ? backup : join(own, name)]
    const startedMs = performance.now()
    expect((await hookline(args("whole"), { cwd: own })).status).toBe(0)
    const tookMs = performance.now() - startedMs
    let [killed, refused, lost] = [0, 0, 0]
    for (let trial = 0; trial < KILL_TRIALS; trial++) {
      rmSync(log, { recursive: true })
      cpSync(saved, log, { recursive: true })
      if (await kill(own, args(`half-${trial}`), tookMs)) killed++
      const end = opened(log)
      if (end === undefined) refused++
      else expect([trial, end]).toEqual([trial, isRestore && end !== ALL ? BACKED_UP : ALL])
      if (isRestore) expect((await hookline(args(""), { cwd: own })).status).toBe(0)
      else {
        const half = join(own, `half-${trial}`)
        const isListed = existsSync(join(half, "backup.json"))
        if (existsSync(half) && !isListed)
          expect((await hookline(["log", "restore", half], { cwd: own })).status).not.toBe(0)
        // it was complete
        if (isListed) expect((await hookline(["log", "restore", half], { cwd: own })).status).toBe(0)
      }
      const expected = upTo(isRestore ? BACKED_UP : ALL)
      const found = await numbersIn(log)
      lost += expected.filter((n) => !found.includes(n)).length
      expect([trial, found]).toEqual([trial, expected])
      rmSync(join(own, `half-${trial}`), { recursive: true, force: true })
    }
    console.log(`${command}: killed ${killed} of ${KILL_TRIALS} times; the log was refused ${refused} times`)
    const sent = KILL_TRIALS * (isRestore ? BACKED_UP : ALL)
    report(`log ${command} killed at random instants`, {
      sent,
      acknowledged: sent,
      found: sent - lost,
      lost,
      doubled: 0,
      longestWaitMs: undefined,
    })
  },
)
