import { Database } from "bun:sqlite"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { statSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { steadyMs } from "../../clock/clock.ts"
import { Metrics } from "../../telemetry/metrics.ts"
import type { Broker, TopicInfo } from "../broker.ts"
import { openEmbeddedReader } from "./reader.ts"
import { openEmbedded, type EmbeddedOptions } from "./broker.ts"
import { scraped } from "../../../test/support/scraped.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const MEBIBYTE = 1024 * 1024
/** Pause between rounds of retention. */
const ROUND_MS = 20
const START_MS = 1_795_000_000_000

interface Line {
  readonly level: number
  readonly msg: string
  readonly [field: string]: unknown
}

const folder = temporaryFolder()
let opened: Broker[]
let lines: Line[]
let metrics: Metrics
/** Time of day and steady clock, which a test moves. */
let clock: { dayMs: number; steadyMs: number; reads: number }
beforeEach(() => {
  opened = []
  lines = []
  metrics = new Metrics()
  clock = { dayMs: START_MS, steadyMs: 0, reads: 0 }
})
afterEach(async () => {
  await Promise.all(opened.map((broker) => broker.close()))
  folder[Symbol.dispose]()
})

function open(options: Partial<EmbeddedOptions> = {}): Broker {
  const log = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line) as Line) })
  const broker = openEmbedded(
    { directory: folder.path, ...options },
    {
      log,
      metrics: { batch() {} },
      logMetrics: metrics.embeddedLog("log"),
      now: () => clock.dayMs,
      steady() {
        clock.reads++
        return clock.steadyMs
      },
      roundMs: ROUND_MS,
    },
  )
  opened.push(broker)
  return broker
}

/** Time passes, for both clocks. */
function pass(ms: number): void {
  clock.dayMs += ms
  clock.steadyMs += ms
}

async function publish(broker: Broker, count: number, { topic = "t", bytes = 10 } = {}): Promise<void> {
  const value = Buffer.alloc(bytes, "x")
  await Promise.all(
    Array.from({ length: count }, () => broker.publish({ topic, value }, steadyMs() + HANG_MS)),
  )
}

async function topics(): Promise<TopicInfo[]> {
  const reader = openEmbeddedReader(folder.path)
  const found = await reader.topics()
  await reader.close()
  return found
}

const recordsOf = async (name = "t"): Promise<number> =>
  (await topics()).find(({ topic }) => topic === name)?.records ?? 0

/** Retention runs several times a second: what it has done is seen by looking. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(5)
}

/** Until retention has had its turn with the clock as it is: it reads it once more when it is done. Nothing is published. */
async function turn(): Promise<void> {
  const { reads } = clock
  await until(() => clock.reads >= reads + 2)
}

const lineOf = (text: string): Line | undefined => lines.find(({ msg }) => msg.includes(text))

const sizeOf = (file: string): number =>
  statSync(join(folder.path, file), { throwIfNoEntry: false })?.size ?? 0

describe("the clock", () => {
  test("ahead at a start deletes nothing for an hour, though all records look old", async () => {
    const first = open()
    await publish(first, 3)
    await first.close()
    clock.dayMs += 24 * HOUR_MS
    open({ retention: 2 * HOUR_MS })
    await turn()
    pass(HOUR_MS - 1)
    await turn()
    expect(await recordsOf()).toBe(3)
    expect(lineOf("nothing was written for a while")).toMatchObject({ level: 30, idleMs: 24 * HOUR_MS })
    pass(1)
    await until(async () => (await recordsOf()) === 0)
  })

  test("set back while records were written takes none of those before along, not after a restart either", async () => {
    const first = open({ retention: 2 * HOUR_MS })
    await publish(first, 3)
    clock.dayMs -= 48 * HOUR_MS
    await publish(first, 2)
    await turn()
    clock.dayMs += 48 * HOUR_MS
    pass(HOUR_MS)
    await publish(first, 1)
    await turn()
    expect(await recordsOf()).toBe(6)
    await first.close()
    open({ retention: 2 * HOUR_MS })
    await turn()
    expect(await recordsOf()).toBe(6)
    expect(lineOf("clock set back")).toBeDefined()
  })
})

describe("a record dated ahead", () => {
  test.each([
    ["further than retention", 5 * HOUR_MS],
    ["less than retention", HOUR_MS / 2],
  ])("by %s blocks none behind it", async (_, aheadMs) => {
    const broker = open({ retention: HOUR_MS })
    clock.dayMs += aheadMs
    await publish(broker, 2)
    clock.dayMs -= aheadMs
    await publish(broker, 3)
    pass(HOUR_MS + 1)
    await until(async () => (await recordsOf()) === 0)
  })

  test("by an earlier process blocks none after it, however many there are, and is deleted with them", async () => {
    const first = open()
    clock.dayMs += 50 * HOUR_MS
    await publish(first, 1500)
    clock.dayMs -= 50 * HOUR_MS
    await publish(first, 700)
    await first.close()
    open({ retention: HOUR_MS })
    pass(HOUR_MS + 1)
    await until(async () => (await recordsOf()) === 0)
  })

  test("does not make other topics pay for the size of the log", async () => {
    const first = open()
    clock.dayMs += 50 * HOUR_MS
    await publish(first, 1, { topic: "ahead" })
    clock.dayMs -= 50 * HOUR_MS
    await publish(first, 600, { topic: "ahead" })
    pass(1000)
    await publish(first, 600, { topic: "newer" })
    await first.close()
    const second = open({ retention_bytes: 6000 })
    await until(async () => (await recordsOf("ahead")) === 0)
    await second.close()
    expect(await recordsOf("newer")).toBe(600)
  })
})

test("the WAL stays small while any amount is deleted, and its space goes back to the disk", async () => {
  const first = open()
  for (let round = 0; round < 10; round++) await publish(first, 1000, { bytes: 4000 })
  await first.close()
  expect(sizeOf("log.sqlite")).toBeGreaterThan(38 * MEBIBYTE)
  const second = open({ retention_bytes: MEBIBYTE })
  let largest = 0
  await until(() => {
    largest = Math.max(largest, sizeOf("log.sqlite-wal"))
    return sizeOf("log.sqlite") < 8 * MEBIBYTE
  })
  expect(largest).toBeLessThan(16 * MEBIBYTE)
  await publish(second, 10)
  await until(async () => (await topics())[0]!.bytes! <= MEBIBYTE)
  expect(await recordsOf()).toBe(Math.floor(MEBIBYTE / 4000) + 10)
})

test("a file from before fills its free space again, and gives it back once it was changed over", async () => {
  const change = (mode: string): void => {
    const file = new Database(join(folder.path, "log.sqlite"))
    for (const sql of ["PRAGMA journal_mode = DELETE", `PRAGMA auto_vacuum = ${mode}`, "VACUUM"])
      file.run(sql)
    file.run("PRAGMA journal_mode = WAL")
    file.close()
  }
  await open().close()
  change("NONE")
  const broker = open({ retention_bytes: MEBIBYTE })
  const sizes: number[] = []
  for (let round = 0; round < 3; round++) {
    await publish(broker, 2000, { bytes: 5000 })
    await until(async () => (await topics())[0]!.bytes! <= MEBIBYTE)
    sizes.push(sizeOf("log.sqlite"))
  }
  expect(sizes[0]).toBeGreaterThan(8 * MEBIBYTE)
  expect(sizes[2]).toBeLessThan(sizes[0]! * 1.2)
  await broker.close()
  change("INCREMENTAL")
  const changed = open()
  await publish(changed, 5000, { bytes: 5000 })
  await changed.close()
  open({ retention_bytes: MEBIBYTE })
  await until(() => sizeOf("log.sqlite") < 8 * MEBIBYTE)
})

test("what is deleted is logged in sums, and counted by reason", async () => {
  const broker = open({ retention: HOUR_MS, retention_bytes: 20_000 })
  await publish(broker, 2500)
  await until(() => lineOf("retention_bytes deleted") !== undefined)
  pass(HOUR_MS + 1)
  await until(() => lineOf("retention deleted") !== undefined)
  await publish(broker, 2001)
  const inSum = 'hookline_retention_deleted_bytes_total{connection="log",reason="size"} 5010'
  await until(async () => (await scraped(metrics)).includes(inSum))
  await broker.close()
  const deletions = lines.filter(({ msg }) => msg.includes("deleted"))
  expect(deletions.map(({ reason, records, bytes }) => ({ reason, records, bytes }))).toEqual([
    { reason: "size", records: 500, bytes: 5000 },
    { reason: "age", records: 2000, bytes: 20_000 },
    { reason: "size", records: 1, bytes: 10 },
  ])
  const text = await scraped(metrics)
  expect(text).toContain('hookline_retention_deleted_records_total{connection="log",reason="age"} 2000')
})
