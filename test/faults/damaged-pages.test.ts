import { describe, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { closeSync, cpSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import { fillLog, recordsInLog } from "../support/embedded-log.ts"
import { isFull } from "../support/fault-table.ts"
import { hookline, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { joinWithKcat, kafkaAddressOf, kcat } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"

const folder = folderOfTests()

const PAGE_BYTES = 16_384
const EVENTS = 400

const CONFIGURATION = `[connection:log]
directory = log
delivery_timeout = 1m
kafka_listen = 127.0.0.1:0
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
key = json:/id
`

/** Events of some kilobytes, each tenth larger than a page. @returns the ids that were acknowledged */
async function post(running: RunningHookline, name: string, count: number): Promise<string[]> {
  const acknowledged: string[] = []
  let next = 0
  const send = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const id = `${name}${n}`
      const text = id.padEnd(n % 10 === 0 ? 40_000 : 2000, "x")
      const body = JSON.stringify({ id, text })
      const { status } = await fetch(running.urls["webhooks"]!, { method: "POST", body })
      if (status === 200) acknowledged.push(id)
    }
  }
  await Promise.all(Array.from({ length: 8 }, send))
  return acknowledged
}

interface Page {
  readonly pageno: number
  readonly pagetype: "leaf" | "overflow" | "internal"
}

/** The pages of the records of topic `webhooks`, as SQLite itself lists them. */
function pagesOf(file: string): Page[] {
  const db = new Database(file, { readwrite: true, create: false })
  db.run("PRAGMA wal_checkpoint(TRUNCATE)")
  const pages = db.query<Page, []>("SELECT pageno, pagetype FROM dbstat WHERE name = 'records_1'").all()
  db.close(true)
  return pages
}

const GARBAGE = {
  "random bytes": crypto.getRandomValues(new Uint8Array(PAGE_BYTES)),
  zeros: new Uint8Array(PAGE_BYTES),
  "zeros in its second half": new Uint8Array(PAGE_BYTES / 2),
} as const

function overwrite(file: string, pageno: number, bytes: Uint8Array): void {
  const fd = openSync(file, "r+")
  writeSync(fd, bytes, 0, bytes.length, pageno * PAGE_BYTES - bytes.length)
  closeSync(fd)
}

interface Damaged {
  readonly folder: string
  readonly file: string
  readonly acknowledged: readonly string[]
}

/** A log with events, and a page of its middle that was overwritten while the service was stopped. */
async function damagedLog(name: string, page: Page["pagetype"], bytes: Uint8Array): Promise<Damaged> {
  const own = folder.make(name.replaceAll(/\W/g, "-"))
  const file = join(own, "log/log.sqlite")
  const acknowledged: string[] = []
  {
    await using running = await startHookline(CONFIGURATION, { folder: own })
    acknowledged.push(...(await post(running, "a", EVENTS)))
  }
  expect(acknowledged).toHaveLength(EVENTS)
  const pages = pagesOf(file).filter(({ pagetype }) => pagetype === page)
  overwrite(file, pages[pages.length >> 1]!.pageno, bytes)
  return { folder: own, file, acknowledged }
}

interface Checked {
  readonly records: number
  readonly pages: readonly { readonly page: number; readonly offset: number }[]
  readonly lost: readonly { readonly first: number; readonly end?: number }[]
}

const keysIn = async (directory: string): Promise<{ offset: number; key: string }[]> =>
  (await recordsInLog(directory, "webhooks")).map(({ offset, key }) => ({
    offset,
    key: Buffer.from(key!).toString(),
  }))

function clusterIdOf(file: string): string {
  using db = new Database(file, { readonly: true })
  return db.query<{ cluster_id: string }, []>("SELECT cluster_id FROM identity").get()!.cluster_id
}

const RANGE =
  /is damaged \(topic webhooks, partition 0: the records? (?:from|at) offset (\d+)(?: to (\d+))? can't be read/

function rangeIn(text: string): { first: number; last: number } {
  const [, first, last = first] = RANGE.exec(text) ?? []
  expect([text, first]).toEqual([text, expect.any(String)])
  return { first: Number(first), last: Number(last) }
}

const CASES = [
  { page: "leaf", what: "random bytes" },
  { page: "leaf", what: "zeros" },
  { page: "leaf", what: "zeros in its second half" },
  { page: "overflow", what: "random bytes" },
] as const

describe.each(CASES)("a $page page of the log overwritten with $what", ({ page, what }) => {
  test("a start accepts no event, and says in /readyz and one log line which records can't be read; tail names them too", async () => {
    const damaged = await damagedLog(`start ${page} ${what}`, page, GARBAGE[what])
    await using running = await startHookline(CONFIGURATION, { folder: damaged.folder })
    expect(await post(running, "b", 20)).toEqual([])
    const line = await running.logged(({ level, msg }) => level === "error" && RANGE.test(msg))
    const { first, last } = rangeIn(line.msg)
    expect(line.msg).toContain(damaged.file)
    expect(line.msg).toContain("hookline log rescue")
    const ready = await fetch(`${running.adminUrl}/readyz`)
    expect([ready.status, rangeIn(await ready.text())]).toEqual([503, { first, last }])

    const config = ["-c", join(damaged.folder, "pipelines.conf")]
    const tail = await hookline(["tail", "webhooks", "--format", "json", ...config])
    expect(tail.status).toBe(66)
    expect(tail.stdout.split("\n").length - 1).toBe(first)
    expect([rangeIn(tail.stderr), tail.stderr]).toEqual([
      { first, last },
      expect.not.stringContaining("    at "),
    ])
    expect(tail.stderr).toContain(`hookline tail --offset 0:${last + 1} continues after them`)
    const after = await hookline([
      "tail",
      "webhooks",
      "--offset",
      `0:${last + 1}`,
      "--format",
      "json",
      ...config,
    ])
    expect([after.status, after.stdout.split("\n").length - 1]).toEqual([0, EVENTS - last - 1])
    expect(running.log.filter(({ msg }) => RANGE.test(msg))).toHaveLength(1)
  })
})

test.skipIf(!hasKcat())(
  "Kafka clients get the records before and after damaged ones, and the log names those that they are refused",
  async () => {
    const damaged = await damagedLog("listener", "leaf", GARBAGE["random bytes"])
    await using running = await startHookline(CONFIGURATION, { folder: damaged.folder })
    const { first, last } = rangeIn((await running.logged(({ msg }) => RANGE.test(msg))).msg)
    const address = await kafkaAddressOf(running)
    await using consumer = joinWithKcat(address, "billing", "webhooks")
    const line = await running.logged(({ msg }) => msg.includes("Kafka clients that read these records"))
    expect(line).toMatchObject({ level: "error", topic: "webhooks", partition: 0, first_offset: first })
    expect(line).toMatchObject({ end_offset: last + 1, file: damaged.file })
    await consumer.said(new RegExp(`(?:^key a\\d+\\n){${first}}`, "m"))
    expect([...consumer.output().matchAll(/^key /gm)]).toHaveLength(first)
    const rest = await kcat(address, "-C", "-t", "webhooks", "-o", `${last + 1}`, "-e", "-f", "%o\n")
    expect(rest.stdout.trim().split("\n")).toHaveLength(EVENTS - last - 1)
  },
)

test("a page that is overwritten while the service runs: it is noticed, and no event is accepted after that", async () => {
  const own = folder.make("running")
  const file = join(own, "log/log.sqlite")
  await using running = await startHookline(CONFIGURATION, { folder: own })
  const acknowledged = await post(running, "a", EVENTS)
  // a checkpoint of the service has put it into the file
  const fd = openSync(file, "r+")
  const { length } = await recordsInLog(join(own, "log"), "webhooks")
  expect(length).toBe(acknowledged.length)
  for (let pageno = 8; pageno < 40; pageno++)
    writeSync(fd, GARBAGE["random bytes"], 0, PAGE_BYTES, (pageno - 1) * PAGE_BYTES)
  closeSync(fd)
  const { msg } = await running.logged(({ msg }) => msg.includes("is damaged"))
  expect(msg).toContain("hookline log rescue")
  expect(await post(running, "b", 20)).toEqual([])
  expect(running.log.filter(({ msg }) => msg.endsWith("can be written again"))).toEqual([])
})

test.skipIf(!hasKcat())(
  "a log that is rescued has all other records at their offsets, under the same id, and its consumers get what comes after them",
  async () => {
    const own = folder.make("rescue")
    const directory = join(own, "log")
    const config = ["-c", join(own, "pipelines.conf")]
    const acknowledged: string[] = []
    let before: readonly { offset: number; key: string }[] = []
    {
      await using running = await startHookline(CONFIGURATION, { folder: own })
      acknowledged.push(...(await post(running, "a", EVENTS)))
      before = await keysIn(directory)
      await using consumer = joinWithKcat(await kafkaAddressOf(running), "billing", "webhooks")
      await consumer.said(new RegExp(`^key ${before.at(-1)!.key}$`, "m"))
      await consumer.end("SIGTERM")
    }
    const file = join(directory, "log.sqlite")
    const id = clusterIdOf(file)
    const leaves = pagesOf(file).filter(({ pagetype }) => pagetype === "leaf")
    const pages = [leaves.length >> 2, leaves.length >> 1, leaves.length - 1].map((at) => leaves[at]!.pageno)
    for (const pageno of pages) overwrite(file, pageno, GARBAGE["random bytes"])

    const checked = await hookline(["log", "check", "--json", ...config])
    expect([checked.status, checked.stderr]).toEqual([1, ""])
    const report = JSON.parse(checked.stdout) as Checked
    expect(report.pages.map(({ page, offset }) => [page, offset])).toEqual(
      pages.toSorted((a, b) => a - b).map((page) => [page, (page - 1) * PAGE_BYTES]),
    )
    expect(report.lost).toHaveLength(3)
    const target = join(own, "rescued")
    const rescued = await hookline(["log", "rescue", target, "--json", ...config])
    expect([rescued.status, rescued.stderr]).toEqual([1, ""])
    expect(JSON.parse(rescued.stdout)).toMatchObject({ records: report.records, lost: report.lost, left: [] })
    renameSync(directory, `${directory}.damaged`)
    renameSync(target, directory)
    const isLost = (offset: number): boolean =>
      report.lost.some(({ first, end = Number.POSITIVE_INFINITY }) => offset >= first && offset < end)
    const kept = before.filter(({ offset }) => !isLost(offset))
    expect(await keysIn(directory)).toEqual(kept)
    expect(kept).toHaveLength(report.records)
    expect(clusterIdOf(file)).toBe(id)
    expect((await hookline(["log", "check", ...config])).status).toBe(0)

    await using running = await startHookline(CONFIGURATION, { folder: own })
    const later = await post(running, "b", 50)
    expect(later).toHaveLength(50)
    await using consumer = joinWithKcat(await kafkaAddressOf(running), "billing", "webhooks")
    const after = (await keysIn(directory)).slice(kept.length).map(({ key }) => key)
    await consumer.said(new RegExp(`^key ${after.at(-1)!}$`, "m"))
    expect([...consumer.output().matchAll(/^key (.*)$/gm)].map(([, key]) => key!)).toEqual(after)
    const all = await kcat(
      await kafkaAddressOf(running),
      "-C",
      "-t",
      "webhooks",
      "-o",
      "0",
      "-e",
      "-f",
      "%k\n",
    )
    expect(all.stdout.trim().split("\n")).toEqual([...kept.map(({ key }) => key), ...after])
  },
)

test("a log without damage is checked while it is written", async () => {
  const own = folder.make("sound")
  await using running = await startHookline(CONFIGURATION, { folder: own })
  expect(await post(running, "a", 20)).toHaveLength(20)
  const checked = await hookline(["log", "check", "-c", join(own, "pipelines.conf")])
  expect([checked.status, checked.stdout]).toEqual([
    0,
    `${join(own, "log/log.sqlite")}: 20 records can be read\n`,
  ])
  const refused = await hookline(["log", "rescue", join(own, "to"), "-c", join(own, "pipelines.conf")])
  expect([refused.status, refused.stderr]).toEqual([
    69,
    expect.stringContaining("is being written to by process"),
  ])
})

const TRIALS = isFull ? 40 : 4

test(`pages overwritten at random in ${TRIALS} logs: what is rescued is as it was, and all else is named as lost`, async () => {
  const own = folder.make("random")
  const sound = join(own, "sound")
  const records = Array.from({ length: EVENTS }, (_, n) => ({
    key: Buffer.from(`k${n}`),
    value: Buffer.from(`${n}`.padEnd(n % 10 === 0 ? 40_000 : 2000, "x")),
  }))
  await fillLog(sound, "webhooks", records)
  const pages = pagesOf(join(sound, "log.sqlite"))
  const leaves = pages.filter(({ pagetype }) => pagetype === "leaf")
  // one that says where all others are, too; bytes in the middle of a value have no checksum
  const sampled = Array.from({ length: TRIALS }, (_, n) =>
    n === 0 ? pages.find(({ pagetype }) => pagetype === "internal")! : leaves[(n * 7) % leaves.length]!,
  )
  const config = join(own, "pipelines.conf")
  let [lost, kept] = [0, 0]
  for (let trial = 0; trial < TRIALS; trial++) {
    const directory = join(own, `trial-${trial}`)
    cpSync(sound, directory, { recursive: true })
    writeFileSync(config, CONFIGURATION.replace("directory = log", `directory = ${directory}`))
    const bytes = GARBAGE[trial % 2 === 0 ? "random bytes" : "zeros"]
    const page = sampled[trial]!
    overwrite(join(directory, "log.sqlite"), page.pageno, bytes)
    const rescued = await hookline(["log", "rescue", `${directory}-rescued`, "--json", "-c", config])
    expect([trial, page, rescued.stdout, rescued.stderr, rescued.status]).toEqual([
      trial,
      page,
      expect.any(String),
      "",
      1,
    ])
    const report = JSON.parse(rescued.stdout) as Checked
    const found = await recordsInLog(`${directory}-rescued`, "webhooks")
    const named = new Set(
      report.lost.flatMap(({ first, end = EVENTS }) =>
        Array.from({ length: end - first }, (_, n) => first + n),
      ),
    )
    expect(found.map(({ offset }) => offset)).toEqual(
      [...records.keys()].filter((offset) => !named.has(offset)),
    )
    for (const { offset, value } of found) expect(records[offset]!.value.equals(value)).toBe(true)
    lost += named.size
    kept += found.length
  }
  console.log(`damaged pages: ${TRIALS} trials, ${kept} records rescued, ${lost} named as lost`)
})

test.skipIf(!isFull)(
  "a log of more than 256 MiB takes events at once after a kill, and is closed when the check in the background finds damage",
  async () => {
    const own = folder.make("large")
    const file = join(own, "log/log.sqlite")
    const value = new Uint8Array(1_000_000).fill(120)
    for (let n = 0; n < 6; n++)
      await fillLog(
        join(own, "log"),
        "webhooks",
        Array.from({ length: 50 }, () => ({ value })),
      )
    const leaves = pagesOf(file).filter(({ pagetype }) => pagetype === "leaf")
    {
      await using running = await startHookline(CONFIGURATION, { folder: own })
      running.signal("SIGKILL")
      await running.exited
    }
    overwrite(file, leaves[10]!.pageno, GARBAGE.zeros)
    await using running = await startHookline(CONFIGURATION, { folder: own })
    const line = await running.logged(({ level, msg }) => level === "error" && RANGE.test(msg))
    expect(rangeIn(line.msg).first).toBeLessThan(300)
    expect(await post(running, "b", 5)).toEqual([])
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(503)
  },
)
