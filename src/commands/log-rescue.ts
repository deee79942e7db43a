import { readFileSync, rmSync, statSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { LogCopy } from "../brokers/embedded/log-copy.ts"
import { LOST_QUARANTINED } from "../brokers/spool/quarantine-table.ts"
import { rescueSpool } from "../brokers/spool/spool-rescue.ts"
import { counted } from "../words.ts"
import { HooklineError } from "../errors.ts"
import type { UnreadRecords } from "../kafka-listener/log.ts"
import { keptIn, type KeptFile } from "../runtime/kept-files.ts"
import { DatabaseCopy } from "../storage/database-copy.ts"
import { logIn, type DatabaseLocation } from "../storage/database-file.ts"
import { fsyncFile, fsyncFolder } from "../storage/fsync.ts"
import { createKeyJournal } from "../storage/key-journal.ts"
import { createPrivateFile, makePrivateFolder } from "../storage/private-files.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { ELSEWHERE, writingInto } from "../storage/writing-into.ts"
import { writeManifest, type BackupFile } from "./backup-manifest.ts"
import { chooseLog, type LogFlags } from "./log-choice.ts"
import { checkEmpty } from "./log-backup.ts"
import { asJson, printLost } from "./lost-records.ts"
import { startProgressBar } from "./progress-bar.ts"

interface Rescued {
  readonly records: number
  /** A spool's; a log has none. */
  readonly quarantined?: number
  readonly lost: readonly UnreadRecords[]
  /** Other losses, and files that were not copied. */
  readonly left: readonly string[]
  /** Whether records are among the losses. */
  readonly lacksRecords: boolean
  readonly files: readonly BackupFile[]
}

/**
 * Copies what can be read of a log or spool to a folder that `log restore` puts in its place.
 *
 * @throws HooklineError `config`, `usage`, `no_log`, `no_input`, `log_locked` while Hookline runs, `log_io`
 */
export function rescueLog(folder: string, flags: LogFlags): void {
  const location = chooseLog(flags)
  const target = checkEmpty(resolve(folder))
  const unlock = lockForWriting(location)
  try {
    const { lacksRecords, ...rescued } = writingInto(target, ELSEWHERE, () => rescue(location, target))
    if (lacksRecords) process.exitCode = 1
    if (flags.json === true) {
      const lost = rescued.lost.map(asJson)
      return console.log(JSON.stringify({ folder: target, ...rescued, lost }, null, 2))
    }
    const { records, quarantined, lost, left } = rescued
    const also = quarantined === undefined ? "" : ` and ${quarantined} quarantined`
    console.log(`${counted(records, "record")}${also} copied to ${target}`)
    printLost(lost)
    for (const problem of left) console.log(problem)
    console.log(lacksRecords ? describeLossy(target) : `to use it: hookline log restore ${target}`)
  } finally {
    unlock()
  }
}

const describeLossy = (target: string): string =>
  `This copy lacks these records. If a backup has them, restore that one instead. To go on without them: hookline log restore --without-lost ${target}`

function rescue(location: DatabaseLocation, target: string): Omit<Rescued, "files"> {
  makePrivateFolder(target)
  const rescued =
    location.kind === "spool"
      ? rescueOnlySpool(location, target)
      : rescueWithFiles(dirname(location.file), target)
  const { files, ...others } = rescued
  const { lacksRecords } = others
  writeManifest(target, { made: new Date().toISOString(), files, ...(lacksRecords && { lacksRecords }) })
  fsyncFolder(target)
  return others
}

function rescueOnlySpool(location: DatabaseLocation, target: string): Rescued {
  const from = resolve(location.file)
  const file = basename(from)
  using bar = startProgressBar(statSync(from).size)
  const { hasLostQuarantined, ...rescued } = rescueSpool(location, join(target, file), (bytes) =>
    bar?.increment(bytes),
  )
  bar?.stop()
  fsyncFile(join(target, file))
  return {
    ...rescued,
    left: hasLostQuarantined ? [LOST_QUARANTINED] : [],
    lacksRecords: hasLostQuarantined || rescued.lost.length > 0,
    files: [{ kind: "spool", file, from }],
  }
}

function rescueWithFiles(directory: string, target: string): Rescued {
  const lost: UnreadRecords[] = []
  using copy = new LogCopy(directory, logIn(target).file, "rescue")
  copy.copyTables()
  using bar = startProgressBar(copy.bytes)
  copy.copyRecords(
    (bytes) => bar?.increment(bytes),
    (records) => lost.push(records),
  )
  bar?.stop()
  // the records of some may be among the lost, and twice is better than never
  if (lost.length > 0) {
    createKeyJournal(copy.source.db)
    copy.source.db.run("DELETE FROM dedupe_keys")
  }
  copy.close()
  const left = copy.left.map(
    (table) => `not copied: ${table} of ${logIn(directory).file}, which can't be read`,
  )
  const files: BackupFile[] = []
  for (const kept of keptIn(directory)) {
    const problem = copyIfReadable(kept, target)
    if (problem === undefined) files.push({ kind: kept.kind, file: kept.name, from: resolve(kept.path) })
    else left.push(problem)
  }
  return { records: copy.records, lost, left, lacksRecords: lost.length > 0, files }
}

/** Copies what lies beside the log. @returns why it was not copied */
function copyIfReadable({ kind, path, name, location }: KeptFile, target: string): string | undefined {
  if (kind === "log") return undefined
  const to = join(target, name)
  makePrivateFolder(dirname(to))
  try {
    if (location === undefined) {
      createPrivateFile(to, readFileSync(path))
      fsyncFile(to)
    } else {
      using copy = new DatabaseCopy(location, to)
      copy.begin()
      copy.copyTables()
      copy.end()
      copy.close()
    }
    fsyncFolder(dirname(to))
    return undefined
  } catch (error) {
    rmSync(to, { force: true })
    if (!(error instanceof HooklineError)) throw error
    return `not copied: ${error.message}`
  }
}
