import { expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { recordsInLog } from "../support/embedded-log.ts"
import { KILL_TRIALS, report } from "../support/fault-table.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { Random } from "../support/random.ts"

setDefaultTimeout(900_000)

const LIMIT_BYTES = 1024 * 1024
const VALUE_BYTES = 20_000
/** So many of the newest are far within the limit. */
const KEPT = Math.floor((LIMIT_BYTES * 0.6) / VALUE_BYTES)
const SENDERS = 4

const CONFIGURATION = `[connection:log]
directory = log
partitions = 3
retention_bytes = 1MiB
[pipeline:hooks:WebHookSource]
[pipeline:hooks:BrokerSink]
topic = hooks
key = json:/id
`

const random = new Random(11)

test(`Hookline killed ${KILL_TRIALS} times while retention_bytes deletes: the newest are there, and no partition has a gap`, async () => {
  using folder = temporaryFolder()
  const cwd = folder.path
  const acknowledged: number[] = []
  let sent = 0
  let lost = 0
  let doubled = 0
  for (let trial = 0; trial < KILL_TRIALS; trial++) {
    const service = await startHookline(CONFIGURATION, { folder: cwd })
    const url = service.urls.hooks!
    // more than the limit, so that retention deletes while it is killed
    const killAt = acknowledged.length + 2 * KEPT + random.below(4 * KEPT)
    let isKilled = false
    const send = async (): Promise<void> => {
      while (!isKilled) {
        const id = sent++
        const body = JSON.stringify({ id, padding: "x".repeat(VALUE_BYTES) })
        const status = await fetch(url, { method: "POST", body }).then(
          (response) => response.status,
          () => undefined,
        )
        if (status === 200) acknowledged.push(id)
        if (acknowledged.length < killAt || isKilled) continue
        isKilled = true
        service.signal("SIGKILL")
        await service.exited
      }
    }
    await Promise.all(Array.from({ length: SENDERS }, send))
    expect((await hookline(["log", "check"], { cwd })).status).toBe(0)
    const records = await recordsInLog(join(cwd, "log"), "hooks")
    const ids = records.map(({ value }) => (JSON.parse(Buffer.from(value).toString()) as { id: number }).id)
    const there = new Set(ids)
    doubled += ids.length - there.size
    lost += acknowledged.slice(-KEPT).filter((id) => !there.has(id)).length
    expect([trial, ids.length < acknowledged.length]).toEqual([trial, true])
    for (const [partition, own] of Map.groupBy(records, (record) => record.partition)) {
      const offsets = own.map(({ offset }) => offset)
      expect([trial, partition, offsets]).toEqual([trial, partition, offsets.map((_, n) => offsets[0]! + n)])
    }
  }
  expect([lost, doubled]).toEqual([0, 0])
  const looked = KILL_TRIALS * KEPT
  report("killed while retention_bytes deletes: the newest events within the limit", {
    sent: looked,
    acknowledged: looked,
    found: looked - lost,
    lost,
    doubled,
    longestWaitMs: undefined,
  })
})
