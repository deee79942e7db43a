import { Database } from "bun:sqlite"
import { readFileSync, writeFileSync } from "node:fs"
import type { StoredRecord } from "../../../src/brokers/broker.ts"
import { KafkaLog } from "../../../src/brokers/embedded/kafka-log.ts"
import { LogDatabase } from "../../../src/brokers/embedded/log-database.ts"
import { PAGE_BYTES, recordsTable } from "../../../src/brokers/embedded/log-tables.ts"
import { partitionRows } from "../../../src/brokers/embedded/partition-rows.ts"
import { Unreadable } from "../../../src/kafka-listener/log.ts"
import { isDamage } from "../../../src/storage/damage.ts"
import { logIn } from "../../../src/storage/database-file.ts"
import { Random } from "../../support/random.ts"
import type { World } from "../world.ts"
import type { Sector } from "./scenario.ts"

/** `topic/partition/offset` of a record. */
type Place = string

const placeOf = (topic: string, partition: number, offset: number): Place => `${topic}/${partition}/${offset}`

/** Copies of a log with a damaged sector. A write that was lost leaves what the copy before had there. */
export class DamagedLogs {
  readonly #world: World
  #earlier: Buffer | undefined

  constructor(world: World) {
    this.#world = world
  }

  /**
   * Damages a sector of a log that was closed, and compares: each record is served as it was or named as unreadable, and a
   * writer begins behind them all or refuses the file.
   *
   * @param whole its records
   */
  check(directory: string, whole: readonly StoredRecord[], sector: Sector, when: string): void {
    const { file } = logIn(directory)
    const bytes = readFileSync(file)
    const at = Math.floor((bytes.length / sector.bytes) * sector.at) * sector.bytes
    const isOfRecords = isPageOfRecords(file, Math.floor(at / PAGE_BYTES) + 1)
    const earlier = this.#earlier
    this.#earlier = Buffer.from(bytes)
    damage(bytes.subarray(at, at + sector.bytes), sector, earlier?.subarray(at, at + sector.bytes))
    writeFileSync(file, bytes)
    const what = `${when}, ${sector.how} in ${sector.bytes} bytes`
    this.#checkServed(directory, whole, isOfRecords, what)
    this.#checkNext(directory, whole, what)
  }

  #checkServed(directory: string, whole: readonly StoredRecord[], isOfRecords: boolean, what: string): void {
    const read = unlessDamaged(() => served(directory))
    if (read === undefined) {
      if (isOfRecords) this.#world.violate(`${what}: nothing is served, though records alone are damaged`)
      return
    }
    const left = new Map(
      whole.map((record) => [placeOf(record.topic, record.partition, record.offset), record]),
    )
    for (const [place, value] of read.found) {
      const before = left.get(place)
      if (before === undefined || Buffer.compare(before.value, value) !== 0)
        this.#world.violate(`${what}: what is served at ${place} is not what was stored there`)
      left.delete(place)
    }
    for (const [place, { topic, partition, offset }] of left)
      if (
        !read.unreadable.some(
          (one) =>
            one.topic === topic && one.partition === partition && offset >= one.first && offset < one.end,
        )
      )
        this.#world.violate(`${what}: the record at ${place} is neither served nor named`)
  }

  #checkNext(directory: string, whole: readonly StoredRecord[], what: string): void {
    const ends = unlessDamaged(() => {
      const log = new LogDatabase(logIn(directory))
      try {
        return new Map(
          [...log.topics.values()].flatMap(({ name, partitions }) =>
            partitions.map(({ partition, nextOffset }) => [placeOf(name, partition, 0), nextOffset] as const),
          ),
        )
      } finally {
        log.close()
      }
    })
    if (ends === undefined) return
    for (const { topic, partition, offset } of whole)
      if ((ends.get(placeOf(topic, partition, 0)) ?? 0) <= offset)
        this.#world.violate(
          `${what}: the next record comes to ${placeOf(topic, partition, offset)} or before it`,
        )
  }
}

function damage(bytes: Buffer, { how, seed }: Sector, earlier: Buffer | undefined): void {
  const random = new Random(seed)
  bytes.fill(0)
  if (how === "noise") bytes.set(Array.from(bytes, () => random.below(256)))
  // a sector that was not there is empty
  if (how === "an earlier version") earlier?.copy(bytes)
}

/** Whether a page has records of a partition, and nothing else. */
function isPageOfRecords(file: string, page: number): boolean {
  const db = new Database(file, { readonly: true })
  try {
    const tables = new Set(partitionRows(db).map(recordsTable))
    const found = db
      .query<{ name: string; pagetype: string }, [number]>(
        "SELECT name, pagetype FROM dbstat WHERE pageno = ?",
      )
      .get(page)
    return found !== null && found.pagetype === "leaf" && tables.has(found.name)
  } finally {
    db.close()
  }
}

interface Served {
  readonly found: Map<Place, Uint8Array>
  readonly unreadable: { topic: string; partition: number; first: number; end: number }[]
}

/** What Kafka clients read of a log. */
function served(directory: string): Served {
  const all: Served = { found: new Map(), unreadable: [] }
  const log = new KafkaLog(directory)
  try {
    for (const topic of log.topics())
      for (let partition = 0; partition < topic.partitions; partition++) {
        const unlessUnreadable = (read: () => number): number => {
          try {
            return read()
          } catch (error) {
            if (!(error instanceof Unreadable)) throw error
            all.unreadable.push({ topic: topic.name, partition, ...error.records })
            return error.records.end
          }
        }
        const of = { topic, partition }
        unlessUnreadable(() => {
          const { first, end } = log.offsets(of)!
          for (let next = first; next < end;)
            next = unlessUnreadable(() => {
              let after = end
              for (const { offset, value } of log.records(of, next, end)) {
                all.found.set(placeOf(topic.name, partition, offset), Buffer.from(value))
                after = offset + 1
              }
              return after
            })
          return end
        })
      }
    return all
  } finally {
    log.close()
  }
}

/** undefined: it says that the file is damaged. */
function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isDamage(error) && !isDamage((error as Error).cause)) throw error
    return undefined
  }
}
