import { afterEach, beforeEach, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkDatabase } from "./check-database.ts"
import { logIn } from "./database-file.ts"

let folder: string
beforeEach(() => {
  // a name that is no URI as it stands
  folder = join(mkdtempSync(join(tmpdir(), "hookline-check-")), "50% ?#ü")
})
afterEach(() => rmSync(join(folder, ".."), { recursive: true }))

/** Whether another process can begin to write to a file now. */
function isFree(file: string): boolean {
  const script = `const { Database } = require("bun:sqlite")
    const db = new Database(process.argv[1])
    db.run("BEGIN IMMEDIATE")`
  return Bun.spawnSync([process.execPath, "-e", script, file]).success
}

test("leaves nothing in the folder, and the locks of this process as they are", () => {
  const location = logIn(folder)
  checkDatabase(location)
  expect(readdirSync(join(folder, ".."))).toEqual([])

  mkdirSync(folder)
  const writer = new Database(location.file)
  writer.run(`PRAGMA application_id = ${location.applicationId}`)
  writer.run("BEGIN IMMEDIATE")
  expect(isFree(location.file)).toBe(false)
  const before = readdirSync(folder)
  checkDatabase(location)
  expect(readdirSync(folder)).toEqual(before)
  expect(isFree(location.file)).toBe(false)
  writer.close()
  expect(isFree(location.file)).toBe(true)
})

test("a file that a power cut or a kill left to its WAL is whole: it is not called damaged", () => {
  const location = logIn(folder)
  mkdirSync(folder)
  const writer = new Database(location.file)
  writer.run("PRAGMA journal_mode = WAL")
  writer.run("PRAGMA wal_autocheckpoint = 0")
  writer.run(`PRAGMA application_id = ${location.applicationId}`)
  writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
  writer.run("CREATE TABLE filler (bytes BLOB)")
  for (let i = 0; i < 100; i++) writer.run("INSERT INTO filler VALUES (zeroblob(4000))")
  const wal = readFileSync(`${location.file}-wal`)
  writer.run("PRAGMA wal_checkpoint(TRUNCATE)")
  writer.close()
  // checkpointed in part: the header was written, the pages at the end were not
  truncateSync(location.file, 5 * 4096)
  writeFileSync(`${location.file}-wal`, wal)

  checkDatabase(location)
  using again = new Database(location.file)
  expect(again.query("PRAGMA integrity_check").values()).toEqual([["ok"]])
})
