import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { Database } from "bun:sqlite"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { cases } from "../../../test/support/cases.ts"
import { folderOfTests } from "../../../test/support/hookline.ts"
import { Random } from "../../../test/support/random.ts"
import { HooklineError } from "../../errors.ts"
import { Unreadable, type UnreadRecords } from "../../kafka-listener/log.ts"
import { isDamage } from "../../storage/damage.ts"
import { logIn } from "../../storage/database-file.ts"
import { packBatch } from "./batch.ts"
import { findGaps } from "./damage.ts"
import { KafkaLog } from "./kafka-log.ts"
import { LogCopy } from "./log-copy.ts"
import { LogDatabase } from "./log-database.ts"
import { PAGE_BYTES, recordsTable } from "./log-tables.ts"
import { partitionRows } from "./partition-rows.ts"
import { openEmbeddedReader } from "./reader.ts"

setDefaultTimeout(600_000)

const folder = folderOfTests()

const RECORDS = 300
const PARTITIONS = { webhooks: 2, audit: 1 } as const

/** A record by `topic partition offset`. */
type Records = ReadonlyMap<string, string>

const keyOf = (topic: string, partition: number, offset: number): string => `${topic} ${partition} ${offset}`

const random = new Random(7)

/** The log's file as it is, and as it was when half of the records were in it. */
let whole: Buffer
let half: Buffer
let records: Records

beforeAll(() => {
  const directory = folder.make("whole")
  const { file } = logIn(directory)
  const all = new Map<string, string>()
  const commit = (from: number, to: number): void => {
    const log = new LogDatabase(logIn(directory))
    log.prepare(1, [])
    for (let n = from; n < to; n++) {
      const topic = n % 5 === 0 ? "audit" : "webhooks"
      if (topic === "webhooks") log.prepare(PARTITIONS.webhooks, [])
      const size = n % 40 === 7 ? 40_000 : n % 3 === 0 ? 60 : 900
      const value = Buffer.from(`${n}`.padEnd(size, `${n},`))
      const record = { topic, value, ...(n % 2 === 0 && { key: Buffer.from(`k${n}`) }) }
      const { offsets, partitions } = log.commit(packBatch([{ record }]), 1000 + n)
      all.set(keyOf(topic, partitions?.[0] ?? 0, offsets[0]!), value.toString())
    }
    log.close()
  }
  commit(0, RECORDS / 2)
  half = readFileSync(file)
  commit(RECORDS / 2, RECORDS)
  whole = readFileSync(file)
  records = all
})

/** The records of each page of records, as SQLite lists the pages; of another page undefined. */
function recordsByPage(file: string): Map<number, Set<string>> {
  using db = new Database(file, { readonly: true })
  const tables = new Map(partitionRows(db).map((row) => [recordsTable(row), row]))
  const pages = db
    .query<{ name: string; pageno: number; pagetype: string }, []>(
      "SELECT name, pageno, pagetype FROM dbstat",
    )
    .all()
  return new Map(
    pages.flatMap(({ name, pageno, pagetype }): [number, Set<string>][] => {
      const row = tables.get(name)
      if (row === undefined || pagetype !== "leaf") return []
      const page = whole.subarray((pageno - 1) * PAGE_BYTES, pageno * PAGE_BYTES)
      const offsets = Array.from({ length: page.readUInt16BE(3) }, (_, n) => {
        const cell = page.readUInt16BE(8 + 2 * n)
        return varint(page, varint(page, cell).next).value
      })
      return [[pageno, new Set(offsets.map((offset) => keyOf(row.name, row.partition, offset)))]]
    }),
  )
}

/** https://sqlite.org/fileformat2.html#varint, of a small number */
function varint(bytes: Buffer, at: number): { value: number; next: number } {
  let value = 0
  for (let next = at; ; next++) {
    value = value * 128 + (bytes[next]! & 127)
    if (bytes[next]! < 128) return { value, next: next + 1 }
  }
}

afterAll(() => rmSync(folder.path, { recursive: true, force: true }))

/** What is lost is named, what is found is as it was. */
function expectAccounted(what: string, found: Records, lost: readonly UnreadRecords[]): Set<string> {
  const changed = [...found].filter(([key, value]) => value !== records.get(key)).map(([key]) => key)
  expect([what, changed]).toEqual([what, []])
  const missing = new Set([...records.keys()].filter((key) => !found.has(key)))
  const isNamed = (key: string): boolean => {
    const [topic, partition, offset] = key.split(" ") as [string, string, string]
    return lost.some(
      (one) =>
        one.topic === topic &&
        one.partition === Number(partition) &&
        Number(offset) >= one.first &&
        Number(offset) < one.end,
    )
  }
  expect([what, [...missing].filter((key) => !isNamed(key))]).toEqual([what, []])
  return missing
}

interface Read {
  readonly found: Map<string, string>
  readonly lost: UnreadRecords[]
}

/** As `hookline tail` reads it, continuing after what it names. */
async function tail(directory: string): Promise<Read> {
  const found = new Map<string, string>()
  const lost: UnreadRecords[] = []
  const reader = openEmbeddedReader(directory)
  const { signal } = new AbortController()
  for (const topic of Object.keys(PARTITIONS))
    for (const range of await reader.ranges(topic))
      for (let { first } = range; first < range.end;) {
        try {
          for await (const record of reader.read(topic, [{ ...range, first }], { signal, retries: false })) {
            found.set(keyOf(topic, record.partition, record.offset), Buffer.from(record.value).toString())
            first = record.offset + 1
          }
          break
        } catch (error) {
          const { cause } = error as HooklineError
          if (!(cause instanceof Unreadable)) throw error
          lost.push({ topic, partition: range.partition, ...cause.records })
          first = cause.records.end
        }
      }
  await reader.close()
  return { found, lost }
}

/** As Kafka clients read it. */
function fetchAll(directory: string): Read {
  const found = new Map<string, string>()
  const lost: UnreadRecords[] = []
  const log = new KafkaLog(directory)
  const unlessUnreadable = (of: { topic: string; partition: number }, read: () => number): number => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      lost.push({ ...of, ...error.records })
      return error.records.end
    }
  }
  for (const topic of log.topics())
    for (let partition = 0; partition < topic.partitions; partition++) {
      const of = { topic, partition }
      const named = { topic: topic.name, partition }
      unlessUnreadable(named, () => {
        const { first, end } = log.offsets(of)!
        for (let next = first; next < end;)
          next = unlessUnreadable(named, () => {
            let last = end
            for (const { offset, value } of log.records(of, next, end)) {
              found.set(keyOf(topic.name, partition, offset), Buffer.from(value).toString())
              last = offset + 1
            }
            return last
          })
        return end
      })
    }
  log.close()
  return { found, lost }
}

function check(directory: string): { records: number; lost: UnreadRecords[] } {
  using db = new Database(logIn(directory).file, { readonly: true })
  const found = [...findGaps(db)]
  return {
    records: found.reduce((sum, one) => sum + ("records" in one ? one.records : 0), 0),
    lost: found.flatMap((one) => ("lost" in one ? [one.lost] : [])),
  }
}

function copyTo(target: string, directory: string, kind: "backup" | "rescue"): UnreadRecords[] {
  mkdirSync(target)
  const lost: UnreadRecords[] = []
  using copy = new LogCopy(directory, logIn(target).file, kind)
  if (kind === "backup") copy.source.begin()
  copy.copyTables()
  copy.copyRecords(
    () => {},
    (records) => lost.push(records),
  )
  copy.close()
  return lost
}

/** undefined: it says that the file is damaged. */
async function unlessRefused<T>(read: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    const isSaid = isDamage(error) || isDamage((error as Error).cause) || error instanceof HooklineError
    if (!isSaid) throw error
    return undefined
  }
}

const SECTORS = [512, 4096]
const DAMAGE = {
  zeros: (sector: Buffer) => void sector.fill(0),
  noise: (sector: Buffer) => void sector.set(Array.from(sector, () => random.below(256))),
  "what it had before": (sector: Buffer, at: number) => {
    const before = half.subarray(at, at + sector.length)
    sector.fill(0)
    sector.set(before)
  },
  "a changed byte": (sector: Buffer) => {
    const at = random.below(sector.length)
    sector[at] = sector[at]! ^ (1 + random.below(255))
  },
} as const

const TRIALS = cases(1000, 40)

test(`${TRIALS} logs with a damaged sector: what is served, copied and counted is as it was, all else is named`, async () => {
  const sums = { refused: 0, whole: 0, lost: 0 }
  const ofPage = recordsByPage(logIn(join(folder.path, "whole")).file)
  const kinds = Object.keys(DAMAGE) as (keyof typeof DAMAGE)[]
  for (let trial = 0; trial < TRIALS; trial++) {
    const bytes = SECTORS[trial % 2]!
    const kind = kinds[(trial >> 1) % kinds.length]!
    // the first page, the last ones, and all between them
    const sectors = whole.length / bytes
    const sector = trial % 10 === 0 ? random.below(PAGE_BYTES / bytes) : random.below(sectors)
    const at = sector * bytes
    const damaged = Buffer.from(whole)
    DAMAGE[kind](damaged.subarray(at, at + bytes), at)
    const what = `trial ${trial}: ${kind} in ${bytes} bytes at ${at}, page ${Math.floor(at / PAGE_BYTES) + 1}`
    const own = folder.make(`trial-${trial}`)
    const directory = join(own, "log")
    mkdirSync(directory)
    writeFileSync(logIn(directory).file, damaged)

    const checked = await unlessRefused(() => check(directory))
    const tailed = await unlessRefused(() => tail(directory))
    const fetched = await unlessRefused(() => fetchAll(directory))
    if (tailed) expectAccounted(`${what}, tail`, tailed.found, tailed.lost)
    if (fetched) expectAccounted(`${what}, fetched`, fetched.found, fetched.lost)
    const rescued = await unlessRefused(() => copyTo(join(own, "rescued"), directory, "rescue"))
    let missing = new Set<string>()
    if (rescued) {
      const { found, lost } = await tail(join(own, "rescued"))
      expect([what, lost]).toEqual([what, []])
      missing = expectAccounted(`${what}, rescued`, found, rescued)
      // where the description of a table alone is damaged, a rescue knows it
      expect([what, checked]).toEqual([what, { records: found.size, lost: expect.arrayContaining(rescued) }])
      // once more, and nothing is missed that was named
      expect([what, check(join(own, "rescued"))]).toEqual([what, { records: found.size, lost: [] }])
      const log = new LogDatabase(logIn(join(own, "rescued")))
      log.close()
    } else sums.refused++
    const backedUp = await unlessRefused(() => copyTo(join(own, "backup"), directory, "backup"))
    if (backedUp?.length === 0) {
      const { found, lost } = await tail(join(own, "backup"))
      expect([what, found.size, lost]).toEqual([what, records.size, []])
    }
    await unlessRefused(() => {
      const log = new LogDatabase(logIn(directory))
      const ends = [...log.topics.values()].flatMap(({ name, partitions }) =>
        partitions.map(
          ({ partition, nextOffset }) => [keyOf(name, partition, nextOffset), nextOffset] as const,
        ),
      )
      log.close()
      for (const [end, nextOffset] of ends)
        expect([what, end, records.has(end), nextOffset === 0]).toEqual([what, end, false, false])
    })
    const others = ofPage.get(Math.floor(at / PAGE_BYTES) + 1)
    if (others !== undefined) expect([what, [...missing.difference(others)]]).toEqual([what, []])
    if (rescued && missing.size === 0) sums.whole++
    else sums.lost += missing.size
    rmSync(own, { recursive: true })
  }
  console.log(`damaged sectors: ${TRIALS} logs of ${records.size} records`, sums)
})
