import { Database } from "bun:sqlite"
import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test"
import { statSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { steadyMs } from "../../clock/clock.ts"
import { Metrics } from "../../telemetry/metrics.ts"
import type { TopicInfo } from "../broker.ts"
import { openEmbeddedReader } from "./reader.ts"
import { openEmbedded, type EmbeddedBroker, type EmbeddedOptions } from "./broker.ts"
import { scraped } from "../../../test/support/scraped.ts"
import { temporaryFolder } from "../../../test/support/hookline.ts"
import { passTime } from "../../../test/support/kept-clock.ts"
import { HANG_MS } from "../../../test/support/hang.ts"

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS
const MEBIBYTE = 1024 * 1024
/** Pause between rounds of retention. */
const ROUND_MS = 20

interface Line {
  readonly level: number
  readonly msg: string
  readonly [field: string]: unknown
}

const folder = temporaryFolder()
let opened: EmbeddedBroker[]
let lines: Line[]
let metrics: Metrics
beforeEach(() => {
  opened = []
  lines = []
  metrics = new Metrics()
})
afterEach(async () => {
  setSystemTime()
  await Promise.all(opened.map((broker) => broker.close()))
  folder[Symbol.dispose]()
})

function open(options: Partial<EmbeddedOptions> = {}): EmbeddedBroker {
  const log = pino({ level: "info" }, { write: (line) => void lines.push(JSON.parse(line) as Line) })
  const broker = openEmbedded(
    { directory: folder.path, ...options },
    {
      log,
      metrics: { batch() {} },
      logMetrics: metrics.embeddedLog("log"),
      roundMs: ROUND_MS,
    },
  )
  opened.push(broker)
  return broker
}

async function publish(
  broker: EmbeddedBroker,
  count: number,
  { topic = "t", bytes = 10 } = {},
): Promise<void> {
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

const lineOf = (text: string): Line | undefined => lines.find(({ msg }) => msg.includes(text))

const sizeOf = (file: string): number =>
  statSync(join(folder.path, file), { throwIfNoEntry: false })?.size ?? 0

test("records are deleted once they are older than retention, over a restart too, whatever the time of day is set to", async () => {
  const first = open({ retention: HOUR_MS })
  setSystemTime(Date.now() + 48 * HOUR_MS)
  await publish(first, 3)
  await first.close()
  setSystemTime()
  passTime(join(folder.path, "log.sqlite"), HOUR_MS / 2)
  const second = open({ retention: HOUR_MS })
  await publish(second, 2)
  await second.close()
  expect(await recordsOf()).toBe(5)
  passTime(join(folder.path, "log.sqlite"), HOUR_MS / 2)
  open({ retention: HOUR_MS })
  await until(async () => (await recordsOf()) === 2)
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
  broker.retain({ retention: 1, retention_bytes: 20_000 })
  await until(() => lineOf("retention deleted") !== undefined)
  broker.retain({ retention: HOUR_MS, retention_bytes: 20_000 })
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
