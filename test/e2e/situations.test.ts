import { afterAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type { ReasonTally } from "../../src/admin/api/shapes.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import {
  hookline,
  sharedByTests,
  startHookline,
  temporaryFolder,
  type RunningHookline,
} from "../support/hookline.ts"
import { openSocket } from "../support/http-socket.ts"
import { until } from "../support/kafka-options.ts"
import { canStartKafka, startStrictKafka } from "../support/kafka.ts"
import { freePort, freePorts } from "../support/ports.ts"
import { mountSmallDisk } from "../support/small-disk.ts"

// What goes wrong at night is named with its cause by the page's first view, by a line of the log and by a command.

const SECRET = "not-a-real-secret-000"
const folder = temporaryFolder()
const disk = mountSmallDisk(join(folder.path, "disk"))
const certificates = await makeCertificates(join(folder.path, "certificates"))
const { server } = certificates
const [adminPort] = await freePorts(1)
const broker = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  tls: { cert: readFileSync(server.certificate, "utf8"), key: readFileSync(server.key, "utf8") },
  socket: { data() {}, error() {} },
})
afterAll(() => {
  broker.stop(true)
  disk?.[Symbol.dispose]()
})

const pipeline = (id: string, connection: string, more: string): string => `
[pipeline:${id}:WebHookSource]
path = /${id}
${more}
[pipeline:${id}:BrokerSink]
connection = ${connection}
topic = ${id}
`
const verifier = (id: string, provider: string): string =>
  `[pipeline:${id}:Verifier]\nprovider = ${provider}\nsecret = ${SECRET}`
const running = sharedByTests(
  () =>
    startHookline(
      `[connection:log]
directory = log
[connection:full]
directory = ${disk?.path ?? join(folder.path, "no-disk")}/log
[connection:down]
bootstrap_servers = 127.0.0.1:1
delivery_timeout = 2s
[connection:tls]
bootstrap_servers = 127.0.0.1:${broker.port}
security_protocol = ssl
ssl_ca_location = ${certificates.otherCa}
delivery_timeout = 2s
[connection:spooled]
bootstrap_servers = 127.0.0.1:1
spool = spooled.sqlite
${["wrong", "rotated", "altered"].map((id) => pipeline(id, "log", verifier(id, "github"))).join("")}
${pipeline("ahead", "log", verifier("ahead", "stripe"))}
${pipeline("form", "log", "")}
${pipeline("limited", "log", "rate_limit = 1")}
${pipeline("large", "log", "max_body_bytes = 1KiB")}
${pipeline("twice", "log", "[pipeline:twice:Deduplicator]\nkey = json:/id")}
${pipeline("full", "full", "")}
${pipeline("down", "down", "")}
${pipeline("tls", "tls", "")}
${pipeline("spooled", "spooled", "")}
[admin]
listen = 127.0.0.1:${adminPort}
capture = refused
`,
      { folder: folder.path },
    ),
  folder,
)

const hmac = (text: string, secret = SECRET): string =>
  createHmac("sha256", secret).update(text).digest("hex")
const BODY = '{"id":"1"}'

interface Situation {
  readonly name: string
  readonly pipeline: string
  readonly status: number
  readonly body?: string
  readonly headers?: () => { readonly [name: string]: string }
  /** What the overview, a line of the log and a command say. */
  readonly overview: RegExp
  readonly log: RegExp
  readonly command: RegExp
}

const github = (secret: string, text: string) => () => ({
  "X-Hub-Signature-256": `sha256=${hmac(text, secret)}`,
})
const SITUATIONS: readonly Situation[] = [
  {
    name: "a wrong secret",
    pipeline: "wrong",
    status: 401,
    headers: github("another", BODY),
    overview: /no secret or key matches/,
    log: /unverified_no_match/,
    command: /The secret may belong to another endpoint/,
  },
  {
    name: "a rotated secret",
    pipeline: "rotated",
    status: 401,
    headers: github("the-one-before", BODY),
    overview: /no secret or key matches/,
    log: /unverified_no_match/,
    command: /be outdated/,
  },
  {
    name: "an altered body",
    pipeline: "altered",
    status: 401,
    headers: github(SECRET, '{"id": "1"}'),
    overview: /no secret or key matches/,
    log: /unverified_no_match/,
    command: /body/,
  },
  {
    name: "a clock that is ahead",
    pipeline: "ahead",
    status: 401,
    headers() {
      const at = Math.floor(Date.now() / 1000) + 3600
      return { "Stripe-Signature": `t=${at},v1=${hmac(`${at}.${BODY}`)}` }
    },
    overview: /timestamp is further ahead than the tolerance/,
    log: /timestamp 3\d\d\d s ahead/,
    command: /synchronize the clocks/,
  },
  {
    name: "a form body",
    pipeline: "form",
    status: 400,
    body: "a=1&b=2",
    headers: () => ({ "Content-Type": "application/x-www-form-urlencoded" }),
    overview: /not JSON/,
    log: /invalid_json/,
    command: /It is a form. A Decoder/,
  },
  {
    name: "a rate limit",
    pipeline: "limited",
    status: 429,
    overview: /more events came than its rate_limit allows/,
    log: /rate_limited/,
    command: /rate_limit = 2/,
  },
  {
    name: "a body that is too large",
    pipeline: "large",
    status: 413,
    body: JSON.stringify({ id: "x".repeat(2000) }),
    overview: /large/,
    log: /2009|1024/,
    command: /max_body_bytes = 2KiB/,
  },
  {
    name: "a broker that is down",
    pipeline: "down",
    status: 503,
    overview: /connection refused/,
    log: /connection refused/,
    command: /connection refused/,
  },
  {
    name: "a certificate of another CA",
    pipeline: "tls",
    status: 503,
    overview: /certificate/,
    log: /certificate/,
    command: /certificate/,
  },
]

const overviewText = async (id: string, { adminUrl }: RunningHookline = running): Promise<string> => {
  const overview = (await (await fetch(`${adminUrl}/api/overview`)).json()) as Overview
  const state = overview.pipelines.find((it) => it.id === id)!.state.words
  return [state, ...overview.problems.map(({ cause }) => cause)].join("\n")
}
const post = async ({ pipeline: id, body = BODY, headers = () => ({}) }: Situation): Promise<number> =>
  (await fetch(running.urls[id]!, { method: "POST", body, headers: headers() })).status
const command = async (args: readonly string[], { path } = folder): Promise<string> => {
  const { stdout } = await hookline([...args, "-c", join(path, "pipelines.conf")], { cwd: path })
  return stdout
}

test.each(SITUATIONS)("$name is named by the overview, a line of the log and verify --last", async (it) => {
  // so many at once are over any limit, and for someone to look at
  const some = () => Promise.all(Array.from({ length: 6 }, () => post(it)))
  await until(`${it.pipeline} answers ${it.status}`, async () => (await some()).includes(it.status))
  await running.logged((line) => it.log.test(JSON.stringify(line)) && line["pipeline"] === it.pipeline)
  await until(`the overview says ${it.overview}`, async () => {
    if (it.status === 429) await some()
    return it.overview.test(await overviewText(it.pipeline))
  })
  expect(await command(["verify", "--last", "--pipeline", it.pipeline])).toMatch(it.command)
})

test("a broker that is down behind a spool is named by the overview, a line of the log and status", async () => {
  const reason = /Kafka unavailable: connection refused/
  expect((await fetch(running.urls["spooled"]!, { method: "POST", body: BODY })).status).toBe(200)
  await running.logged(
    ({ msg, reason: why }) => /spooling them/.test(String(msg)) && reason.test(String(why)),
  )
  await until("the overview says so", async () => reason.test(await overviewText("spooled")))
  expect(await command(["status"])).toMatch(/^spooled +1 +spooling: Kafka unavailable: connection refused/m)
})

test("a proxy that trusted_proxies does not list is named by the overview, one line of the log and status", async () => {
  const named = /X-Forwarded-For of an address that trusted_proxies/
  const headers = { "X-Forwarded-For": "192.0.2.1" }
  for (let n = 0; n < 3; n++)
    expect((await fetch(running.urls["form"]!, { method: "POST", body: BODY, headers })).status).toBe(200)
  await until("the overview says so", async () => named.test(await overviewText("form")))
  expect(await overviewText("form")).toContain("trusted_proxies of form does not list")
  expect(await command(["status"])).toMatch(named)
  expect(running.log.filter(({ msg }) => named.test(String(msg)))).toMatchObject([
    { pipeline: "form", peer_address: "127.0.0.1" },
  ])
})

test("senders that close their connection before the answer are counted by the overview and status", async () => {
  const named = /\d requests of twice in 5 minutes got no answer/
  const { port, pathname } = new URL(running.urls["twice"]!)
  let n = 0
  await until("the overview says so", async () => {
    const body = JSON.stringify({ id: `half-closed-${n++}` })
    using socket = await openSocket(Number(port))
    socket.send(
      `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    socket.endSending()
    await socket.ended
    return named.test(await overviewText("twice"))
  })
  expect(await command(["status"])).toMatch(named)
})

test("duplicate ids are dropped, and listed by reason with what that means", async () => {
  const send = () => fetch(running.urls["twice"]!, { method: "POST", body: BODY })
  for (let n = 0; n < 3; n++) expect((await send()).status).toBe(200)
  const tallies = async (): Promise<ReasonTally[]> =>
    (await (await fetch(`${running.adminUrl}/api/reasons`)).json()) as ReasonTally[]
  await until("duplicates are counted", async () =>
    (await tallies()).some((it) => it.pipeline === "twice" && it.reason === "duplicate" && it.count === 2),
  )
  const [tally] = (await tallies()).filter((it) => it.pipeline === "twice")
  expect(tally).toMatchObject({ words: "an event with its id was published before", outcome: "dropped" })
  expect(tally!.advice).toContain("Nothing is missing")
})

describe.skipIf(disk === undefined)("a full disk", () => {
  test("is named by the overview, a line of the log and status", async () => {
    const full: Situation = {
      name: "full",
      pipeline: "full",
      status: 503,
      body: JSON.stringify({ id: "x".repeat(100_000) }),
      overview: /disk of .* is full/,
      log: /disk of .* is full/,
      command: /disk of .* is full/,
    }
    expect(await post(full)).toBe(200)
    disk!.fill(0)
    await until("the disk is full", async () => (await post(full)) === 503)
    await running.logged((line) => full.log.test(JSON.stringify(line)))
    await until("the overview says so", async () => full.overview.test(await overviewText("full")))
    expect(await command(["status"])).toMatch(full.command)
  })
})

describe.skipIf(!(await canStartKafka()))("a topic that Kafka does not have", () => {
  test("is named by the overview, a line of the log, status and verify --last", async () => {
    await using kafka = await startStrictKafka([])
    using own = temporaryFolder()
    await using service = await startHookline(
      `[connection:kafka]\nbootstrap_servers = ${kafka.bootstrapServers}\n${pipeline("missing", "kafka", "")}
[connection:spooled]\nbootstrap_servers = ${kafka.bootstrapServers}\nspool = s.sqlite\n${pipeline("kept", "spooled", "")}
[admin]\nlisten = 127.0.0.1:${await freePort()}\ncapture = refused\n`,
      { folder: own.path },
    )
    const named = /topic missing does not exist \(auto\.create\.topics\.enable is false\); create it/
    const { status } = await fetch(service.urls["missing"]!, { method: "POST", body: BODY })
    expect(status).toBe(503)
    await service.logged((line) => line["pipeline"] === "missing" && named.test(JSON.stringify(line)))
    await until("the overview says so", async () => named.test(await overviewText("missing", service)))
    for (const it of [["status"], ["verify", "--last"]]) expect(await command(it, own)).toMatch(named)

    // behind a spool its events are accepted, and the log does not say that they are rejected
    expect((await fetch(service.urls["kept"]!, { method: "POST", body: BODY })).status).toBe(200)
    const line = await service.logged(({ topic, msg }) => topic === "kept" && /does not exist/.test(msg))
    expect(line).toMatchObject({
      level: "warn",
      msg: expect.stringMatching(/^events of this topic are spooled: /),
    })
    await until("status says so", async () =>
      /^spooled +1 +partly ready: topic kept does not exist/m.test(await command(["status"], own)),
    )
  })
})
