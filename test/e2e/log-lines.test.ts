import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { endingWithThisProcess } from "../support/child.ts"
import { deadLettered, send } from "../support/dead-lettered.ts"
import { hookline, startHookline, folderOfTests } from "../support/hookline.ts"
import { inChunks } from "../support/http-server.ts"
import { startInProcess } from "../support/in-process.ts"
import { until } from "../support/kafka-options.ts"
import { reloadConf, statusOf } from "../support/reloaded.ts"
import { configurationOf, ON_LOG } from "../support/webhook-service.ts"
import { PROGRAM } from "../support/program.ts"

const root = folderOfTests()

test("the line of a start names version, process, configuration and where each connection leads", async () => {
  const folder = root.make("start")
  const kafka = "[connection:kafka]\nbootstrap_servers = 127.0.0.1:1, 127.0.0.1:2\n"
  await using running = await startHookline(reloadConf({ more: kafka }), { folder })
  expect(running.log.find(({ msg }) => msg === "started")).toMatchObject({
    version: manifest.version,
    process_id: running.pid,
    configuration: join(folder, "pipelines.conf"),
    connections: {
      log: `embedded log in ${join(folder, "log")}`,
      kafka: "Kafka at 127.0.0.1:1, 127.0.0.1:2",
    },
  })
})

test("at debug an accepted event has a line with its place in the log; a dead letter too; at info none has", async () => {
  const folder = root.make("debug")
  const conf = (level: string): string =>
    `[connection:log]\ndirectory = log\n[service]\nlog_level = ${level}\n${deadLettered("pay")}`
  const published = ({ msg }: { msg: string }): boolean => msg.endsWith(" published")
  {
    await using running = await startInProcess(conf("debug"), { folder })
    for (const body of ["{}", "{", "{}"]) await send(running.urls["pay"]!, body)
    await running.logged(({ offset }) => offset === 1)
    const ms = expect.any(Number)
    expect(running.log.filter(published)).toMatchObject([
      { level: "debug", pipeline: "pay", topic: "pay", partition: 0, offset: 0, ms, msg: "event published" },
      { topic: "pay.dead", partition: 0, offset: 0, msg: "dead letter published" },
      { pipeline: "pay", topic: "pay", partition: 0, offset: 1, ms, msg: "event published" },
    ])
  }
  await using running = await startInProcess(conf("info"), { folder })
  expect((await send(running.urls["pay"]!, "{}")).status).toBe(200)
  await running.stop()
  expect(running.log.filter(published)).toEqual([])
})

test("an event that a spool takes has a line that says so", async () => {
  const folder = root.make("spooled")
  const conf = `[connection:kafka]\nbootstrap_servers = 127.0.0.1:1\nspool = spool.sqlite\n[admin]\nlisten = off
[service]\nlog_level = debug\n${deadLettered("pay")}`
  await using running = await startInProcess(conf, { folder })
  expect((await send(running.urls["pay"]!, "{}")).status).toBe(200)
  const line = await running.logged(({ msg }) => msg === "event published")
  expect(line).toMatchObject({ topic: "pay", spooled: true })
  expect(line).not.toHaveProperty("offset")
})

test("on a terminal a refusal is one line, as docs/getting-started.md shows it", async () => {
  const folder = root.make("terminal")
  const file = join(folder, "pipelines.conf")
  const more = "[pipeline:webhooks:Verifier]\nprovider = github\nsecret = not-a-real-secret\n"
  const configuration = reloadConf({ admin: "off", source: "path = /github", more })
  await Bun.write(file, configuration.replaceAll("pipeline:webhooks", "pipeline:github"))
  let output = ""
  const command = [...PROGRAM, "run", "-c", file]
  const child = Bun.spawn(endingWithThisProcess(...command), {
    cwd: folder,
    // wide enough to wrap nothing
    terminal: { cols: 1000, rows: 50, data: (_, bytes) => void (output += Buffer.from(bytes).toString()) },
  })
  try {
    await until("it has started", () => output.includes("started"))
    const [url] = /http:\/\/127\.0\.0\.1:\d+\/github/.exec(output)!
    expect(await statusOf(url, '{"type":"ping","id":43}')).toBe(401)
    await until("it is logged", () => output.includes("event rejected"))
  } finally {
    child.kill("SIGTERM")
    await child.exited
  }
  const plain = Bun.stripANSI(output)
  const line = plain.split("\n").find((it) => it.includes("event rejected"))!
  const shown = (text: string): string =>
    text
      .replace(/^\[[\d:.]+\]/, "[TIME]")
      .replace(/request [\w-]+/, "request ID")
      .trimEnd()
  const page = await Bun.file(join(import.meta.dir, "../../docs/getting-started.md")).text()
  expect(shown(line)).toBe(shown(/^\[.*event rejected.*$/m.exec(page)![0]))
  expect(plain.split("\n").filter((it) => it.startsWith("    "))).toEqual([])
})

const TWILIO = (url: string): string => `[pipeline:webhooks:Verifier]
provider = twilio
secret = example-not-a-secret
[pipeline:webhooks:Validator]
on_invalid = drop
${url}`

test("a mismatch of a scheme that signs the URL names the URL that was assumed, without values of its query", async () => {
  const folder = root.make("url")
  await using running = await startInProcess(reloadConf({ more: TWILIO("") }), { folder })
  const url = running.urls["webhooks"]!
  const sign = (signed: string): string =>
    createHmac("sha1", "example-not-a-secret").update(`${signed}Body1`).digest("base64")
  const post = async (signed: string): Promise<number> => {
    const headers = {
      "X-Twilio-Signature": sign(signed),
      "Content-Type": "application/x-www-form-urlencoded",
    }
    return (await fetch(`${url}?token=hush&a=1`, { method: "POST", body: "Body=1", headers })).status
  }
  expect(await post("https://hooks.example.com/sms?token=hush&a=1")).toBe(401)
  const line = await running.logged(({ reason }) => reason === "unverified_no_match")
  expect(line["detail"]).toBe(
    `signature mismatch; signed URL taken to be ${url}?token=…&a=…: if the provider has another, set public_url`,
  )
  expect(running.output()).not.toContain("hush")
  expect(await post(`${url}?token=hush&a=1`)).toBe(200)
})

test("refusals are logged with their cause: size and limit, content type, rate and limit, what the broker said", async () => {
  const folder = root.make("causes")
  const [slow, text, down] = [
    `rate_limit = 0.01`,
    `content_types = application/json, application/x-a`,
    "",
  ].map(
    (
      more,
      n,
    ) => `[pipeline:p${n}:WebHookSource]\nmax_body_bytes = 1KiB\ndelivery_timeout = ${n === 2 ? "200ms" : "60s"}\n${more}
[pipeline:p${n}:BrokerSink]\nconnection = ${n === 2 ? "kafka" : "log"}\ntopic = t\n`,
  )
  await using running = await startInProcess(
    `[connection:log]\ndirectory = log\n[connection:kafka]\nbootstrap_servers = 127.0.0.1:1\n${slow}${text}${down}`,
    { folder },
  )
  await running.logged(({ msg }) => msg.startsWith("Kafka unavailable"))
  const large = "x".repeat(2000)
  const post = async (pipeline: string, body: RequestInit["body"], headers = {}): Promise<number> => {
    const json = { "Content-Type": "application/json" }
    return (await fetch(running.urls[pipeline]!, { method: "POST", body, headers: { ...json, ...headers } }))
      .status
  }
  const statuses = [
    await post("p1", large),
    await post("p1", inChunks([large])),
    await post("p1", Bun.gzipSync(large), { "Content-Encoding": "gzip" }),
    await post("p1", "{}", { "Content-Type": `text/${"y".repeat(200)}; charset=utf-8` }),
    await post("p1", "{}", { "Content-Encoding": "rot13" }),
    await post("p0", "{}"),
    await post("p0", "{}"),
    await post("p2", "{}"),
  ]
  expect(statuses).toEqual([413, 413, 413, 415, 415, 200, 429, 503])
  const unavailable = await running.logged(({ status }) => status === 503)
  expect(running.log.flatMap(({ status, detail }) => (Number(status) < 500 ? [detail] : []))).toEqual([
    "Content-Length 2000 exceeds max_body_bytes, 1024",
    "the body exceeds max_body_bytes, 1024",
    `its ${Bun.gzipSync(large).length} bytes decompress to more than max_body_bytes, 1024`,
    `Content-Type "text/${"y".repeat(95)}…"; content_types = application/json, application/x-a`,
    'Content-Encoding "rot13"',
    "2 events came within a second; rate_limit = 0.01, rate_burst = 1",
  ])
  expect([unavailable.level, unavailable["detail"]]).toEqual([
    "warn",
    "the deadline passed before Kafka acknowledged the record: Kafka unavailable: connection refused (127.0.0.1:1)",
  ])
})

test("a TZ that is not known is named at the start and by check", async () => {
  const folder = root.make("time-zone")
  const env = { TZ: "CET-1CEST,M3.5.0,M10.5.0/3" }
  await using running = await startHookline(configurationOf(ON_LOG), { folder, env })
  const warned = running.log.filter(({ msg }) => msg.includes("TZ"))
  const msg = `the environment variable TZ is "${env.TZ}", which is no known name of the IANA time zone database: received_at is in UTC; set TZ to a name such as America/New_York, or to UTC`
  expect(warned).toMatchObject([{ level: "warn", msg }])
  const { status, stderr } = await hookline(["check", "-c", join(folder, "pipelines.conf")], { env })
  expect([status, stderr.split(msg).length]).toEqual([0, 2])
})
