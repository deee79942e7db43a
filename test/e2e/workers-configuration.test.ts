import { afterAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { openEmbeddedReader } from "../../src/brokers/embedded-reader.ts"
import { Application } from "../../src/index.ts"
import { hookline, reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/http-server.ts"
import { Sender } from "../support/sender.ts"
import { childrenOf, metricOf, sum } from "../support/worker-processes.ts"

const root = temporaryFolder()
afterAll(() => root[Symbol.dispose]())
const folderOf = (name: string): string => {
  mkdirSync(join(root.path, name))
  return join(root.path, name)
}

interface Parts {
  readonly port: number
  readonly topic?: string
  readonly directory?: string
  readonly source?: string
  readonly more?: string
  readonly service?: string
  readonly admin?: string
}

const conf = ({ port, topic = "webhooks", directory = "log", ...parts }: Parts): string => `
[connection:log]
directory = ${directory}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${parts.source ?? ""}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
${parts.more ?? ""}
[service]
workers = 2
${parts.service ?? ""}
[admin]
listen = ${parts.admin ?? "127.0.0.1:0"}`

/** The values of a log, by topic. */
async function loggedIn(directory: string): Promise<Map<string, string[]>> {
  const reader = openEmbeddedReader(directory)
  const { signal } = new AbortController()
  const found = new Map<string, string[]>()
  for (const { topic } of await reader.topics()) {
    const records = await Array.fromAsync(reader.read(topic, { from: "beginning", follow: false, signal }))
    found.set(
      topic,
      records.map(({ value }) => Buffer.from(value).toString()),
    )
  }
  await reader.close()
  return found
}

/** Posts the same request over so many connections, one after the other, and gives the statuses. */
async function overManyConnections(
  port: number,
  count: number,
  body: string,
  headers: { readonly [name: string]: string },
): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < count; n++) {
    using sender = new Sender(port, { keepsAlive: false })
    statuses.push((await sender.post("/webhook", body, headers)).status)
  }
  return statuses
}

test("what one process alone can keep is refused, with what to do", async () => {
  const folder = folderOf("refused")
  const more = `
[pipeline:webhooks:Deduplicator]
key = json:/id
[pipeline:shared:WebHookSource]
port = 0
max_body_bytes = 3MiB
[pipeline:shared:Deduplicator]
key = json:/id
store = redis://localhost
[pipeline:shared:BrokerSink]
topic = shared`
  const file = join(folder, "pipelines.conf")
  await Bun.write(file, conf({ port: 8080, more, service: "max_in_flight_bytes = 4MiB" }))
  const { status, stderr } = await hookline(["check", "-c", file])
  expect(status).toBe(78)
  expect(
    stderr
      .trim()
      .split("\n")
      .map((line) => line.slice(line.indexOf("[pipeline"))),
  ).toEqual([
    "[pipeline:webhooks:Deduplicator] store: is kept by one process, and [service] workers = 2; name a redis:// store, or set workers = 1",
    "[pipeline:shared:WebHookSource] port: 0 would be another port in each process, and [service] workers = 2; name a port, or set workers = 1",
    "[pipeline:shared:WebHookSource] max_body_bytes: is more than [service] max_in_flight_bytes, shared by 2 workers, so that the largest bodies would never be taken; lower it, or raise that",
  ])
})

test("an application that code starts has no workers, and says so", async () => {
  const folder = folderOf("library")
  await Bun.write(join(folder, "pipelines.conf"), conf({ port: await freePort(), admin: "off" }))
  const app = Application.fromFile(join(folder, "pipelines.conf"))
  await expect(app.start()).rejects.toMatchObject({ code: "config" })
  const alone = Application.fromFile(join(folder, "pipelines.conf"), { service: { workers: 1 } })
  await alone.start()
  await alone.stop()
})

test("a port in use, a log in use and a file that a worker can't read are told once, and nothing is left running", async () => {
  const folder = folderOf("in-use")
  const file = join(folder, "pipelines.conf")
  const run = async (parts: Parts) => {
    await Bun.write(file, conf({ admin: "off", ...parts }))
    return hookline(["run", "-c", file])
  }
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const busy = await run({ port: other.port! })
  expect([busy.status, busy.stdout]).toEqual([69, ""])
  expect(busy.stderr.trim().split("\n")).toEqual([
    expect.stringContaining(`can't listen on 127.0.0.1:${other.port}: the port is in use`),
  ])

  const port = await freePort()
  const elsewhere = folderOf("elsewhere")
  const running = await startHookline(conf({ port }), { folder: elsewhere })
  try {
    expect((await run({ port })).status).toBe(69)
    const locked = await run({ port: await freePort(), directory: join(elsewhere, "log") })
    expect([locked.status, locked.stderr]).toEqual([69, expect.stringContaining(`process ${running.pid};`)])
  } finally {
    await running.stop()
  }

  const broken = await run({ port, more: "[pipeline:webhooks:Validator]\nschema = none.json" })
  expect(broken.status).not.toBe(0)
  expect(broken.stderr.trim().split("\n")).toEqual([expect.stringContaining("none.json")])
  // nobody listens there any more
  const last = await startHookline(conf({ port }), { folder })
  expect(await last.stop()).toBe(0)
}, 30_000)

test("under load, every request is answered 200 and published once, to the topic of its time, through ten reloads", async () => {
  const folder = folderOf("reloads")
  const [port, more] = [await freePort(), await freePort()]
  const version = (n: number): string => {
    const extra = `[pipeline:extra:WebHookSource]\nhost = 127.0.0.1\nport = ${more}\n[pipeline:extra:BrokerSink]\ntopic = extra`
    return conf({
      port,
      topic: `v${n}`,
      service: `drain_timeout = ${10 + n}s`,
      more: n % 2 === 0 ? "" : extra,
    })
  }
  const running = await startHookline(version(0), { folder })
  let [ran, mayRun, next] = [0, 0, 0]
  const over = new AbortController()
  const sent: { n: number; from: number; to: number; status: number }[] = []
  const send = async (keepsAlive: boolean): Promise<void> => {
    using sender = new Sender(port, { keepsAlive })
    while (!over.signal.aborted) {
      const [n, from] = [next++, ran]
      const { status } = await sender.post("/webhook", JSON.stringify({ n }))
      sent.push({ n, from, to: mayRun, status })
    }
  }
  const senders = [true, true, true, true, true, true, false, false].map(send)
  const failed = Promise.all(senders).catch((error: unknown) => error)
  for (let n = 1; n <= 10; n++) {
    const before = sent.length
    mayRun = n
    expect(await reload(running, folder, version(n))).toBe("reloaded")
    ran = n
    while (sent.length < before + 20) await Bun.sleep(1)
  }
  over.abort()
  await Promise.all(senders)
  expect(await failed).toBeArray()
  const { pipelines_changed: changed, service_changed: service } = running.log.findLast(
    ({ msg }) => msg === "reloaded",
  )!
  expect({ changed, service }).toEqual({ changed: ["webhooks"], service: ["drain_timeout"] })
  expect(running.log.filter(({ msg }) => msg === "reloaded")).toHaveLength(10)
  expect(running.log.filter(({ level }) => level === "error")).toEqual([])
  expect(await running.stop()).toBe(0)

  expect(sent.filter(({ status }) => status !== 200)).toEqual([])
  const topics = new Map<number, string[]>()
  for (const [topic, values] of await loggedIn(join(folder, "log"))) {
    for (const value of values) {
      const { n } = JSON.parse(value) as { n: number }
      topics.set(n, [...(topics.get(n) ?? []), topic])
    }
  }
  const wrong = sent.filter(({ n, from, to }) => {
    const [topic = "v-1", ...others] = topics.get(n) ?? []
    return others.length > 0 || Number(topic.slice(1)) < from || Number(topic.slice(1)) > to
  })
  expect(wrong).toEqual([])
  expect(topics.size).toBe(sent.length)
}, 60_000)

test("a reload that a worker can't follow changes nothing in any; a worker that is started again runs what the others do", async () => {
  const folder = folderOf("not-reloaded")
  const port = await freePort()
  const running = await startHookline(conf({ port, topic: "first" }), { folder })
  const send = (): Promise<number[]> => overManyConnections(port, 20, "{}", {})
  try {
    await Bun.write(join(folder, "schema.json"), "{")
    const broken = conf({
      port,
      topic: "second",
      more: "[pipeline:webhooks:Validator]\nschema = schema.json",
    })
    expect(await reload(running, folder, broken)).toBe("not")
    expect(running.log.filter(({ msg }) => msg.includes("schema.json"))).toHaveLength(1)
    expect(await reload(running, folder, conf({ port: 0 }))).toBe("not")
    expect((await metricOf(running, "hookline_config_last_reload_successful")).get("")).toBe(0)

    process.kill(childrenOf(running.pid)[0]!, "SIGKILL")
    await running.logged(({ msg }) => msg === "the worker takes webhooks again")
    expect(new Set(await send())).toEqual(new Set([200]))

    const three = conf({ port, topic: "third" }).replace("workers = 2", "workers = 3")
    expect(await reload(running, folder, three)).toBe("reloaded")
    const warned = running.log.filter(({ msg }) => msg === "[service] workers takes effect with a restart")
    expect(warned).toMatchObject([{ workers: 3 }])
    expect(childrenOf(running.pid)).toHaveLength(2)
    expect(new Set(await send())).toEqual(new Set([200]))
  } finally {
    expect(await running.stop()).toBe(0)
  }
  const topics = await loggedIn(join(folder, "log"))
  expect([...topics].map(([topic, values]) => [topic, values.length])).toEqual([
    ["first", 20],
    ["third", 20],
  ])
}, 30_000)

test("a replay is told by whichever worker it reaches", async () => {
  const folder = folderOf("replays")
  const port = await freePort()
  const secret = Buffer.from("obviously-fake-secret-of-32-byte").toString("base64")
  const more = `[pipeline:webhooks:Verifier]\nprovider = standard-webhooks\nsecret = whsec_${secret}`
  const running = await startHookline(conf({ port, more }), { folder })
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac("sha256", Buffer.from(secret, "base64")).update(`msg_1.${timestamp}.{}`)
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature.digest("base64")}`,
  }
  try {
    expect(await overManyConnections(port, 1, "{}", headers)).toEqual([200])
    // each worker answers once what all of them have been told before
    await metricOf(running, "hookline_events_total")
    await metricOf(running, "hookline_events_total")
    const statuses = await overManyConnections(port, 20, "{}", headers)
    expect(new Set(statuses)).toEqual(new Set([200]))
    const answers = await metricOf(running, "hookline_worker_http_requests_total")
    expect(Math.min(...answers.values())).toBeGreaterThan(0)
    const events = await metricOf(running, "hookline_events_total")
    expect(events.get('pipeline="webhooks",outcome="dropped",reason="replayed"')).toBe(20)
  } finally {
    await running.stop()
  }
  expect((await loggedIn(join(folder, "log"))).get("webhooks")).toHaveLength(1)
}, 30_000)

test("a secret that the provider brings to one worker is known to all, and there is no second one", async () => {
  const folder = folderOf("secret-file")
  const port = await freePort()
  const more = "[pipeline:webhooks:Verifier]\nprovider = asana\nsecret_file = asana-secret"
  const running = await startHookline(conf({ port, more }), { folder })
  const secret = "obviously-fake-asana-secret"
  const signature = createHmac("sha256", secret).update("{}").digest("hex")
  try {
    expect(await overManyConnections(port, 1, "", { "X-Hook-Secret": secret })).toEqual([200])
    const others = await overManyConnections(port, 20, "", { "X-Hook-Secret": "another-obviously-fake-one" })
    expect(new Set(others)).toEqual(new Set([401]))
    const events = await overManyConnections(port, 20, "{}", { "X-Hook-Signature": signature })
    expect(new Set(events)).toEqual(new Set([200]))
    const answers = await metricOf(running, "hookline_worker_http_requests_total")
    expect(Math.min(...answers.values())).toBeGreaterThan(0)
    expect(sum(answers.values())).toBe(41)
  } finally {
    await running.stop()
  }
  expect(running.output()).not.toContain("obviously-fake")
}, 30_000)
