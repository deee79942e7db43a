import { Database } from "bun:sqlite"
import { rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { findGaps, UNKNOWN_END } from "../brokers/embedded/damage.ts"
import { groupsIn } from "../brokers/embedded/group-database.ts"
import { LogCopy } from "../brokers/embedded/log-copy.ts"
import { dedupeFileIn } from "../dedupe/key-database.ts"
import { HooklineError } from "../errors.ts"
import type { UnreadRecords } from "../kafka-listener/log.ts"
import { exists } from "../process/paths.ts"
import { Application } from "../runtime/application.ts"
import { DatabaseCopy } from "../storage/database-copy.ts"
import { isDamage, logIn, openForReading, pragma } from "../storage/database-file.ts"
import { makePrivateFolder } from "../storage/private-files.ts"
import { fsyncFolder } from "../storage/fsync.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { ELSEWHERE, writingInto } from "../storage/writing-into.ts"
import { startProgressBar } from "./progress-bar.ts"
import { printTable } from "./table.ts"
import { checkEmpty } from "./log-backup.ts"
import { counted } from "../config/file/nearest.ts"

export interface LogFlags {
  readonly config?: string
  readonly connection?: string
  readonly json?: true
}

interface DamagedPage {
  readonly page: number
  /** Where the page begins in the file, in bytes. */
  readonly offset: number
  /** The problem in the words of SQLite. */
  readonly problem: string
}

/**
 * Prints which pages and records of a log can't be read; the exit status is 1 if any.
 *
 * @throws HooklineError `config`, `usage`, `no_log`, `no_input`
 */
export function checkLog(flags: LogFlags): void {
  const { file } = logIn(directoryOf(flags))
  using db = openForReading(logIn(directoryOf(flags)))
  const pages = damagedPages(db)
  const lost: UnreadRecords[] = []
  let records = 0
  for (const found of findGaps(db)) {
    if ("lost" in found) lost.push(found.lost)
    else records += found.records
  }
  if (pages.length + lost.length > 0) process.exitCode = 1
  if (flags.json === true)
    return console.log(JSON.stringify({ file, records, pages, lost: lost.map(asJson) }, null, 2))
  console.log(`${file}: ${counted(records, "record")} can be read`)
  for (const { page, offset, problem } of pages) console.log(`page ${page}, at byte ${offset}: ${problem}`)
  printLost(lost)
  if (pages.length + lost.length > 0) console.log(logIn(dirname(file)).remedy)
}

/** Copies what can be read of a log. @throws HooklineError as checkLog, `log_locked` while Hookline runs, `log_io` */
export function rescueLog(folder: string, flags: LogFlags): void {
  const directory = directoryOf(flags)
  const target = checkEmpty(resolve(folder))
  const unlock = lockForWriting(logIn(directory))
  try {
    const { records, lost, left } = writingInto(target, ELSEWHERE, () => rescue(directory, target))
    if (lost.length > 0) process.exitCode = 1
    if (flags.json === true)
      return console.log(JSON.stringify({ folder: target, records, lost: lost.map(asJson), left }, null, 2))
    console.log(`${counted(records, "record")} copied to ${target}`)
    printLost(lost)
    for (const problem of left) console.log(problem)
    console.log(`to use it: mv ${directory} ${directory}.damaged && mv ${target} ${directory}`)
  } finally {
    unlock()
  }
}

/** @returns how many records were copied, those that can't be read, and why other files were not copied */
function rescue(directory: string, target: string) {
  makePrivateFolder(target)
  const lost: UnreadRecords[] = []
  using copy = new LogCopy(directory, logIn(target).file, "rescue")
  copy.source.begin()
  copy.copyTables()
  const bar = startProgressBar(copy.bytes)
  copy.copyRecords(
    (bytes) => bar?.increment(bytes),
    (records) => lost.push(records),
  )
  bar?.stop()
  copy.close()
  const left = [groupsIn, dedupeFileIn].flatMap((at) => copyIfReadable(at, directory, target) ?? [])
  fsyncFolder(target)
  return { records: copy.records, lost, left }
}

/** @returns why it was not copied, if it exists */
function copyIfReadable(at: typeof groupsIn, directory: string, target: string): string | undefined {
  const location = at(directory)
  if (!exists(location.file)) return undefined
  const { file } = at(target)
  try {
    using copy = new DatabaseCopy(location, file)
    copy.begin()
    copy.copyTables()
    copy.end()
    copy.close()
    return undefined
  } catch (error) {
    rmSync(file, { force: true })
    if (!(error instanceof HooklineError)) throw error
    return `not copied: ${error.message}`
  }
}

/** Finds damaged pages by SQLite's check of the structure and its list of pages, up to where these fail. */
function damagedPages(db: Database): DamagedPage[] {
  const pages = new Map<number, string>()
  const attempt = (find: () => void): void => {
    try {
      find()
    } catch (error) {
      // the records are read one by one
      if (!isDamage(error)) throw error
    }
  }
  attempt(() => {
    for (const { quick_check: text } of db
      .query<{ quick_check: string }, []>("PRAGMA quick_check(1000)")
      .all())
      for (const line of text.split("\n")) {
        const page = /page (\d+)/i.exec(line)?.[1]
        if (page !== undefined && !pages.has(Number(page))) pages.set(Number(page), line)
      }
  })
  attempt(() => {
    for (const { pageno, name } of db
      .query<{ pageno: number; name: string }, []>(
        "SELECT pageno, name FROM dbstat WHERE pagetype = 'corrupted'",
      )
      .iterate())
      pages.set(pageno, `not a page of table ${name}`)
  })
  const bytes = pragma(db, "page_size")
  return [...pages]
    .toSorted(([a], [b]) => a - b)
    .map(([page, problem]) => ({ page, offset: (page - 1) * bytes, problem }))
}

function printLost(lost: readonly UnreadRecords[]): void {
  if (lost.length === 0) return
  console.log("records that can't be read:")
  const rows = lost.map(({ topic, partition, first, end }) => [
    topic,
    `${partition}`,
    `${first}`,
    end === UNKNOWN_END ? "the end" : `${end - 1}`,
  ])
  printTable([["TOPIC", "PARTITION", "FIRST", "LAST"], ...rows], [0])
}

/** The JSON of lost records; without `end` all that follow are lost. */
const asJson = ({ end, ...lost }: UnreadRecords): object => (end === UNKNOWN_END ? lost : { ...lost, end })

function directoryOf({ config, connection: id }: LogFlags): string {
  const app = Application.fromFile(config)
  const all = app.connectionIds("directory")
  const chosen = id ?? (all.length === 1 ? all[0] : undefined)
  if (chosen === undefined || !all.includes(chosen))
    throw new HooklineError(
      "usage",
      all.length === 0
        ? "no connection of the file has an embedded log"
        : `choose the connection of an embedded log with --connection: ${all.join(", ")}`,
    )
  const { kind, values } = app.connection(chosen)
  const directory = kind.logFolder!(values)!
  if (!exists(join(directory, "log.sqlite")))
    throw new HooklineError(
      "no_log",
      `There is no log in ${directory}: ${logIn(directory).file} does not exist`,
    )
  return directory
}
