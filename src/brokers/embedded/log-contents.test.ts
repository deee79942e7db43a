import { afterEach, expect, test } from "bun:test"
import { cpSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { untilEpochsArePast } from "../../../test/support/embedded-log.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { logIn } from "../../storage/database-file.ts"
import { packBatch } from "./batch.ts"
import { LogDatabase } from "./log-database.ts"

const folder = temporaryFolder()
const opened: LogDatabase[] = []
afterEach(() => {
  for (const one of opened.splice(0)) one.close()
  folder[Symbol.dispose]()
})

function open(name: string): LogDatabase {
  const database = new LogDatabase(logIn(join(folder.path, name)))
  opened.push(database)
  return database
}

const commit = (database: LogDatabase, records: number): unknown =>
  database.commitWithKeys(
    packBatch(Array.from({ length: records }, () => ({ record: { topic: "t", value: Buffer.from("x") } }))),
    [],
    Date.now(),
    undefined,
  )

function close(database: LogDatabase): void {
  database.close()
  opened.splice(opened.indexOf(database), 1)
}

test.each([
  ["shorter", 0],
  ["longer, with other records", 20],
])("a file that is opened again is not followed by an earlier copy that is %s", async (_, more) => {
  mkdirSync(join(folder.path, "log"))
  const first = open("log")
  commit(first, 5)
  close(first)
  cpSync(join(folder.path, "log"), join(folder.path, "copy"), { recursive: true })
  const log = open("log")
  commit(log, 5)
  await untilEpochsArePast()
  const copy = open("copy")
  if (more > 0) commit(copy, more)
  expect(() => copy.follow(log)).toThrow(
    /lacks the record at offset 9 of topic t, partition 0, .* an earlier copy was written over it/,
  )
  close(log)
  const again = open("log")
  again.follow(log)
  commit(again, 5)
  again.follow(log)
})
