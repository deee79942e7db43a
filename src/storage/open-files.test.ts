import { Database } from "bun:sqlite"
import { afterEach, expect, test } from "bun:test"
import { readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { packBatch } from "../brokers/embedded/batch.ts"
import { GroupDatabase, groupsIn } from "../brokers/embedded/group-database.ts"
import { LogDatabase } from "../brokers/embedded/log-database.ts"
import { SpoolDatabase, spoolAt } from "../brokers/spool/spool-database.ts"
import { dedupeFileIn, KeyDatabase } from "../dedupe/key-database.ts"
import { temporaryFolder } from "../../test/support/hookline.ts"
import { logIn, type DatabaseLocation } from "./database-file.ts"
import type { DurableDatabase } from "./durable-database.ts"
import { WalChanged, WalTruncated } from "./open-files.ts"

const folder = temporaryFolder()
afterEach(() => folder[Symbol.dispose]())

const batchOf = (value: string): ReturnType<typeof packBatch> =>
  packBatch([{ record: { topic: "t", value: Buffer.from(value.padEnd(3000, ".")) } }])

/** A database, and what commits to it. */
interface Kind {
  readonly location: () => DatabaseLocation
  readonly open: () => { readonly database: DurableDatabase; readonly commit: (text: string) => void }
  /** How many commits can be read. */
  readonly count: string
}

const KINDS: readonly (readonly [string, Kind])[] = [
  [
    "the embedded log",
    {
      location: () => logIn(folder.path),
      open() {
        const database = new LogDatabase(logIn(folder.path))
        return { database, commit: (text) => void database.commitWithKeys(batchOf(text), [], 1, undefined) }
      },
      count: "SELECT count(*) AS n FROM records_1",
    },
  ],
  [
    "a spool",
    {
      location: () => spoolAt(join(folder.path, "spool.sqlite")),
      open() {
        const database = new SpoolDatabase(spoolAt(join(folder.path, "spool.sqlite")))
        return { database, commit: (text) => void database.commitSpooled(batchOf(text), 1) }
      },
      count: "SELECT count(*) AS n FROM records_1",
    },
  ],
  [
    "a Deduplicator's store",
    {
      location: () => dedupeFileIn(folder.path),
      open() {
        const database = new KeyDatabase(dedupeFileIn(folder.path))
        return { database, commit: (text) => database.operations.write([[text, 1, -1, -1]], []) }
      },
      count: "SELECT count(*) AS n FROM marks",
    },
  ],
  [
    "the consumer groups",
    {
      location: () => groupsIn(folder.path),
      open() {
        const database = new GroupDatabase(groupsIn(folder.path))
        const commit = (text: string): void =>
          database.write({ groups: [], offsets: [[text, "t", 0, { offset: 1 } as never]] })
        return { database, commit }
      },
      count: "SELECT count(*) AS n FROM offsets",
    },
  ],
]

function thrownBy(run: () => void): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

/** Closes it as its thread does, and reads what a start finds. */
function leftAfter({ location, open, count }: Kind, database: DurableDatabase, error: unknown): number {
  database.closeFailed(error)
  open().database.close()
  using db = new Database(location().file, { readonly: true })
  expect(db.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }])
  return db.query<{ n: number }, []>(count).get()!.n
}

for (const [name, kind] of KINDS) {
  const wal = (): string => `${kind.location().file}-wal`
  const truncateTo = (bytes: (now: number) => number): void =>
    truncateSync(wal(), bytes(statSync(wal()).size))

  test.each([
    ["to nothing", (): number => 0],
    ["to its header", () => 32],
    ["in its middle", (now: number) => Math.floor(now / 2)],
    ["by a byte", (now: number) => now - 1],
  ])("%s: a WAL that another program truncates %s takes no commit".replace("%s", name), (_, bytes) => {
    const { database, commit } = kind.open()
    commit("checkpointed")
    database["checkpointNow"]("PASSIVE")
    for (let n = 0; n < 10; n++) commit(`before ${n}`)
    truncateTo(bytes)
    const error = thrownBy(() => commit("after"))
    expect(error).toBeInstanceOf(WalTruncated)
    expect((error as Error).message).toContain(`${wal()} was truncated by another program`)
    const left = leftAfter(kind, database, error)
    expect(left).toBeGreaterThanOrEqual(1)
    expect(left).toBeLessThan(11)
  })

  test(`${name}: one that the end of a reader's process empties takes commits, since all of it is in the database`, async () => {
    const { database, commit } = kind.open()
    const read = async (): Promise<void> => {
      // not closed: Bun checkpoints at the end of the process
      const script = `new (require("bun:sqlite").Database)(process.argv[1], { readonly: true }).query("SELECT * FROM sqlite_schema").all()`
      const reader = Bun.spawn([process.execPath, "-e", script, kind.location().file])
      expect(await reader.exited).toBe(0)
    }
    await read()
    commit("first")
    database["checkpointNow"]("PASSIVE")
    expect(statSync(wal()).size).toBeGreaterThan(0)
    await read()
    expect(statSync(wal()).size).toBe(0)
    expect(database.files.whyTruncated).toBeUndefined()
    for (let n = 0; n < 3; n++) commit(`later ${n}`)
    expect(statSync(wal()).size).toBeGreaterThan(0)
    await read()
    expect(statSync(wal()).size).toBeGreaterThan(0)
    commit("last")
    database.close()
    using db = new Database(kind.location().file, { readonly: true })
    expect(db.query<{ n: number }, []>(kind.count).get()!.n).toBe(5)
  })

  test(`${name}: one that is truncated while nothing is committed is noticed by the next poll of the lock`, () => {
    const { database, commit } = kind.open()
    commit("before")
    truncateTo(() => 0)
    const error = thrownBy(() => database.pollLock())
    expect(error).toBeInstanceOf(WalTruncated)
    database.closeFailed(error)
  })

  test(`${name}: one that is truncated is not checkpointed`, () => {
    const { database, commit } = kind.open()
    commit("before")
    const before = readFileSync(kind.location().file)
    truncateTo(() => 40)
    const error = thrownBy(() => database["checkpointNow"]("PASSIVE"))
    expect(error).toBeInstanceOf(WalTruncated)
    database.closeFailed(error)
    expect(readFileSync(kind.location().file).equals(before)).toBe(true)
  })

  test(`${name}: one that another program writes to takes no commit until it was read anew, and is whole then`, () => {
    const { database, commit } = kind.open()
    commit("before")
    const other = new Database(kind.location().file)
    other.run("CREATE TABLE other (a)")
    other.close()
    const error = thrownBy(() => commit("after"))
    expect(error).toBeInstanceOf(WalChanged)
    expect(error).not.toBeInstanceOf(WalTruncated)
    expect(leftAfter(kind, database, error)).toBe(1)
  })
}

test("the same WAL with another time of modification is not the one that was left", () => {
  const database = new LogDatabase(logIn(folder.path))
  database.commitWithKeys(batchOf("before"), [], 1, undefined)
  utimesSync(`${logIn(folder.path).file}-wal`, 1, 1)
  const error = thrownBy(() => database.pollLock())
  expect(error).toBeInstanceOf(WalChanged)
  database.closeFailed(error)
})

test.each([
  ["truncated to nothing", (wal: string) => truncateSync(wal, 0)],
  ["replaced by an earlier copy", (wal: string, copy: Buffer) => writeFileSync(wal, copy)],
])("a WAL that is %s while a transaction is under way fails its commit", (_, change) => {
  for (const before of [0, 1, 5]) {
    const database = new LogDatabase(logIn(folder.path))
    const wal = `${database.location.file}-wal`
    const copy = readFileSync(wal)
    for (let n = 0; n < before; n++) database.commitWithKeys(batchOf(`before ${n}`), [], 1, undefined)
    const error = thrownBy(() => void database.commit(batchOf("after"), 1, () => change(wal, copy)))
    // an empty one that is truncated is as it was
    if (before > 0) expect(error).toBeInstanceOf(WalTruncated)
    database.closeFailed(error)
  }
})

test("a WAL that is truncated between a first commit and its check is noticed", () => {
  const database = new LogDatabase(logIn(folder.path))
  const check = database.files.check.bind(database.files)
  database.files.check = () => {
    truncateSync(`${database.location.file}-wal`, 0)
    return check()
  }
  const error = thrownBy(() => void database.commitWithKeys(batchOf("after"), [], 1, undefined))
  expect(error).toMatchObject({ code: "SQLITE_IOERR_SHORT_READ" })
  database.closeFailed(error)
})

test("what this process writes and checkpoints by itself is no change of another program", () => {
  const database = new LogDatabase(logIn(folder.path))
  for (let n = 0; n < 600; n++) {
    database.commitWithKeys(batchOf(`${n}`), [], 1, undefined)
    database.afterAnswer()
    if (n % 50 === 0) database.pollLock()
  }
  database["checkpointNow"]("PASSIVE")
  // the next commit begins the WAL anew
  database.pollLock()
  database.commitWithKeys(batchOf("last"), [], 1, undefined)
  database.pollLock()
  database.close()
})
