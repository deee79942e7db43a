import { Database } from "bun:sqlite"
import { afterEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  deduplicator,
  Dropped,
  embeddedConnection,
  enricher,
  Pipeline,
  Rejected,
  validator,
  webHookSource,
  type Processor,
} from "../../src/index.ts"
import { hookline, startHookline, folderOfTests, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { valuesInLog } from "../support/log-values.ts"
import { IN_TIME } from "../support/event.ts"
import { checked } from "../support/problems-in.ts"

const folder = folderOfTests()

let running: Started
const started: Started[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((it) => it.stop()))
})

const pipeline = (id: string, key: string, more = ""): string => `
[pipeline:${id}:WebHookSource]
[pipeline:${id}:Deduplicator]
key = ${key}
${more}
[pipeline:${id}:BrokerSink]
topic = ${id}
`
const conf = (name: string, ...pipelines: string[]): string => `
[connection:log]
directory = ${name}
${pipelines.join("\n")}
`
let log: string
/** Starts pipelines on a log of this name. */
const start = async (name: string, ...pipelines: string[]): Promise<void> => {
  await startBy(startInProcess, name, ...pipelines)
}
async function startBy<S extends Started>(
  by: (configuration: string, options: { folder: string }) => Promise<S>,
  name: string,
  ...pipelines: string[]
): Promise<S> {
  log = join(folder.path, name)
  const one = await by(conf(name, ...pipelines), { folder: folder.path })
  started.push((running = one))
  return one
}
const post = async (pipeline: string, body: string, headers: { [name: string]: string } = {}) =>
  (await fetch(running.urls[pipeline]!, { method: "POST", body, headers })).status
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${running.adminUrl}/metrics`)).text()
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(name))
      ?.slice(name.length),
  )
}
/** What the topic has, without what the Enricher adds. */
const published = async (topic: string): Promise<string[]> => {
  const values = await valuesInLog(log, topic)
  return values.map((value) => value.replace(/,?"received_at".*/, "}"))
}

test("one of several events of one key is published, and all are answered alike", async () => {
  await start("several", pipeline("body", "json:/id"), pipeline("header", "header:X-Delivery"))
  const keys = Array.from({ length: 20 }, (_, n) => `{"id":"key-${n}"}`)
  const sent = keys.flatMap((body) => Array.from({ length: 5 }, () => post("body", body)))
  expect(new Set(await Promise.all(sent))).toEqual(new Set([200]))
  for (const body of keys.slice(0, 3)) expect(await post("body", body)).toBe(200)
  expect((await published("body")).toSorted()).toEqual(keys.toSorted())
  expect(await metric('hookline_events_total{pipeline="body",outcome="accepted",reason=""}')).toBe(20)
  expect(await metric('hookline_events_total{pipeline="body",outcome="dropped",reason="duplicate"}')).toBe(83)

  // the same key is another one in another pipeline
  for (const n of [1, 2, 3]) expect(await post("header", `{"n":${n}}`, { "X-Delivery": "key-1" })).toBe(200)
  expect(await published("header")).toEqual(['{"n":1}'])
})

test("an event without the key passes unchecked, and is counted and logged", async () => {
  await start("keyless", pipeline("keyless", "json:/id"))
  const bodies = ['{"n":1}', '{"n":1}', '{"id":null}', '{"id":""}', '{"id":""}', '{"id":["a"]}']
  for (const body of bodies) expect(await post("keyless", body)).toBe(200)
  expect(await published("keyless")).toEqual(bodies)
  expect(await metric('hookline_undeduplicated_events_total{pipeline="keyless",reason="no_key"}')).toBe(6)
  expect(running.log.filter(({ msg }) => msg.includes("pass unchecked"))).toHaveLength(1)
})

test("a body that is refused does not use up its key", async () => {
  await start("refused", pipeline("refused", "header:X-Delivery"))
  const headers = { "X-Delivery": "d-1" }
  expect(await post("refused", '{"n":1,}', headers)).toBe(400)
  expect(await post("refused", '{"n":1}', headers)).toBe(200)
  expect(await published("refused")).toEqual(['{"n":1}'])
})

test("what was published is known after kill -9, for a second process it is not to be had", async () => {
  const doubled = pipeline("killed", "json:/id")
  const killable = await startBy(startHookline, "killed", doubled)
  const answers: number[] = []
  const killed = Promise.withResolvers<void>()
  // under load: what was answered 200 before the end is known, whatever was on its way
  const senders = Array.from({ length: 8 }, async (_, sender) => {
    for (let n = sender; ; n += 8) {
      const status = await post("killed", `{"id":${n}}`).catch(() => undefined)
      if (status === undefined) return
      if (status === 200) answers.push(n)
      if (answers.length === 200) killed.resolve()
    }
  })
  await killed.promise
  killable.signal("SIGKILL")
  await Promise.all([killable.exited, ...senders])

  await start("killed", doubled)
  for (const n of answers) expect(await post("killed", `{"id":${n}}`)).toBe(200)
  const found = await published("killed")
  for (const n of answers) expect(found.filter((it) => it === `{"id":${n}}`)).toHaveLength(1)

  const other = conf("elsewhere", pipeline("killed", "json:/id", "store = killed"))
  await Bun.write(join(folder.path, "other.conf"), other)
  const { status, stderr } = await hookline(["run", "-c", join(folder.path, "other.conf")])
  expect(status).toBe(69)
  expect(stderr).toContain(`${join(folder.path, "killed")} is being written to by process ${process.pid}`)
})

test("after the window the event is published again", async () => {
  await start("window", pipeline("window", "json:/id", "window = 1s"))
  const began = performance.now()
  do {
    expect(await post("window", '{"id":1}')).toBe(200)
    await Bun.sleep(20)
  } while ((await metric('hookline_events_total{pipeline="window",outcome="accepted",reason=""}')) < 2)
  expect(performance.now() - began).toBeGreaterThan(1000)
  expect(await published("window")).toEqual(['{"id":1}', '{"id":1}'])
})

test("while the store is down events are 503 and it is not ready; nothing passes unchecked", async () => {
  await start("down", pipeline("down", "json:/id", "store = marks"))
  expect(await post("down", '{"id":"before"}')).toBe(200)
  const db = new Database(join(folder.path, "marks", "marks.sqlite"))
  db.run("ALTER TABLE marks RENAME TO gone")
  const answer = await fetch(running.urls["down"]!, { method: "POST", body: '{"id":"meanwhile"}' })
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"])
  expect(await answer.text()).not.toMatch(/sqlite|marks/)
  expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(503)
  expect(await metric(`hookline_deduplicator_store_ready{store="${join(folder.path, "marks")}"}`)).toBe(0)

  db.run("DROP TABLE IF EXISTS marks")
  db.run("ALTER TABLE gone RENAME TO marks")
  db.close()
  await running.logged(({ msg }) => msg.includes("can be written again"))
  expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
  for (const id of ["before", "meanwhile", "meanwhile"])
    expect(await post("down", `{"id":"${id}"}`)).toBe(200)
  expect(await published("down")).toEqual(['{"id":"before"}', '{"id":"meanwhile"}'])
})

describe("an event that ends after the Deduplicator leaves no key", () => {
  const fault = (): never => {
    throw new Error("obviously broken")
  }
  test.each<[string, Processor, number]>([
    ["dropped", () => new Dropped("unwanted"), 200],
    ["rejected", () => new Rejected(422, "unwanted", "Not this one."), 422],
    ["a fault", fault, 500],
  ])("%s", async (name, end, status) => {
    const seen: number[] = []
    const app = new Application({ service: { logLevel: "silent" } })
    app.registerConnection("log", embeddedConnection({ directory: join(folder.path, `ends ${name}`) }))
    app.addPipeline(
      new Pipeline("ends", {
        source: webHookSource({ host: "127.0.0.1", port: 0, path: "/" }),
        processors: [
          validator(),
          deduplicator({ key: "json:/id", store: "memory" }),
          (event) => (seen.push(1) <= 2 ? end(event, IN_TIME) : event),
          enricher(),
        ],
        sink: brokerSink({ topic: "ends" }),
      }),
    )
    const { listening } = await app.start()
    try {
      const statuses: number[] = []
      for (let n = 0; n < 4; n++)
        statuses.push((await fetch(listening[0]!.url, { method: "POST", body: '{"id":1}' })).status)
      expect(statuses).toEqual([status, status, 200, 200])
      expect(seen).toHaveLength(3)
    } finally {
      await app.stop()
    }
  })
})

test("check says what is wrong, and prints no password", async () => {
  const wrong = (id: string, lines: string): string =>
    `[pipeline:${id}:WebHookSource]\npath = /${id}\n[pipeline:${id}:Deduplicator]\n${lines}\n[pipeline:${id}:BrokerSink]\ntopic = t\n`
  await Bun.write(
    join(folder.path, "wrong.conf"),
    "[connection:log]\ndirectory = log\n" +
      wrong("a", "window = 1s") +
      wrong("b", "key = path\nwindow = 0s") +
      wrong("c", "key = json:/id\nstore = redis://:obviously-fake@localhost/name") +
      wrong("d", "key = json:/id\nstore = rediss://:obviously-fake@localhost:6380/1"),
  )
  const { error, problems } = await checked(join(folder.path, "wrong.conf"))
  expect(error?.exitCode).toBe(78)
  expect(problems.lines.map((line) => line.replace(/^.*?\[pipeline:(.*?)\]/, "$1").slice(0, 45))).toEqual([
    "a:Deduplicator key: is missing; add key = <he",
    'b:Deduplicator key: "path" is not header:Name',
    'b:Deduplicator window: "0s" must be from 1s t',
    "c:Deduplicator store: its value is not embedd",
  ])
  expect(error?.message).not.toContain("obviously-fake")
})
