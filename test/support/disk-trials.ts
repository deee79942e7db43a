/**
 * A program of its own, started with the model of disk-model.c: opens what is durable, has its disk fail, goes on when it
 * can, and looks at what power cuts leave. Each line of its input is a `Trial`, each line of its output an `Outcome`.
 */
import { Database } from "bun:sqlite"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import type { DatabaseLocation } from "../../src/storage/database-file.ts"
import { logIn } from "../../src/storage/database-file.ts"
import { packBatch } from "../../src/brokers/embedded/batch.ts"
import { LogDatabase } from "../../src/brokers/embedded/log-database.ts"
import type { LogFile } from "../../src/brokers/embedded/log-file.ts"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { openSpoolDatabase, spoolAt } from "../../src/brokers/spool/spool-database.ts"
import { SpooledBroker } from "../../src/brokers/spool/spool.ts"
import { SqliteKeys } from "../../src/dedupe/sqlite-keys.ts"
import { dedupeFileIn, KeyDatabase } from "../../src/dedupe/key-database.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { loadedDiskModel, type Kept, type PowerCut } from "./disk-model.ts"
import { temporaryFolder } from "./hookline.ts"

/** `bare` is SQLite as it is, closed and opened again after a failure: what shows that the model does lose records. */
export type Kind = "log" | "spool" | "keys" | "bare"

/** One failure of one disk. */
export interface Trial {
  readonly kind: Kind
  /** Whether calls are counted from the first opening, or after many records were written. */
  readonly from: "start" | "running"
  /** The first call that fails, from 1. */
  readonly n: number
  /** How many fail. */
  readonly calls: number
  /** Power cuts besides the one at the end: after so many calls more than `n`. */
  readonly cuts: readonly { readonly after: number; readonly kept: Kept }[]
  readonly seed: number
  /** A reader of the log whose snapshot cuts a checkpoint short; then it leaves, or stays for as long as it may. */
  readonly reader?: "leaves" | "stays"
}

/** What a trial did to the records that were published. */
export interface Outcome {
  readonly trial: Trial
  /** How many of the calls that were to fail did. */
  readonly failed: number
  readonly sent: number
  readonly acknowledged: number
  /** After the cut at the end. */
  readonly found: number
  /** Acknowledged before a cut and not there after it, over all cuts. */
  readonly lost: number
  readonly longestWaitMs: number
  /** What is wrong besides; empty: nothing. */
  readonly complaints: readonly string[]
}

/** What is published one after the other. */
interface Opened {
  /** Resolves when it is durable; with its offset where it has one. */
  put(index: number): Promise<number | undefined>
  ready(): true | string
  close(): Promise<void>
}

interface Subject {
  place(folder: string): DatabaseLocation
  /** @param filling how many records come before the disk fails */
  open(folder: string, filling: number): Opened
  /** Fills it so that the next calls carry the WAL over; the disk fails after that. */
  fill(put: (index: number) => Promise<void>, filling: number): Promise<void>
  /** Opens what a cut left and closes it again. Yields what is there. */
  left(folder: string): ReadonlyMap<number, number | undefined>
}

const TOPIC = "t"
/** With the next one of these the WAL is carried over: see embedded-writer.ts. */
const FILLING = 20
const FILLING_BYTES = 50_000
/** Small ones, and some that take several pages. */
const bytesOf = (index: number, filling: number): number =>
  index <= filling ? FILLING_BYTES : index % 5 === 0 ? 40_000 : 300
const valueOf = (index: number, bytes: number): Buffer =>
  Buffer.from(`${index}:`.padEnd(bytes, `${index % 10}`))
const indexOf = (value: Uint8Array): number => {
  const index = Number.parseInt(Buffer.from(value.subarray(0, 16)).toString())
  if (!valueOf(index, value.length).equals(value))
    throw new Error(`the value of record ${index} is another one`)
  return index
}
const recordOf = (index: number, filling: number): { topic: string; value: Uint8Array } => {
  return { topic: TOPIC, value: valueOf(index, bytesOf(index, filling)) }
}
/** The same of dedupe keys: see key-database.ts. */
const FILLING_KEYS = 1980
const keyOf = (index: number): string => `${index}`.padStart(22, "k")
const FOR_EVER_MS = 4_000_000_000_000
const PUBLISH_MS = 5000

const log = pino({ level: "silent" })

/** What a log's file holds, opened as Hookline opens it. */
function leftIn(writer: LogFile, place: DatabaseLocation): Map<number, number> {
  const db = new Database(place.file, { readonly: true })
  try {
    const made = db.query("SELECT id FROM topics WHERE name = ?").get(TOPIC) as { id: number } | null
    const rows =
      made === null
        ? []
        : db
            .query<{ offset: number; value: Uint8Array }, []>(
              `SELECT offset, value FROM records_${made.id} ORDER BY offset`,
            )
            .all()
    const left = new Map(rows.map(({ offset, value }) => [indexOf(value), offset]))
    const batch = packBatch([{ record: { topic: TOPIC, value: valueOf(-1, 300) } }])
    const [next] = writer.commit(batch, 0).offsets
    if (rows.some(({ offset }) => offset >= next!)) throw new Error(`offset ${next} is used again`)
    return left
  } finally {
    db.close()
    writer.close()
  }
}

const subjects: { readonly [K in Kind]: Subject } = {
  log: {
    place: logIn,
    open(directory, filling) {
      const broker = openEmbedded({ directory }, { log, metrics: { batch() {} } })
      return {
        put: async (index) =>
          (await broker.publish(recordOf(index, filling), steadyMs() + PUBLISH_MS)).offset,
        ready: () => broker.ready(),
        close: () => broker.close(),
      }
    },
    fill: inTurn,
    left: (directory) => leftIn(new LogDatabase(logIn(directory)), logIn(directory)),
  },
  spool: {
    place: (folder) => spoolAt(join(folder, "spool.sqlite")),
    open(folder, filling) {
      const metrics = { spooled() {}, forwarded() {}, quarantined() {} }
      const spool = new SpooledBroker({ file: join(folder, "spool.sqlite"), maxBytes: 1e9 }, { log, metrics })
      return {
        put: async (index) => {
          await spool.publish(recordOf(index, filling), steadyMs() + PUBLISH_MS)
          return undefined
        },
        ready: () => (spool.spool().problem === undefined ? true : spool.spool().problem!),
        close: () => spool.close(),
      }
    },
    fill: inTurn,
    left(folder) {
      const place = spoolAt(join(folder, "spool.sqlite"))
      const offsets = leftIn(openSpoolDatabase(place), place)
      return new Map([...offsets.keys()].map((index) => [index, undefined]))
    },
  },
  keys: {
    place: dedupeFileIn,
    open(folder) {
      const store = new SqliteKeys(folder, { log })
      return {
        async put(index) {
          const claim = await store.claim(keyOf(index), steadyMs() + PUBLISH_MS)
          if (claim !== "first") throw new Error(`key ${index} is a ${String(claim)}`)
          if (!(await store.add(keyOf(index), FOR_EVER_MS, steadyMs() + PUBLISH_MS)))
            throw new Error("not durable")
          return undefined
        },
        ready: () => store.ready(),
        close: () => store.close(),
      }
    },
    async fill(put) {
      await Promise.all(Array.from({ length: FILLING_KEYS }, (_, index) => put(index)))
    },
    left(folder) {
      const place = dedupeFileIn(folder)
      const file = new KeyDatabase(place)
      const db = new Database(place.file, { readonly: true })
      try {
        const rows = db.query<{ key: string }, []>("SELECT key FROM marks").all()
        file.write([[keyOf(999_999), FOR_EVER_MS]])
        const indexes = rows.map(({ key }) => Number(key.replace(/^k*/, "")))
        for (const index of indexes)
          if (file.untilOf([keyOf(index)])[0] === undefined) throw new Error("a key is not found")
        return new Map(indexes.map((index) => [index, undefined]))
      } finally {
        db.close()
        file.close()
      }
    },
  },
  bare: {
    place: (folder) => ({ ...dedupeFileIn(folder), file: join(folder, "bare.sqlite") }),
    open: (folder) => new BareFile(subjects.bare.place(folder)),
    fill: inTurn,
    left(folder) {
      const db = new Database(subjects.bare.place(folder).file, { create: true, readwrite: true })
      try {
        const rows = db.query<{ value: Uint8Array }, []>("SELECT value FROM records_1").all()
        return new Map(rows.map(({ value }) => [indexOf(value), undefined]))
      } finally {
        db.close()
      }
    },
  },
}

class BareFile implements Opened {
  readonly #file: string
  #db: Database | undefined

  constructor({ file }: DatabaseLocation) {
    this.#file = file
    this.#open()
  }

  async put(index: number): Promise<undefined> {
    try {
      this.#db!
        .query("INSERT INTO records_1 VALUES (?, ?)")
        .run(index, valueOf(index, bytesOf(index, FILLING)))
      return undefined
    } catch (error) {
      this.#db!.close()
      this.#db = undefined
      throw error
    }
  }

  ready(): true | string {
    try {
      if (this.#db === undefined) this.#open()
      return true
    } catch (error) {
      return String(error)
    }
  }

  async close(): Promise<void> {
    this.#db?.close()
  }

  #open(): void {
    const db = new Database(this.#file, { create: true, readwrite: true })
    try {
      for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 0"])
        db.run(`PRAGMA ${pragma}`)
      db.run("CREATE TABLE IF NOT EXISTS records_1 (id INTEGER PRIMARY KEY, value BLOB)")
      this.#db = db
    } catch (error) {
      db.close()
      throw error
    }
  }
}

async function inTurn(put: (index: number) => Promise<void>, filling: number): Promise<void> {
  for (let index = 0; index < filling; index++) await put(index)
}

/** Records that are published once all calls that were to fail have failed, and the most in all. */
const RECORDS_AFTER = 12
const MOST_RECORDS = 3000
const BACK_WITHIN_MS = 60_000
const POLL_MS = 5

const model = loadedDiskModel()
using root = temporaryFolder()
let folders = 0

async function run(trial: Trial): Promise<Outcome> {
  const base = join(root.path, `${folders++}`)
  const at = (name: string): string => {
    mkdirSync(join(base, name), { recursive: true })
    return join(base, name)
  }
  const folder = at("disk")
  const subject = subjects[trial.kind]
  const disk = model.add(folder, at("shadow"))
  const acknowledged: { index: number; offset: number | undefined }[] = []
  let next = 0
  let longestWaitMs = 0
  const put = async (opened: Opened, index: number): Promise<boolean> => {
    const startedMs = steadyMs()
    try {
      const offset = await opened.put(index)
      acknowledged.push({ index, offset })
      disk.acknowledge()
      return true
    } catch (error) {
      if (
        (error as { code?: string }).code === undefined &&
        !(error as Error).message.includes("not durable")
      )
        throw error
      return false
    } finally {
      longestWaitMs = Math.max(longestWaitMs, steadyMs() - startedMs)
    }
  }

  const cuts: PowerCut[] = []
  const begin = (): void => {
    disk.fail(trial.n, trial.calls)
    for (const { after, kept } of trial.cuts)
      cuts.push(disk.cut(trial.n + after, at(`cut-${after}`), kept, trial.seed))
  }
  if (trial.from === "start") begin()
  // with a reader there are two checkpoints: the one that it cuts short, and the one behind it
  const filling = trial.from === "start" ? 0 : trial.reader === undefined ? FILLING : 2 * FILLING + 1
  const opened = await openAtLast(() => subject.open(folder, filling))
  let reader: Database | undefined
  if (trial.from === "running") {
    await subject.fill(async (index) => {
      if (!(await put(opened, index))) throw new Error("a disk without faults failed")
      next = Math.max(next, index + 1)
      if (trial.reader === undefined) return
      if (index === FILLING - 1) reader = snapshotOf(subject.place(folder))
      if (index === FILLING + 2) {
        reader!.run("COMMIT")
        if (trial.reader === "leaves") reader!.close()
      }
    }, filling)
    begin()
  }
  let left = RECORDS_AFTER
  while (left > 0 && next < MOST_RECORDS) {
    if (await put(opened, next++)) left -= disk.failed() === trial.calls ? 1 : 0
    else
      await until(() => {
        const ready = opened.ready()
        // it stays for as long as it is not said to be in the way
        if (ready !== true && ready.includes("is being read")) reader?.close()
        return ready === true
      })
  }
  cuts.push(disk.cut(0, at("end"), "none", trial.seed))

  const complaints: string[] = []
  const lost = new Set<number>()
  let found = 0
  for (const cut of cuts) {
    const count = cut.acknowledged()
    if (count === undefined) continue
    const place = subject.place(cut.folder)
    let there: ReadonlyMap<number, number | undefined> = new Map()
    try {
      there = subject.left(cut.folder)
      checkWhole(place)
      found = there.size
    } catch (error) {
      complaints.push(`${cut.folder.split("/").at(-1)}, kept ${cut.kept}: ${(error as Error).message}`)
    }
    for (const { index, offset } of acknowledged.slice(0, count)) {
      if (!there.has(index)) lost.add(index)
      else if (there.get(index) !== offset) complaints.push(`record ${index} has another offset`)
    }
  }
  const failed = disk.failed()
  disk.remove()
  reader?.close()
  await opened.close()
  rmSync(base, { recursive: true })
  return {
    trial,
    failed,
    sent: next,
    acknowledged: acknowledged.length,
    found,
    lost: lost.size,
    longestWaitMs,
    complaints,
  }
}

/** A reader within a transaction. */
function snapshotOf({ file }: DatabaseLocation): Database {
  const db = new Database(file, { readonly: true })
  db.run("BEGIN")
  db.query("SELECT count(*) FROM topics").get()
  return db
}

/** A start that fails is repeated, as by whatever supervises it. */
async function openAtLast(open: () => Opened): Promise<Opened> {
  for (let attempt = 0; ; attempt++) {
    try {
      return open()
    } catch (error) {
      if (attempt > 100) throw error
      await Bun.sleep(POLL_MS)
    }
  }
}

async function until(condition: () => boolean): Promise<void> {
  const untilMs = steadyMs() + BACK_WITHIN_MS
  while (!condition()) {
    if (steadyMs() > untilMs) throw new Error("it never came back")
    await Bun.sleep(POLL_MS)
  }
}

function checkWhole({ file }: DatabaseLocation): void {
  const db = new Database(file, { readonly: true })
  try {
    const rows = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all()
    const found = rows.map((row) => row.integrity_check).join("; ")
    if (found !== "ok") throw new Error(`the file is damaged: ${found}`)
  } finally {
    db.close()
  }
}

/** Most of a trial's time is waiting for the next attempt to open the file. */
const AT_ONCE: { readonly [K in Kind]: number } = { log: 32, spool: 32, keys: 64, bare: 8 }

const trials = (await Bun.stdin.text())
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Trial)
let at = 0
const lanes = Array.from({ length: AT_ONCE[trials[0]!.kind] }, async () => {
  while (at < trials.length) {
    const trial = trials[at++]!
    let outcome: Outcome
    try {
      outcome = await run(trial)
    } catch (error) {
      const complaints = [(error as Error).stack ?? String(error)]
      outcome = {
        trial,
        failed: 0,
        sent: 0,
        acknowledged: 0,
        found: 0,
        lost: 0,
        longestWaitMs: 0,
        complaints,
      }
    }
    process.stdout.write(`${JSON.stringify(outcome)}\n`)
  }
})
await Promise.all(lanes)
