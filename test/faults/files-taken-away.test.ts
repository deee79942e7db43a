import { describe, expect, test } from "bun:test"
import { copyFileSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { report } from "../support/fault-table.ts"
import { compare } from "../support/findings.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { isPermitted } from "../support/tools.ts"
import { eventsInLog, ON_LOG, serving, startService } from "../support/webhook-service.ts"

interface Way {
  readonly scenario: string
  /** Takes the log in `folder`/log away; there is an older copy of the database in `folder`/older. */
  readonly take: (folder: string) => void | Promise<void>
  /** Gives it back before the restart, or at once; then nothing at all is lost. */
  readonly giveBack?: (folder: string) => void
  /** The process recovers without a restart. */
  readonly recovers?: boolean
  readonly says: RegExp
}

const log = (folder: string, name = ""): string => join(folder, "log", name)
const REMOVED = /was removed or renamed while Hookline had it open/

/**
 * Waits until the WAL has what the database lacks, which is not so between a checkpoint and the next commit: by mxFrame and nBackfill
 * of https://sqlite.org/walformat.html#the_wal_index_header
 */
async function untilWalIsNeeded(folder: string): Promise<void> {
  for (;;) {
    const index = readFileSync(log(folder, "log.sqlite-shm"))
    if (index.readUInt32LE(16) > index.readUInt32LE(96)) return
    await Bun.sleep(1)
  }
}

/** Starts Hookline again, posts a hundred events that no earlier one has the number of, and stops it. */
async function postAfterRestart(settings: Parameters<typeof startService>[0]): Promise<NumberedSenders> {
  await using again = await startService(settings)
  await using more = new NumberedSenders(serving(again), { keys: 8, firstNumber: 1_000_000 })
  await more.many(100)
  await more.stop()
  await again.stop()
  return more
}

const WAYS: readonly Way[] = [
  {
    scenario: "the log's files removed",
    take: (folder) => {
      for (const end of ["", "-wal", "-shm"]) rmSync(log(folder, `log.sqlite${end}`))
    },
    says: REMOVED,
  },
  {
    scenario: "the log's folder removed",
    take: (folder) => rmSync(log(folder), { recursive: true }),
    says: REMOVED,
  },
  {
    scenario: "the log's folder renamed, and back",
    take: (folder) => renameSync(log(folder), join(folder, "elsewhere")),
    giveBack: (folder) => renameSync(join(folder, "elsewhere"), log(folder)),
    recovers: true,
    says: REMOVED,
  },
  {
    scenario: "the log's WAL removed",
    take: (folder) => rmSync(log(folder, "log.sqlite-wal")),
    giveBack: () => {},
    recovers: true,
    says: /log\.sqlite-wal was removed or renamed while Hookline had it open/,
  },
  {
    scenario: "the log's WAL truncated to nothing",
    async take(folder) {
      await untilWalIsNeeded(folder)
      truncateSync(log(folder, "log.sqlite-wal"))
    },
    says: /log\.sqlite-wal was truncated by another program while Hookline had it open/,
  },
  {
    scenario: "an older copy in the place of the log",
    take: (folder) => renameSync(join(folder, "older"), log(folder, "log.sqlite")),
    says: /log\.sqlite is another file than the one that Hookline opened/,
  },
  {
    scenario: "the log's lock removed",
    take: (folder) => rmSync(log(folder, "writer.lock")),
    giveBack: () => {},
    says: /writer\.lock was removed or renamed while Hookline had it open/,
  },
  {
    scenario: "a file system mounted over the log, and unmounted",
    take: (folder) => run("mount", "-t", "tmpfs", "hookline-test", log(folder)),
    giveBack: (folder) => run("umount", log(folder)),
    recovers: true,
    says: REMOVED,
  },
]
const canMount = isPermitted(
  ["mount", "unshare"],
  ["unshare", "--mount", "mount", "-t", "tmpfs", "x", "/mnt"],
)

function run(...command: readonly string[]): void {
  const { success, stderr } = Bun.spawnSync([...command])
  if (!success) throw new Error(`${command.join(" ")}: ${stderr.toString()}`)
}

describe.each(WAYS.filter(({ scenario }) => canMount || !scenario.includes("mounted")))(
  "$scenario while events come",
  ({ scenario, take, giveBack, recovers = false, says }) => {
    test("nothing that comes after it is acknowledged and lost; events get 503, and /readyz and the log say why", async () => {
      using folder = temporaryFolder()
      const settings = { ...ON_LOG, folder: folder.path }
      await using running = await startService(settings)
      await using senders = new NumberedSenders(serving(running), { keys: 8 })
      await senders.many(200)
      copyFileSync(log(folder.path, "log.sqlite"), join(folder.path, "older"))
      await senders.many(200)

      await take(folder.path)
      const takenMs = steadyMs()
      expect((await senders.first((it) => it.startedMs > takenMs)).answer).not.toBe(200)
      await running.logged(({ level, msg }) => level === "error" && says.test(msg))
      if (!(recovers && giveBack !== undefined && scenario.includes("WAL"))) {
        const ready = await fetch(`${running.adminUrl}/readyz`)
        expect([ready.status, await ready.text()]).toEqual([503, expect.stringMatching(says)])
      }
      giveBack?.(folder.path)
      if (recovers) {
        await running.logged(({ msg }) => msg.endsWith("can be written again"))
        await senders.acknowledged()
      }
      await senders.stop()
      await running.stop()

      const more = await postAfterRestart(settings)
      const after = senders.posted.filter(({ startedMs }) => giveBack !== undefined || startedMs > takenMs)
      const findings = compare([...after, ...more.posted], await eventsInLog(log(folder.path), ON_LOG.topic))
      report(scenario, findings)
      expect(findings.lost).toBe(0)
      expect(more.posted.length).toBeGreaterThan(99)
    })
  },
)

test("the WAL's index truncated while events come: whatever was acknowledged is there after a restart", async () => {
  using folder = temporaryFolder()
  const settings = { ...ON_LOG, folder: folder.path }
  await using running = await startService(settings)
  await using senders = new NumberedSenders(serving(running), { keys: 8 })
  await senders.many(200)
  truncateSync(log(folder.path, "log.sqlite-shm"))
  // SQLite has it in its memory: the system ends who touches it
  await running.exited
  await senders.stop()

  const more = await postAfterRestart(settings)
  const findings = compare(
    [...senders.posted, ...more.posted],
    await eventsInLog(log(folder.path), ON_LOG.topic),
  )
  report("the log's WAL index truncated to nothing: SIGBUS, a restart", findings)
  expect(findings.lost).toBe(0)
  expect(more.posted.length).toBeGreaterThan(99)
})

test("a copy written over the log's file is noticed, and the log is read anew", async () => {
  using folder = temporaryFolder()
  await using running = await startService({ ...ON_LOG, folder: folder.path })
  const file = log(folder.path, "log.sqlite")
  const copy = readFileSync(file)
  await using senders = new NumberedSenders(serving(running), { keys: 8 })
  await senders.many(100)
  writeFileSync(file, copy)
  await running.logged(({ level, msg }) => level === "error" && /was changed by another program/.test(msg))
})
