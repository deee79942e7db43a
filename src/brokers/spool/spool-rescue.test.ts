import { Database } from "bun:sqlite"
import { expect, setDefaultTimeout, test } from "bun:test"
import { copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { cases } from "../../../test/support/cases.ts"
import { folderOfTests } from "../../../test/support/hookline.ts"
import { Random } from "../../../test/support/random.ts"
import { HooklineError } from "../../errors.ts"
import { openForReading } from "../../storage/database-file.ts"
import { packBatch, unpackBatch } from "../embedded/batch.ts"
import { SpoolDatabase, spoolAt } from "./spool-database.ts"
import { readQuarantined } from "./quarantine-table.ts"
import { rescueSpool, type RescuedSpool } from "./spool-rescue.ts"

setDefaultTimeout(300_000)

const folder = folderOfTests()

const RECORDS = 300
const QUARANTINED = 40

/** A spool of a topic with records from offset 40 on, those before being quarantined. */
function makeSpool(name: string): string {
  const file = join(folder.make(name), "spool.sqlite")
  const spool = new SpoolDatabase(spoolAt(file))
  for (let n = 0; n < RECORDS; n++) spool.commitSpooled(packBatch([{ record: recordOf(n) }]), 1000 + n)
  const refused = new Map(Array.from({ length: QUARANTINED }, (_, n) => [n, `too large, ${n}`]))
  spool.settle("hooks", QUARANTINED - 1, refused)
  spool.close()
  return file
}

const recordOf = (n: number) => ({
  topic: "hooks",
  key: Buffer.from(`k${n}`),
  value: Buffer.from(`${n},`.padEnd(n % 40 === 7 ? 40_000 : 900, `${n},`)),
})

const numberOf = (value: Uint8Array): number => Number(Buffer.from(value).toString().split(",")[0])

/** Forwards all of a spool. @returns the numbers of its records in order, each of which is as it was */
function forwardAll(file: string): number[] {
  const spool = new SpoolDatabase(spoolAt(file))
  const numbers: number[] = []
  for (;;) {
    const { firstOffset, batch } = spool.window("hooks")
    const records = [...unpackBatch(batch)].map(({ record }) => record)
    if (records.length === 0) break
    for (const { key, value } of records) {
      const n = numberOf(value)
      expect([n, Buffer.from(value).equals(recordOf(n).value), `${Buffer.from(key!)}`]).toEqual([
        n,
        true,
        `k${n}`,
      ])
      numbers.push(n)
    }
    spool.settle("hooks", firstOffset + records.length - 1, new Map())
  }
  expect(spool.state().records).toBe(0)
  spool.close()
  return numbers
}

function quarantinedIn(file: string): number[] {
  using db = openForReading(spoolAt(file))
  return [...readQuarantined(db)].map(({ value, reason, topic }) => {
    const n = numberOf(value)
    expect([topic, reason, Buffer.from(value).equals(recordOf(n).value)]).toEqual([
      "hooks",
      `too large, ${n}`,
      true,
    ])
    return n
  })
}

const WAITING = Array.from({ length: RECORDS - QUARANTINED }, (_, n) => n + QUARANTINED)

test("a spool that is whole is copied with its order, times and quarantined records", () => {
  const file = makeSpool("whole")
  const to = join(folder.make("whole-to"), "spool.sqlite")
  let bytes = 0
  expect(rescueSpool(spoolAt(file), to, (some) => (bytes += some))).toEqual({
    records: WAITING.length,
    quarantined: QUARANTINED,
    lost: [],
    hasLostQuarantined: false,
  })
  expect(bytes).toBeGreaterThan(200_000)
  expect(quarantinedIn(to)).toEqual(Array.from({ length: QUARANTINED }, (_, n) => n))
  expect(forwardAll(to)).toEqual(WAITING)
})

test("a spool whose quarantined records an earlier version wrote, without checksums, is opened and copied", () => {
  const file = makeSpool("earlier")
  using db = new Database(file)
  db.run("ALTER TABLE set_aside DROP COLUMN crc")
  db.close()
  const to = join(folder.make("earlier-to"), "spool.sqlite")
  expect(rescueSpool(spoolAt(file), to, () => {})).toMatchObject({ quarantined: QUARANTINED, lost: [] })
  const spool = new SpoolDatabase(spoolAt(file))
  expect(spool.requeue()).toMatchObject({ records: RECORDS, quarantined: 0 })
  spool.close()
})

const random = new Random(11)
const TRIALS = cases(200)

test(`${TRIALS} spools with a damaged sector: what is rescued is as it was and can be forwarded, all else is named`, () => {
  const whole = readFileSync(makeSpool("sound"))
  const sums = { refused: 0, whole: 0, lost: 0, quarantined: 0 }
  for (let trial = 0; trial < TRIALS; trial++) {
    const bytes = trial % 2 === 0 ? 512 : 4096
    const at = random.below(whole.length / bytes) * bytes
    const damaged = Buffer.from(whole)
    const sector = damaged.subarray(at, at + bytes)
    if (trial % 4 < 2) sector.fill(0)
    else sector.set(Array.from(sector, () => random.below(256)))
    const own = folder.make(`trial-${trial}`)
    const file = join(own, "spool.sqlite")
    writeFileSync(file, damaged)
    const to = join(own, "rescued.sqlite")
    let rescued: RescuedSpool
    try {
      rescued = rescueSpool(spoolAt(file), to, () => {})
    } catch (error) {
      if (!(error instanceof HooklineError)) throw error
      sums.refused++
      continue
    }
    const what = `trial ${trial}: ${bytes} bytes at ${at}`
    copyFileSync(to, join(own, "again.sqlite"))
    const forwarded = forwardAll(to)
    expect([what, forwarded]).toEqual([what, forwarded.toSorted((a, b) => a - b)])
    const missing = WAITING.filter((n) => !forwarded.includes(n))
    const isNamed = (n: number): boolean => rescued.lost.some(({ first, end }) => n >= first && n < end)
    expect([what, missing.filter((n) => !isNamed(n)), forwarded.length]).toEqual([what, [], rescued.records])
    const quarantined = quarantinedIn(join(own, "again.sqlite"))
    expect([what, quarantined.length]).toEqual([what, rescued.quarantined])
    if (!rescued.hasLostQuarantined) expect([what, quarantined.length]).toEqual([what, QUARANTINED])
    if (missing.length === 0 && !rescued.hasLostQuarantined) sums.whole++
    sums.lost += missing.length
    sums.quarantined += QUARANTINED - quarantined.length
  }
  console.log(`damaged spools: ${TRIALS} of ${WAITING.length} records`, sums)
})
