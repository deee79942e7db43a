import { beforeAll, expect, test } from "bun:test"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type {
  LiveRecords,
  RecordCounts,
  RecordDetail,
  RecordPage,
  RecordSummary,
  TopicOverview,
} from "../../src/admin/api/shapes.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { serverSentEvents } from "../support/sse.ts"
import { HANG_MS } from "../support/hang.ts"

const pipeline = (name: string, sink = "", more = ""): string => `
[pipeline:${name}:WebHookSource]
${more}
[pipeline:${name}:BrokerSink]
topic = ${name}
${sink}`
/** `invoices` has its records from the beginning, and `empty` none; the others are of one test each. */
const CONFIGURATION = `
[connection:log]
directory = log
${pipeline("invoices", "key = json:/customer\nheaders = kind=json:/type")}
${pipeline("empty")}
${pipeline("bulk", "", "[pipeline:bulk:Decoder]\nlists = split")}
${pipeline("live")}
${pipeline("measured")}
`
const COUNT = 30

const folder = temporaryFolder()
const running = sharedByTests(() => startHookline(CONFIGURATION, { folder: folder.path }), folder)
beforeAll(async () => {
  for (let n = 0; n < COUNT; n++) await post(n)
})

const post = async (n: number, name = "invoices"): Promise<void> => {
  const body = JSON.stringify({ n, type: n % 3 === 0 ? "invoice.paid" : "invoice.sent", customer: "cus_9" })
  const { status } = await fetch(running.urls[name]!, { method: "POST", body })
  expect(status).toBe(200)
}
const get = async <T>(path: string): Promise<T> => {
  const response = await fetch(`${running.adminUrl}/api/${path}`)
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return (await response.json()) as T
}
const topic = "connection=log&topic=invoices"

test("the overview has every pipeline, its rate and latencies, and the connections", async () => {
  await post(0, "measured")
  let overview: Overview
  // counters are sampled, every 100 ms at the most
  do overview = await get<Overview>("overview")
  while (overview.pipelines.at(-1)!.last_event_at === null)
  const { pipelines, connections, state } = overview
  expect(state).toBe("ready")
  expect(connections).toMatchObject([{ id: "log", kind: "embedded", problem: null, spool: null }])
  expect(pipelines.map(({ id }) => id)).toEqual(["invoices", "empty", "bulk", "live", "measured"])
  const [, empty, , , measured] = pipelines
  expect(measured).toMatchObject({ id: "measured", topic: "measured", connection: "log", refusals: [] })
  expect(measured!.url).toBe(running.urls["measured"]!)
  expect(measured!.events_per_second).toBeGreaterThan(0)
  expect(measured!.p50_ms).toBeGreaterThan(0)
  expect(measured!.p99_ms).toBeGreaterThanOrEqual(measured!.p50_ms!)
  expect(Math.abs(Date.now() - measured!.last_event_at!)).toBeLessThan(HANG_MS)
  expect(empty).toMatchObject({ id: "empty", events_per_second: 0, p50_ms: null, last_event_at: null })
})

test("topics have their records counted", async () => {
  const topics = await get<{ topic: string }[]>("topics")
  expect(topics.map(({ topic }) => topic)).toEqual(["bulk", "empty", "invoices", "live", "measured"])
  expect(topics.slice(1, 3)).toMatchObject([
    { connection: "log", topic: "empty", records: 0 },
    { connection: "log", topic: "invoices", partitions: 1, records: COUNT },
  ])
})

test("pages of records go back from the newest to the oldest, each record once", async () => {
  const offsets: number[] = []
  let older: string | null = null
  do {
    const before: string = older === null ? "" : `&before=${older}`
    const page: RecordPage = await get(`records?${topic}&limit=7${before}`)
    offsets.push(...page.records.map(({ offset }) => offset))
    older = page.older
  } while (older !== null)
  expect(offsets).toEqual(Array.from({ length: COUNT }, (_, at) => COUNT - 1 - at))
})

test("a filter and a limit apply together", async () => {
  const page = await get<RecordPage>(`records?${topic}&limit=4&where=json:/type=*.paid`)
  expect(page.records.map(({ offset }) => offset)).toEqual([27, 24, 21, 18])
  expect(page.records[0]).toMatchObject({ key: "cus_9", partition: 0 })
})

test("a record is answered whole, with its key, headers and bytes", async () => {
  const record = await get<RecordDetail>("records/log/invoices/0/3")
  const value = JSON.parse(Buffer.from(record.value_base64, "base64").toString())
  expect(value).toMatchObject({ n: 3, source: "webhook" })
  expect(Buffer.from(record.key_base64!, "base64").toString()).toBe("cus_9")
  expect(record).toMatchObject({ pipeline: "invoices", headers: [{ name: "kind", value: "invoice.paid" }] })
})

test("a live tail gets what comes, and continues after a break without a gap", async () => {
  const url = `${running.adminUrl}/api/records/live?connection=log&topic=live`
  const numbers: number[] = []
  let id: string | undefined
  const readUntil = async (count: number): Promise<void> => {
    for await (const event of serverSentEvents(
      url,
      id === undefined ? {} : { headers: { "Last-Event-ID": id } },
    )) {
      if (id === undefined && numbers.length === 0) for (const n of [100, 101]) await post(n, "live")
      id = event.id
      const { records, skipped } = event.data as LiveRecords
      expect(skipped).toBe(0)
      numbers.push(...records.map(({ preview }) => (JSON.parse(preview) as { n: number }).n))
      if (numbers.length >= count) return
    }
  }
  await readUntil(2)
  for (const n of [102, 103, 104]) await post(n, "live")
  await readUntil(5)
  expect(numbers).toEqual([100, 101, 102, 103, 104])
})

test("all topics of a connection are read as one: pages, live with a break, and counts", async () => {
  for (const n of [1, 2, 3]) for (const name of ["live", "measured"]) await post(n, name)
  const paged: RecordSummary[] = []
  let older: string | null = null
  do {
    const before: string = older === null ? "" : `&before=${older}`
    const page: RecordPage = await get(`records?connection=log&limit=7${before}`)
    expect(page.left_out).toBe(0)
    paged.push(...page.records)
    older = page.older
  } while (older !== null)
  const times = paged.map(({ timestamp }) => timestamp)
  expect(times).toEqual(times.toSorted((a, b) => b - a))
  const places = new Set(paged.map((it) => `${it.topic}/${it.partition}@${it.offset}`))
  expect(places.size).toBe(paged.length)
  const topics = await get<TopicOverview[]>("topics")
  expect(places.size).toBe(topics.reduce((sum, { records }) => sum + records, 0))
  const { counts } = await get<RecordCounts>(`records/counts?connection=log&until=${times[0]! + 1}`)
  expect(counts.reduce((sum, it) => sum + it, 0)).toBe(places.size)
  const filtered = await get<RecordPage>("records?connection=log&where=text=invoice.PAID&limit=500")
  expect(new Set(filtered.records.map(({ topic }) => topic))).toEqual(
    new Set(["invoices", "live", "measured"]),
  )

  const url = `${running.adminUrl}/api/records/live?connection=log`
  let id: string | undefined
  const next = async (count: number): Promise<string[]> => {
    const seen: string[] = []
    const isFirst = id === undefined
    for await (const event of serverSentEvents(url, isFirst ? {} : { headers: { "Last-Event-ID": id! } })) {
      if (isFirst && id === undefined) await Promise.all([post(1, "live"), post(2, "measured")])
      id = event.id
      for (const { topic, preview } of (event.data as LiveRecords).records)
        seen.push(`${topic} ${(JSON.parse(preview) as { n: number }).n}`)
      if (seen.length >= count) break
    }
    return seen.toSorted()
  }
  expect(await next(2)).toEqual(["live 1", "measured 2"])
  await Promise.all([post(3, "live"), post(4, "measured"), post(5, "measured")])
  expect(await next(3)).toEqual(["live 3", "measured 4", "measured 5"])
})

test("of a flood a live tail gets the newest, and how many it skipped", async () => {
  const body = JSON.stringify(Array.from({ length: 300 }, (_, n) => ({ n })))
  const seen: (readonly [skipped: number, offsets: number[]])[] = []
  for await (const { data } of serverSentEvents(
    `${running.adminUrl}/api/records/live?connection=log&topic=bulk`,
  )) {
    const { records, skipped } = data as LiveRecords
    seen.push([skipped, records.map(({ offset }) => offset)])
    if (seen.length === 3) break
    expect((await fetch(running.urls["bulk"]!, { method: "POST", body })).status).toBe(200)
  }
  const newest = (end: number): number[] => Array.from({ length: 40 }, (_, at) => end - 40 + at)
  expect(seen).toEqual([
    [0, []],
    [260, newest(300)],
    [260, newest(600)],
  ])
})

test("live overviews come each second and show a refusal", async () => {
  let seen = 0
  for await (const { name, data } of serverSentEvents(`${running.adminUrl}/api/live`)) {
    if (name !== "overview") continue
    if (seen++ === 0)
      expect((await fetch(running.urls["empty"]!, { method: "POST", body: "{" })).status).toBe(400)
    const { refusals } = (data as Overview).pipelines.find(({ id }) => id === "empty")!
    if (refusals.length === 0) continue
    expect(refusals).toEqual([{ reason: "invalid_json", words: "the body is not JSON", count: 1 }])
    break
  }
  expect(seen).toBeLessThanOrEqual(4)
})

test("at most 16 streams are open, and a closed one makes room", async () => {
  const closing = Array.from({ length: 16 }, () => new AbortController())
  const url = `${running.adminUrl}/api/live`
  await Promise.all(closing.map(({ signal }) => fetch(url, { signal })))
  expect((await fetch(url)).status).toBe(503)
  closing[0]!.abort()
  for (;;) {
    const { status, body } = await fetch(url)
    await body?.cancel()
    if (status === 200) break
  }
  for (const it of closing) it.abort()
})

test.each([
  ["records", 400],
  ["records?topic=invoices", 400],
  ["records?connection=other&topic=x", 404],
  ["records?connection=log&topic=other", 404],
  [`records?${topic}&limit=0`, 400],
  [`records?${topic}&limit=501`, 400],
  [`records?${topic}&limit=ten`, 400],
  [`records?${topic}&limit=1&limit=2`, 400],
  [`records?${topic}&since=yesterday`, 400],
  [`records?${topic}&where=type`, 400],
  [`records?${topic}&before=x`, 400],
  [`records?${topic}&unknown=1`, 400],
  [`records?${topic}&__proto__=1`, 400],
  ["records/log/invoices/0/1000", 404],
  ["records/log/invoices/7/0", 404],
  ["records/log/invoices/x/0", 400],
  ["records/log/invoices/-1/0", 400],
  ["records/log/invoices/0/9007199254740993", 400],
  ["records/log/%FF/0/0", 404],
  ["records/live?connection=log&topic=other", 404],
  ["pipelines/other", 404],
  ["nothing", 404],
  ["", 404],
] as const)("GET /api/%s is %p, as a problem document", async (path, status) => {
  const response = await fetch(`${running.adminUrl}/api/${path}`)
  expect(response.headers.get("content-type")).toBe("application/problem+json")
  expect([response.status, ((await response.json()) as { status: number }).status]).toEqual([status, status])
})

test("another method gets 405 with Allow", async () => {
  const response = await fetch(`${running.adminUrl}/api/overview`, { method: "PATCH" })
  expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD"])
})
