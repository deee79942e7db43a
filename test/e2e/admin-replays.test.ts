import { beforeAll, expect, test } from "bun:test"
import type { RecordDetail, ReplayCount, ReplayOverview } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { serverSentEvents } from "../support/sse.ts"

const COUNT = 60
const port = await freePort()
const configuration = `
[connection:log]
directory = log
[connection:other]
directory = other
[connection:nobody]
bootstrap_servers = 127.0.0.1:9
${["invoices", "busy"]
  .map(
    (name) => `[pipeline:${name}:WebHookSource]
[pipeline:${name}:BrokerSink]
connection = log
topic = ${name}
key = json:/customer
`,
  )
  .join("")}[admin]
listen = 127.0.0.1:0
replay_urls = http://127.0.0.1:${port}/in
`
const it = sharedByTests(() => AdminApi.startInProcess(configuration))
beforeAll(() => fill("invoices"))

async function fill(pipeline: string): Promise<void> {
  for (let n = 0; n < COUNT; n++) {
    const type = n % 3 === 0 ? "invoice.paid" : "invoice.sent"
    expect(await it.send(pipeline, {}, JSON.stringify({ n, type, customer: `cus_${n}` }))).toBe(200)
  }
}

const from = { connection: "log", topic: "invoices" }
const start = (request: object): Promise<ReplayOverview> =>
  it.post<ReplayOverview>("replays", { from, to: { connection: "other", topic: "copy" }, ...request })

/** The states that a replay goes through, by the live events, to the one that is awaited. */
async function until(id: string, isAwaited: (job: ReplayOverview) => boolean): Promise<ReplayOverview> {
  for await (const { name, data } of serverSentEvents(`${it.running.adminUrl}/api/live`)) {
    const job = data as ReplayOverview
    if (name === "replay" && job.id === id && isAwaited(job)) return job
  }
  throw new Error("the stream has ended")
}
const ended = ({ ended_at }: ReplayOverview): boolean => ended_at !== null

test("a range is counted", async () => {
  const count = (range: object = {}): Promise<ReplayCount> =>
    it.post<ReplayCount>("replays/count", { from: { ...from, ...range } })
  expect(await count()).toEqual({ records: COUNT, is_exact: true })
  expect(await count({ from_offset: 10, until_offset: 30 })).toEqual({ records: 20, is_exact: true })
  expect(await count({ where: "json:/type=invoice.paid" })).toEqual({ records: 20, is_exact: true })
  expect(await count({ since: Date.now() + 60_000 })).toEqual({ records: 0, is_exact: true })
})

test("records reach another log with their bytes, keys and times", async () => {
  const job = await start({ to: { connection: "other", topic: "whole" } })
  expect(job).toMatchObject({ request: { from, to: { topic: "whole" } }, total: COUNT, failed: 0 })
  const done = await until(job.id, ended)
  expect(done).toMatchObject({ state: "done", replayed: COUNT, share: 1, error: null, failures: [] })
  for (const id of [job.id, "last"]) expect(await it.get<ReplayOverview>(`replays/${id}`)).toEqual(done)
  for (const offset of [0, COUNT - 1]) {
    const [original, copy] = await Promise.all(
      ["log/invoices", "other/whole"].map((place) => it.get<RecordDetail>(`records/${place}/0/${offset}`)),
    )
    expect(copy!.value_base64).toBe(original!.value_base64)
    expect(copy!.key_base64).toBe(original!.key_base64)
    expect(copy!.summary.timestamp).toBe(original!.summary.timestamp)
  }
})

test("another topic of the same log takes those that match, while its pipelines publish", async () => {
  await fill("busy")
  const job = await start({
    from: { connection: "log", topic: "busy", where: "json:/type=invoice.paid" },
    to: { connection: "log", topic: "paid" },
  })
  expect(await it.send("busy", {}, '{"n":"later"}')).toBe(200)
  expect(await until(job.id, ended)).toMatchObject({ state: "done", replayed: 20, total: null, share: 1 })
  const value = Buffer.from((await it.get<RecordDetail>("records/log/paid/0/1")).value_base64, "base64")
  expect(JSON.parse(value.toString())).toMatchObject({ n: 3 })
})

test("a URL gets each record, and those that it refuses are listed", async () => {
  const got: string[] = []
  await using _ = Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch(request) {
      const { n } = (await request.json()) as { n: number }
      got.push(`${request.headers.get("hookline-offset")} ${n}`)
      return new Response(null, { status: n === 2 ? 422 : 204 })
    },
  })
  const url = `http://user:obviously-fake@127.0.0.1:${port}/in?key=obviously-fake`
  const job = await start({ from: { ...from, until_offset: 5 }, to: { url } })
  const done = await until(job.id, ended)
  expect(done).toMatchObject({ state: "done", replayed: 4, failed: 1, total: 5 })
  expect(done.failures).toMatchObject([{ partition: 0, offset: 2, error: expect.stringContaining("422") }])
  expect(got).toEqual(["0 0", "1 1", "2 2", "3 3", "4 4"])
  expect(JSON.stringify([done, it.running.output()])).not.toContain("obviously-fake")
})

test("a replay pauses, continues and is cancelled; further ones wait for a place", async () => {
  const jobs = [await start({ rate: 20 })]
  const [{ id }] = jobs as [ReplayOverview]
  await until(id, ({ replayed }) => replayed > 2)
  expect((await it.post<ReplayOverview>(`replays/${id}/pause`)).state).toBe("paused")
  expect(await it.refused(`replays/${id}/pause`)).toEqual([409, "the replay is paused"])
  expect((await it.post<ReplayOverview>(`replays/${id}/resume`)).state).toBe("running")
  for (let n = 0; n < 3; n++) jobs.push(await start({ rate: 1, to: { connection: "other", topic: `x${n}` } }))
  expect(await it.refused("replays", { from, to: { connection: "other", topic: "x" } })).toEqual([
    503,
    "4 replays have not ended; cancel one",
  ])
  for (const job of jobs) await it.post(`replays/${job.id}/cancel`)
  const cancelled = await it.get<ReplayOverview>(`replays/${id}`)
  expect(cancelled.state).toBe("cancelled")
  expect(cancelled.replayed).toBeLessThan(COUNT)
  expect(await it.refused(`replays/${id}/resume`)).toEqual([409, "the replay is cancelled"])
  const listed = await it.get<ReplayOverview[]>("replays")
  expect(listed.slice(0, 4).map((job) => job.id)).toEqual(jobs.map((job) => job.id).toReversed())
})

test("of replays that are started at once, no more run than may", async () => {
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) => start({ to: { connection: "other", topic: `x${n}` }, rate: 1 })),
  )
  const started = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
  for (const { id } of started) await it.post(`replays/${id}/cancel`)
  expect(started).toHaveLength(4)
})

test("one that waits says why, and ends with the service", async () => {
  await using other = await AdminApi.startInProcess(configuration)
  await other.send("invoices", {}, "{}")
  const request = { from, to: { connection: "nobody", topic: "copy" } }
  const { id } = await other.post<ReplayOverview>("replays", request)
  for await (const { name, data } of serverSentEvents(`${other.running.adminUrl}/api/live`)) {
    const job = data as ReplayOverview
    if (name !== "replay" || job.error === null) continue
    expect(job).toMatchObject({ id, state: "running", replayed: 0 })
    break
  }
  await other.running.stop()
  expect(other.running.log).toContainEqual(
    expect.objectContaining({ msg: "replay ended", replay: id, state: "cancelled" }),
  )
})

test("the same log under another name is seen by its cluster id", async () => {
  const port = await freePort()
  const listening = configuration
    .replace("directory = log\n", `directory = log\nkafka_listen = 127.0.0.1:${port}\n`)
    .replace("bootstrap_servers = 127.0.0.1:9\n", `bootstrap_servers = localhost:${port}\n`)
  await using other = await AdminApi.startInProcess(listening)
  await other.send("invoices", {}, "{}")
  const itself = [400, "the topic can't be replayed to itself"] as const
  const replay = (source: string, target: string) =>
    other.refused("replays", {
      from: { connection: source, topic: "invoices" },
      to: { connection: target, topic: "invoices" },
    })
  expect(await replay("log", "nobody")).toEqual(itself)
  expect(await replay("nobody", "log")).toEqual(itself)
  expect(await replay("nobody", "nobody")).toEqual(itself)
})

test.each([
  ["http://127.0.0.1:9/", "127.0.0.1 is this machine or in a private network", "http://127.0.0.1:9"],
  ["http://localhost:9/", "localhost is this machine or in a private network", "http://localhost:9"],
  ["https://10.0.0.1/a", "10.0.0.1 is this machine or in a private network", "https://10.0.0.1"],
  ["http://100.64.0.1/", "100.64.0.1 is this machine or in a private network", "http://100.64.0.1"],
  ["http://192.168.1.1/", "192.168.1.1 is this machine or in a private network", "http://192.168.1.1"],
  ["http://[fd00::1]/", "fd00::1 is this machine or in a private network", "http://[fd00::1]"],
  [
    "http://[64:ff9b::a00:1]/",
    "64:ff9b::a00:1 is this machine or in a private network",
    "http://[64:ff9b::a00:1]",
  ],
  [`http://127.0.0.1:${port}/`, "127.0.0.1 is this machine", `http://127.0.0.1:${port}`],
  [`http://127.0.0.1:${port}/inner`, "127.0.0.1 is this machine", `http://127.0.0.1:${port}`],
])("%s is not replayed to unless it is listed", async (url, why, origin) => {
  const [status, detail] = await it.refused("replays", { from, to: { url } })
  expect([status, detail]).toEqual([403, expect.stringContaining(why)])
  expect(detail).toEndWith(`; to allow it, add ${origin} to replay_urls in [admin]`)
})

test.each([
  [{ from: { connection: "log", topic: "none" } }, 404],
  [{ from: { connection: "none", topic: "invoices" } }, 404],
  [{ to: { connection: "none", topic: "copy" } }, 404],
  [{ to: { connection: "log", topic: "invoices" } }, 400],
  [{ to: { connection: "other", topic: "" } }, 400],
  [{ to: { connection: "other", topic: "no name of a topic" } }, 400],
  [{ to: { connection: "other", topic: ".." } }, 400],
  [{ to: { url: "file:///etc/passwd" } }, 400],
  [{ to: {} }, 400],
  [{ rate: 0 }, 400],
  [{ from: { ...from, where: "nonsense" } }, 400],
  [{ from: { ...from, partition: 7 } }, 400],
  [{ from: { ...from, from_offset: -1 } }, 400],
] as const)("%p: %d", async (request, status) => {
  const [answered] = await it.refused("replays", {
    from,
    to: { connection: "other", topic: "copy" },
    ...request,
  })
  expect(answered).toBe(status)
})

test("one that is not there", async () => {
  for (const path of ["replays/none/pause", "replays/none/cancel"])
    expect(await it.refused(path)).toEqual([404, "no replay has this id"])
  expect((await it.fetch("replays/none")).status).toBe(404)
})

test("the log level changes while it runs", async () => {
  expect(await it.get<unknown>("log-level")).toEqual({ level: "info" })
  expect(await it.post<unknown>("log-level", { level: "debug" }, "PUT")).toEqual({
    level: "debug",
    replicas_left_out: [],
  })
  expect(await it.get<unknown>("log-level")).toEqual({ level: "debug" })
  expect(await it.refused("log-level", { level: "loud" }, "PUT")).toEqual([
    400,
    "body, level: must be one of fatal, error, warn, info, debug, trace, silent",
  ])
  await it.post("log-level", { level: "error" }, "PUT")
  await it.running.logged(({ msg, to }) => msg === "log level changed" && to === "error")
  const changes = it.running.log.filter(({ msg }) => msg === "log level changed")
  expect(changes).toMatchObject([
    { level: "info", from: "info", to: "debug" },
    { level: "info", from: "debug", to: "error" },
  ])
  await it.post("log-level", { level: "info" }, "PUT")
})
