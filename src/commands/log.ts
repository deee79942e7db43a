import { Database } from "bun:sqlite"
import { readFileSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { findGaps } from "../brokers/embedded/damage.ts"
import { LogCopy } from "../brokers/embedded/log-copy.ts"
import { HooklineError } from "../errors.ts"
import type { UnreadRecords } from "../kafka-listener/log.ts"
import { exists } from "../process/paths.ts"
import { Application } from "../runtime/application.ts"
import { keptIn, type KeptFile } from "../runtime/kept-files.ts"
import { DatabaseCopy } from "../storage/database-copy.ts"
import {
  DamagedFile,
  describeFailure,
  isDamage,
  logIn,
  openForReading,
  pragma,
  type DatabaseLocation,
} from "../storage/database-file.ts"
import { createKeyJournal } from "../storage/key-journal.ts"
import { createPrivateFile, makePrivateFolder } from "../storage/private-files.ts"
import { fsyncFile, fsyncFolder } from "../storage/fsync.ts"
import { lockForWriting } from "../storage/writer-lock.ts"
import { ELSEWHERE, writingInto } from "../storage/writing-into.ts"
import { startProgressBar } from "./progress-bar.ts"
import { printTable } from "./table.ts"
import { checkEmpty } from "./log-backup.ts"
import { counted } from "../config/file/nearest.ts"
import { UNKNOWN_END } from "../brokers/embedded/partition-end.ts"

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

/** A file beside a log, and why it can't be read; null: it can. */
interface FileBeside {
  readonly file: string
  readonly problem: string | null
}

/**
 * Prints which pages and records of a log can't be read, and which files beside it; the exit status is 1 if any.
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
  const beside = checkBeside(dirname(file))
  const unreadable = beside.filter(({ problem }) => problem !== null)
  if (pages.length + lost.length + unreadable.length > 0) process.exitCode = 1
  if (flags.json === true)
    return console.log(JSON.stringify({ file, records, pages, lost: lost.map(asJson), beside }, null, 2))
  console.log(`${file}: ${counted(records, "record")} can be read`)
  for (const { page, offset, problem } of pages) console.log(`page ${page}, at byte ${offset}: ${problem}`)
  printLost(lost)
  if (pages.length + lost.length > 0) console.log(logIn(dirname(file)).remedy)
  for (const { problem } of unreadable) console.log(problem)
}

/** Checks the structure of the databases that lie beside a log. */
function checkBeside(directory: string): readonly FileBeside[] {
  return keptIn(directory).flatMap(({ kind, path: file, location }) =>
    kind === "log" || location === undefined ? [] : { file, problem: problemOf(location) ?? null },
  )
}

function problemOf(location: DatabaseLocation): string | undefined {
  try {
    using db = openForReading(location)
    const { quick_check: found } = db.query<{ quick_check: string }, []>("PRAGMA quick_check(1)").get()!
    return found === "ok" ? undefined : new DamagedFile(location, found.replace(/^\*\*\*.*\n/, "")).message
  } catch (error) {
    return describeFailure(error, location)
  }
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
  copy.copyTables()
  const bar = startProgressBar(copy.bytes)
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
  left.push(...keptIn(directory).flatMap((kept) => copyIfReadable(kept, target) ?? []))
  fsyncFolder(target)
  return { records: copy.records, lost, left }
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
