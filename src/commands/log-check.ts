import type { Database } from "bun:sqlite"
import { dirname } from "node:path"
import { findGaps } from "../brokers/embedded/damage.ts"
import { LOST_QUARANTINED, readQuarantined } from "../brokers/spool/quarantine-table.ts"
import { DutyCycle } from "../clock/duty-cycle.ts"
import { counted } from "../words.ts"
import { HooklineError } from "../errors.ts"
import type { UnreadRecords } from "../kafka-listener/log.ts"
import { keptIn } from "../runtime/kept-files.ts"
import { DamagedFile, isDamage, salvage, unlessDamaged } from "../storage/damage.ts"
import { describeFailure, openForReading, pragma, type DatabaseLocation } from "../storage/database-file.ts"
import { checkUnlocked } from "../storage/writer-lock.ts"
import { chooseLog, type LogFlags } from "./log-choice.ts"
import { asJson, printLost } from "./lost-records.ts"

interface DamagedPage {
  readonly page: number
  /** The beginning of the page in the file, in bytes. */
  readonly offset: number
  /** The problem in the words of SQLite. */
  readonly problem: string
}

/** A file beside a log, and why it can't be read; null: it can. */
interface FileBeside {
  readonly file: string
  readonly problem: string | null
}

/** Of a core and of the disk, while a process writes to the log. */
const SHARE = 0.25

/**
 * Prints which pages and records of a log or spool can't be read, and which files beside a log; the exit status is 1 if any.
 *
 * @throws HooklineError `config`, `usage`, `no_log`, `no_input`
 */
export function checkLog(flags: LogFlags): void {
  const location = chooseLog(flags)
  const { file } = location
  using db = openForReading(location)
  salvage(db)
  const duty = new DutyCycle(isWritten(location) ? SHARE : 1)
  const pages = damagedPages(db, duty)
  const lost: UnreadRecords[] = []
  let records = 0
  for (const found of findGaps(db)) {
    duty.rest()
    if ("lost" in found) lost.push(found.lost)
    else records += found.records
  }
  const isSpool = location.kind === "spool"
  const quarantined = isSpool ? countQuarantined(db, duty) : undefined
  const beside = isSpool ? [] : checkBeside(dirname(file), duty)
  const unreadable = beside.filter(({ problem }) => problem !== null)
  const isDamaged = pages.length + lost.length > 0 || quarantined?.isDamaged === true
  if (isDamaged || unreadable.length > 0) process.exitCode = 1
  if (flags.json === true) {
    const found = { file, records, pages, lost: lost.map(asJson) }
    const also = quarantined === undefined ? { beside } : { quarantined: quarantined.records }
    return console.log(JSON.stringify({ ...found, ...also }, null, 2))
  }
  console.log(`${file}: ${counted(records, "record")} can be read`)
  for (const { page, offset, problem } of pages) console.log(`page ${page}, at byte ${offset}: ${problem}`)
  printLost(lost)
  if (quarantined?.isDamaged === true) console.log(LOST_QUARANTINED)
  if (isDamaged) console.log(location.remedy)
  for (const { problem } of unreadable) console.log(problem)
}

/** Whether a process has it open for writing now. */
function isWritten(location: DatabaseLocation): boolean {
  try {
    checkUnlocked(location)
    return false
  } catch (error) {
    if (!(error instanceof HooklineError) || error.code !== "log_locked") throw error
    return true
  }
}

function countQuarantined(
  db: Database,
  duty: DutyCycle,
): { readonly records: number; readonly isDamaged: boolean } {
  const rows = readQuarantined(db)
  for (let records = 0; ; records++) {
    const next = rows.next()
    duty.rest()
    if (next.done === true) return { records, isDamaged: next.value }
  }
}

/** Checks the structure of the databases that lie beside a log. */
function checkBeside(directory: string, duty: DutyCycle): readonly FileBeside[] {
  return keptIn(directory).flatMap(({ kind, path: file, location }) => {
    if (kind === "log" || location === undefined) return []
    const problem = problemOf(location) ?? null
    duty.rest()
    return { file, problem }
  })
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

/** Finds damaged pages by SQLite's check of the structure and its list of pages, a table at a time, up to where these fail. */
function damagedPages(db: Database, duty: DutyCycle): DamagedPage[] {
  const pages = new Map<number, string>()
  const attempt = (find: () => void): void => {
    try {
      find()
    } catch (error) {
      // the records are read one by one
      if (!isDamage(error)) throw error
    }
    duty.rest()
  }
  const check = (what: string): void =>
    attempt(() => {
      for (const { quick_check: text } of db
        .query<{ quick_check: string }, []>(`PRAGMA quick_check(${what})`)
        .all())
        for (const line of text.split("\n")) {
          const page = /page (\d+)/i.exec(line)?.[1]
          if (page !== undefined && !pages.has(Number(page))) pages.set(Number(page), line)
        }
    })
  const listPages = (tables: string): void =>
    attempt(() => {
      for (const { pageno, name } of db
        .query<{ pageno: number; name: string }, []>(
          `SELECT pageno, name FROM dbstat WHERE pagetype = 'corrupted' ${tables}`,
        )
        .iterate())
        pages.set(pageno, `not a page of table ${name}`)
    })
  if (duty.isWhole) {
    check("1000")
    listPages("")
  } else
    for (const name of tableNames(db)) {
      check(`'${name}'`)
      listPages(`AND name = '${name}'`)
    }
  const bytes = pragma(db, "page_size")
  return [...pages]
    .toSorted(([a], [b]) => a - b)
    .map(([page, problem]) => ({ page, offset: (page - 1) * bytes, problem }))
}

function tableNames(db: Database): readonly string[] {
  const tables = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'")
  const names = unlessDamaged(db, () => tables.all()) ?? []
  return names.map(({ name }) => name).filter((name) => /^\w+$/.test(name))
}
