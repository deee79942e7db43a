import { beforeAll, expect, test } from "bun:test"
import { chmod } from "node:fs/promises"
import { join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { problem } from "../../src/admin/api/problem.ts"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type {
  CaptureDetail,
  CaptureExplanation,
  CaptureSummary,
  ReasonTally,
  ReplayOverview,
  SendResult,
  ServiceProblem,
} from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { makeCertificate } from "../support/certificate.ts"
import { hookline, reload, sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { serverSentEvents } from "../support/sse.ts"

// Three processes that are replicas of one service, and impostors that are not.

const TOKEN = "obviously-fake-token-of-replicas"
const configuration = (adminPort: number, replicas: readonly string[], more = ""): string => `
[connection:log]
directory = log
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
topic = webhooks
[forward:app]
from = log/webhooks
url = http://127.0.0.1:9/hook
[admin]
listen = 127.0.0.1:${adminPort}
capture = all
replicas = ${replicas.join(", ")}
replicas_token = ${TOKEN}
${more}`

const ports = await Promise.all([freePort(), freePort(), freePort()])
const places = ports.map((port) => `127.0.0.1:${port}`)
const [, placeB, placeC] = places as [string, string, string]

interface Three extends AsyncDisposable {
  readonly a: AdminApi
  readonly b: AdminApi
  readonly c: AdminApi
}
const it = sharedByTests(async (): Promise<Three> => {
  const [a, b, c] = (await Promise.all(
    ports.map((port) => AdminApi.startInProcess(configuration(port, places))),
  )) as [AdminApi, AdminApi, AdminApi]
  return {
    a,
    b,
    c,
    async [Symbol.asyncDispose]() {
      for (const one of [a, b, c]) await one[Symbol.asyncDispose]()
    },
  }
})

async function overviewWhere(api: AdminApi, isAwaited: (overview: Overview) => boolean): Promise<Overview> {
  for (;;) {
    const overview = await api.get<Overview>("overview")
    if (isAwaited(overview)) return overview
    await Bun.sleep(50)
  }
}
const problems = ({ replicas }: Overview): { [replica: string]: string | null } =>
  Object.fromEntries(replicas.map(({ replica, problem }) => [replica, problem]))
const allAnswer = ({ replicas }: Overview): boolean =>
  replicas.length === 2 && replicas.every(({ problem }) => problem === null)
const refusalsIn = ({ pipelines: [pipeline] }: Overview): number => pipeline!.refusals[0]?.count ?? 0

beforeAll(async () => {
  for (const api of [it.a, it.b, it.c]) await overviewWhere(api, allAnswer)
})

test("a problem that all replicas have is listed once, and who acknowledges or mutes it in one does so in all", async () => {
  const problemIn = async (api: AdminApi): Promise<ServiceProblem | undefined> =>
    (await api.get<ServiceProblem[]>("problems")).find(({ id }) => id === "forward_failed:app")
  const all = [it.a, it.b, it.c]
  for (const api of all) expect(await api.send("webhooks", {}, '{"n":0}')).toBe(200)
  for (const api of all)
    await until("it is found", async () => {
      const overviews = await api.get<Overview>("overview")
      return overviews.problems.some(
        ({ id, replica }) => id === "forward_failed:app" && replica === undefined,
      )
    })
  const listed = await it.a.get<ServiceProblem[]>("problems")
  expect(listed.filter(({ kind }) => kind === "forward_failed")).toHaveLength(1)
  await it.a.post("problems/forward_failed:app/acknowledge", { by: "ana" })
  await it.b.post("problems/forward_failed/mute", { by: "ben" })
  for (const api of all)
    expect(await problemIn(api)).toMatchObject({
      acknowledged: { by: "ana" },
      muted: { by: "ben", until: null },
    })
  await it.c.post("problems/forward_failed:app/unmute")
  await it.c.post("problems/forward_failed/unmute")
  for (const api of all) expect(await problemIn(api)).toMatchObject({ acknowledged: null, muted: null })
})

test("each replica lists the two others and not itself, and sums what all have received", async () => {
  const before = refusalsIn(await it.a.get<Overview>("overview"))
  for (const api of [it.a, it.b, it.c, it.c]) {
    expect(await api.send("webhooks", {}, '{"n":1}')).toBe(200)
    expect(await api.send("webhooks", {}, "[]")).toBe(400)
  }
  await overviewWhere(it.a, ({ forwards }) => forwards.length === 3 && forwards.every(({ lag }) => lag !== 0))
  const overview = await overviewWhere(it.a, (found) => refusalsIn(found) >= before + 4)
  expect(overview.replicas.map(({ replica, state }) => [replica, state])).toEqual([
    [placeB, "ready"],
    [placeC, "ready"],
  ])
  for (const rows of [overview.forwards, overview.connections])
    expect(rows.map(({ replica }) => replica)).toEqual([undefined, placeB, placeC])
  await it.a.get(`forwards/app@${placeB}/pause`, { method: "POST" })
  await overviewWhere(it.b, ({ forwards: [own] }) => own!.replica === undefined && own!.paused)
  await overviewWhere(it.c, ({ forwards }) => forwards.find(({ replica }) => replica === placeB)!.paused)
})

test("a request that one replica refused is listed live by another, and is explained and sent again from there", async () => {
  await it.b.get("captures", { method: "DELETE" })
  const live = async (): Promise<CaptureSummary> => {
    let isSent = false
    for await (const { name, data } of serverSentEvents(`${it.a.running.adminUrl}/api/live`)) {
      if (name === "capture") return data as CaptureSummary
      if (!isSent && name === "overview") {
        // the stream's first poll is what later ones are compared with
        await Bun.sleep(1000)
        expect(await it.c.send("webhooks", {}, "[]")).toBe(400)
      }
      isSent ||= name === "overview"
    }
    throw new Error("the stream has ended")
  }
  const shown = await live()
  expect(shown).toMatchObject({ replica: placeC, reason: "not_an_object" })
  for (const api of [it.a, it.b]) {
    expect(await api.get<CaptureSummary[]>("captures?outcome=rejected")).toContainEqual(shown)
    const { summary, body_base64 } = await api.get<CaptureDetail>(`captures/${shown.id}`)
    expect([summary, Buffer.from(body_base64!, "base64").toString()]).toEqual([shown, "[]"])
    expect((await api.get<CaptureDetail>("captures/last")).summary.replica).toBe(placeC)
    expect(
      await api.get<CaptureExplanation>(`captures/${encodeURIComponent(shown.id)}/explanation`),
    ).toHaveProperty("result")
    expect(await api.post<SendResult>(`captures/${shown.id}/resend`)).toMatchObject({ status: 400 })
  }
  const [own] = await it.c.get<CaptureSummary[]>("captures?outcome=rejected")
  expect(own!.replica).toBeUndefined()
  await it.a.running.logged(({ action }) => action === `POST /api/captures/${shown.id}/resend`)
  await it.c.running.logged((line) => line["token"] === "replicas_token")
  await overviewWhere(it.a, (overview) => overview.refused === 3)
  const counted = await it.a.get<ReasonTally[]>("reasons")
  expect(counted.reduce((sum, it) => sum + it.count, 0)).toBe(3)
  await it.a.get("captures", { method: "DELETE" })
  expect(await it.c.get<CaptureSummary[]>("captures")).toEqual([])
  expect((await it.a.fetch(`captures/${shown.id}`)).status).toBe(404)
})

test("a replay of one replica is listed by all, and paused, resumed and cancelled from another", async () => {
  expect(await it.b.send("webhooks", {}, '{"n":2}')).toBe(200)
  expect(await it.b.send("webhooks", {}, '{"n":3}')).toBe(200)
  const from = { connection: "log", topic: "webhooks" }
  const to = { connection: "log", topic: "again" }
  const { id } = await it.b.post<ReplayOverview>("replays", { from, to, rate: 0.1 })
  const elsewhere = `${id}@${placeB}`
  const [listed] = await it.a.get<ReplayOverview[]>("replays")
  expect(listed).toMatchObject({ id: elsewhere, replica: placeB })
  expect((await it.c.get<ReplayOverview>("replays/last")).id).toBe(elsewhere)
  for await (const { name, data } of serverSentEvents(`${it.c.running.adminUrl}/api/live`))
    if (name === "replay" && (data as ReplayOverview).id === elsewhere) break
  for (const [action, state] of [
    ["pause", "paused"],
    ["resume", "running"],
    ["cancel", "cancelled"],
  ] as const) {
    const changed = await it.a.post<ReplayOverview>(`replays/${elsewhere}/${action}`)
    expect([changed.id, changed.state]).toEqual([elsewhere, state])
  }
  expect(await it.b.get<ReplayOverview>(`replays/${id}`)).toMatchObject({ state: "cancelled" })
})

test("refusals of one pipeline are summed over replicas of which each has refused requests of more than are listed", async () => {
  const [port, otherPort, ...webhooks] = await Promise.all([freePort(), freePort(), freePort(), freePort()])
  const pair = [port, otherPort].map((it) => `127.0.0.1:${it}`)
  const ids = Array.from({ length: 510 }, (_, at) => `many-${at}`)
  const many = (at: number): string =>
    ids.map((id) => `[pipeline:${id}:WebHookSource]\nport = ${webhooks[at]}\npath = /${id}\n`).join("")
  const sinks = ids.map((id) => `[pipeline:${id}:BrokerSink]\ntopic = webhooks\n`).join("")
  const [one, other] = await Promise.all(
    [port, otherPort].map((it, at) => AdminApi.startInProcess(configuration(it!, pair, many(at) + sinks))),
  )
  await overviewWhere(one!, ({ replicas: [found] }) => found?.problem === null)
  for (const id of ids) expect(await other!.send(id, {}, "[]")).toBe(400)
  expect(await one!.send(ids[0]!, {}, "[]")).toBe(400)
  for (;;) {
    const listed = await one!.get<ReasonTally[]>("reasons")
    expect(listed[0]!.pipeline).toBe(ids[0]!)
    // a replica that does not answer in time is left out for a while
    if (listed.length === 500 && listed[0]!.count === 2) break
    await Bun.sleep(50)
  }
  for (const api of [one!, other!]) await api[Symbol.asyncDispose]()
})

test("the log level changes in all replicas", async () => {
  expect(await it.a.post<unknown>("log-level", { level: "debug" }, "PUT")).toEqual({
    level: "debug",
    replicas_left_out: [],
  })
  for (const api of [it.a, it.b, it.c])
    expect(await api.get<unknown>("log-level")).toEqual({ level: "debug" })
  await it.c.post("log-level", { level: "info" }, "PUT")
})

test("a replica that does not answer, or has another version or token, is listed with its problem, and no request waits for it", async () => {
  const other = await AdminApi.startInProcess(
    configuration(0, ["127.0.0.1:9"]).replace(
      TOKEN,
      "another-obviously-fake-token\ntoken = obviously-fake-main-token",
    ),
  )
  const overview = await it.a.get<Overview>("overview?pipelines=false")
  const hanging = Promise.withResolvers<Response>()
  const askedOfHung: string[] = []
  const serving = (answer: (request: Request) => Response | Promise<Response>) =>
    Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer })
  using hung = serving(({ url }) => {
    askedOfHung.push(new URL(url).pathname)
    return hanging.promise
  })
  using garbage = serving(() => new Response("<html>"))
  using json = serving(() => Response.json([{ id: 1 }]))
  using old = serving(() => Response.json({ ...overview, version: "0.0.9" }))
  using late = serving(() => Response.json({ ...overview, process: "another", now: Date.now() - 60_000 }))
  const place = ({ port }: { port?: number | undefined }): string => `127.0.0.1:${port}`
  const otherPlace = new URL(other.running.adminUrl!).host
  const adminPort = await freePort()
  const all = [
    "127.0.0.1:9",
    "dns:nothing.invalid:9464",
    `dns:localhost:${adminPort}`,
    otherPlace,
    ...[hung, garbage, json, old, late].map(place),
  ]
  await using api = await AdminApi.startInProcess(configuration(adminPort, all))
  const merged = await overviewWhere(api, ({ replicas }) => replicas.length === 8)
  expect(problems(merged)).toEqual({
    "127.0.0.1:9": expect.stringContaining("connection refused"),
    "dns:nothing.invalid:9464": "the name has no address",
    [otherPlace]: "has a different replicas_token",
    [place(hung)]: expect.stringContaining("no answer in time"),
    [place(garbage)]: expect.any(String),
    [place(json)]: expect.stringContaining("is not a Hookline of this version"),
    [place(old)]: `is Hookline 0.0.9, this one ${manifest.version}`,
    [place(late)]: null,
  })
  await overviewWhere(api, ({ problems: listed }) => {
    const texts = listed.map(({ cause }) => cause)
    return (
      all.slice(3).every((one) => texts.some((it) => it.includes(one))) &&
      texts.some((it) => /clock of replica .* is \d+ s behind/.test(it))
    )
  })
  await api.running.logged(({ msg, replica }) => msg === "replica left out" && replica === place(hung))
  // garbage is asked for rows, too, once its overview is one
  expect(await api.get<CaptureSummary[]>("captures")).toEqual([])
  await Promise.all(["overview", "replays", "captures"].map((path) => api.get<unknown>(path)))
  expect(askedOfHung.filter((path) => /replays|captures/.test(path))).toEqual([])
  const { replicas_left_out: leftOut } = await api.post<{ replicas_left_out: string[] }>(
    "log-level",
    { level: "info" },
    "PUT",
  )
  expect(leftOut).toContain(place(hung))
  hanging.resolve(new Response())
  await other[Symbol.asyncDispose]()
})

test("a replica that refuses the token is asked again only after some time, since it counts wrong tokens and delays its answers", async () => {
  const asked = { refusing: 0, other: 0 }
  const answering = (name: keyof typeof asked, status: number, body: object) =>
    Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch() {
        asked[name]++
        return Response.json(body, { status })
      },
    })
  using refusing = answering("refusing", 401, { detail: "a token is required" })
  using other = answering("other", 404, { error: "not found" })
  const all = [refusing, other].map(({ port }) => `127.0.0.1:${port}`)
  await using api = await AdminApi.startInProcess(configuration(await freePort(), all))
  const overview = await overviewWhere(api, () => asked.other >= 3)
  expect(problems(overview)).toEqual({ [all[0]!]: "has a different replicas_token", [all[1]!]: "HTTP 404" })
  expect(asked.refusing).toBe(1)
})

test("hookline status prints the figures of all replicas, as text and as JSON; its exit status says whether events are accepted", async () => {
  const file = join(it.a.folder, "pipelines.conf")
  expect(await it.a.send("webhooks", {}, "[]")).toBe(400)
  const text = await hookline(["status", "-c", file])
  expect(text).toMatchObject({ status: 0, stderr: "" })
  expect(text.stdout).toMatch(/^ready: Hookline /)
  expect(text.stdout).toMatch(/^webhooks +[\d.]+ +[\d.]+ +\S+ +not_an_object \d+$/m)
  for (const place of [placeB, placeC]) {
    expect(text.stdout).toMatch(new RegExp(`^${place} +\\S+ +ready$`, "m"))
    expect(text.stdout).toMatch(new RegExp(`^app@${place} +\\d+ `, "m"))
    expect(text.stdout).toMatch(new RegExp(`^log@${place} +- +ready$`, "m"))
  }
  const json = await hookline(["status", "--json", "-c", file])
  expect((JSON.parse(json.stdout) as Overview).replicas).toHaveLength(2)
  using folder = temporaryFolder()
  const unready = configuration(await freePort(), ["127.0.0.1:9"])
    .replace("directory = log", "bootstrap_servers = 127.0.0.1:9")
    .replace(/\[forward:app\]\n.*\n.*\n/, "")
  await using running = await startInProcess(unready, { folder: folder.path })
  const other = join(folder.path, "pipelines.conf")
  expect((await hookline(["status", "-c", other])).status).toBe(1)
  await running.stop()
  expect(await hookline(["status", "-c", other])).toMatchObject({ status: 69, stdout: "" })
})

/** Changes the configuration file of a running replica. */
async function rewrite({ folder }: AdminApi, from: string | RegExp, to: string): Promise<void> {
  const file = join(folder, "pipelines.conf")
  await Bun.write(file, (await Bun.file(file).text()).replace(from, to))
}

test("hookline reload --all reloads the replicas one after the other, this one last, and stops at the first that refuses", async () => {
  const fileOf = (api: AdminApi): string => join(api.folder, "pipelines.conf")
  const reloadAll = () => hookline(["reload", "--all", "-c", fileOf(it.a)])
  const write = async (topic: (api: AdminApi) => string): Promise<void> => {
    for (const api of [it.a, it.b, it.c]) await rewrite(api, /topic = .*/, `topic = ${topic(api)}`)
  }
  const reloads = (api: AdminApi): number => api.running.log.filter(({ msg }) => msg === "reloaded").length
  const started = reloads(it.a)
  expect(await hookline(["reload", "-c", fileOf(it.a)])).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^\S+ \(this one\): reloaded; nothing has changed\n$/),
  })
  await until("its line is read", async () => reloads(it.a) > started)
  await write((api) => (api === it.c ? "not a topic" : "changed"))
  const before = [it.a, it.b, it.c].map(reloads)
  const stopped = await reloadAll()
  expect(stopped).toMatchObject({ status: 1, stderr: "" })
  const [first, second, third, last] = stopped.stdout.trim().split("\n")
  expect(first).toMatch(new RegExp(`^${placeB} \\(.+\\): reloaded; pipelines_changed: webhooks$`))
  expect(second).toMatch(new RegExp(`^${placeC} \\(.+\\): refused, and runs its configuration as before:$`))
  expect(third).toMatch(/^ {2}.*pipelines\.conf:\d+: .*not a topic/)
  expect(last).toBe("stopped: 1 more not asked")
  await until("its line is read", async () => reloads(it.b) > before[1]!)
  expect([it.a, it.b, it.c].map(reloads)).toEqual([before[0]!, before[1]! + 1, before[2]!])
  const refusal = await it.a.running.logged(
    ({ action, outcome }) => action === "POST /api/reload" && outcome === "refused",
  )
  expect(refusal).toMatchObject({ replica: placeC, status: 409, token: "none" })
  await it.c.running.logged(
    ({ action, token }) => action === "POST /api/reload" && token === "replicas_token",
  )
  await write(() => "webhooks")
  const all = await reloadAll()
  expect(all).toMatchObject({ status: 0, stderr: "" })
  expect(all.stdout.match(/: reloaded; .*$/gm)).toEqual([
    ": reloaded; pipelines_changed: webhooks",
    ": reloaded; nothing has changed",
    ": reloaded; nothing has changed",
  ])
})

test("hookline reload --all names a replica that is left out, reloads the others, and fails; a new replicas_token reaches all", async () => {
  const pair = await Promise.all([freePort(), freePort()])
  const all = [...pair, 9].map((port) => `127.0.0.1:${port}`)
  const apis = await Promise.all(pair.map((port) => AdminApi.startInProcess(configuration(port, all))))
  const isUsed = ({ replicas }: Overview): boolean =>
    replicas.filter(({ problem }) => problem === null).length === 1
  await overviewWhere(apis[0]!, isUsed)
  for (const api of apis) await rewrite(api, TOKEN, "obviously-fake-new-token-of-replicas")
  const { status, stdout } = await hookline([
    "reload",
    "--all",
    "-c",
    join(apis[0]!.folder, "pipelines.conf"),
  ])
  expect(status).toBe(1)
  expect(stdout).toContain("127.0.0.1:9: not asked, it is left out: no answer: connection refused")
  expect(stdout.match(/: reloaded; admin_changed: replicas_token$/gm)).toHaveLength(2)
  await overviewWhere(apis[0]!, isUsed)
  for (const api of apis) await api[Symbol.asyncDispose]()
})

test("hookline status says that no Hookline answers when an answer breaks off in the middle", async () => {
  using ending = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
      },
    },
  })
  using folder = temporaryFolder()
  const file = join(folder.path, "pipelines.conf")
  await Bun.write(file, configuration(ending.port, ["127.0.0.1:9"]))
  expect(await hookline(["status", "-c", file])).toMatchObject({
    status: 69,
    stderr: expect.stringContaining(`no Hookline answers at 127.0.0.1:${ending.port}`),
  })
})

test("hookline status says with what the service refused it", async () => {
  using refusing = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => problem(503, "no answer: it was too busy"),
  })
  using folder = temporaryFolder()
  const file = join(folder.path, "pipelines.conf")
  await Bun.write(file, configuration(refusing.port!, ["127.0.0.1:9"]))
  expect(await hookline(["status", "-c", file])).toMatchObject({
    status: 69,
    stderr: expect.stringMatching(/answered \/api\/overview with 503: no answer: it was too busy/),
  })
})

test("a replica that hangs is waited for a second and listed with its problem; one that was killed is merged again after its restart", async () => {
  const folder = temporaryFolder()
  const port = await freePort()
  const text = configuration(port, places)
  const first = await startHookline(text, { folder: folder.path })
  await using api = await AdminApi.startInProcess(configuration(await freePort(), [`127.0.0.1:${port}`]))
  await overviewWhere(api, ({ replicas: [one] }) => one?.problem === null)
  first.signal("SIGSTOP")
  const changed = api.post<object>("log-level", { level: "info" }, "PUT")
  await Promise.all(["overview", "replays", "captures", "captures/last"].map((path) => api.fetch(path)))
  expect(await changed).toMatchObject({ replicas_left_out: [`127.0.0.1:${port}`] })
  first.signal("SIGKILL")
  await first.exited
  await overviewWhere(api, ({ replicas: [one] }) => one?.problem !== null)
  const second = await startHookline(text, { folder: folder.path })
  await overviewWhere(api, ({ replicas: [one] }) => one?.problem === null)
  await api.running.logged(({ msg }) => msg === "replica answers again")
  await second.stop()
  folder[Symbol.dispose]()
})

/** Writes a certificate and its key. @returns the lines of [admin] that name them */
async function tlsIn(
  folder: string,
  { pem, privateKey }: ReturnType<typeof makeCertificate>,
): Promise<string> {
  const [certificateFile, keyFile] = [join(folder, "admin.pem"), join(folder, "admin.key")]
  await Bun.write(certificateFile, pem)
  await Bun.write(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }))
  await chmod(keyFile, 0o600)
  return `tls_certificate = ${certificateFile}\ntls_key = ${keyFile}`
}

test.each([
  ["by its name", "localhost", "localhost"],
  ["by its address, which the certificate does not name", "127.0.0.1", "admin.example"],
])("over TLS with one certificate for all, a replica is asked %s", async (_, host, named) => {
  using folder = temporaryFolder()
  const certificate = makeCertificate("admin", { hosts: [named], nowMs: Date.now() })
  const tlsPorts = await Promise.all([freePort(), freePort()])
  const all = tlsPorts.map((port) => `${host}:${port}`)
  const tls = `${await tlsIn(folder.path, certificate)}\ntoken = obviously-fake-main-token`
  const [first, second] = await Promise.all(
    tlsPorts.map((port) => AdminApi.startInProcess(configuration(port, all, tls))),
  )
  const init = {
    headers: { Authorization: "Bearer obviously-fake-main-token" },
    tls: { rejectUnauthorized: false },
  }
  for (;;) {
    const { replicas } = await first!.get<Overview>("overview", init)
    if (replicas.length === 1 && replicas[0]!.problem === null) break
    await Bun.sleep(50)
  }
  expect(await second!.send("webhooks", {}, "[]")).toBe(400)
  const [captured] = await first!.get<CaptureSummary[]>("captures", init)
  expect(captured!.replica).toBe(all[1])
  for (const one of [first, second]) await one![Symbol.asyncDispose]()
})

test("the problem of a replica whose CA is not trusted names the variable to set", async () => {
  using folder = temporaryFolder()
  const nowMs = Date.now()
  const issuer = makeCertificate("CA", { isCa: true, nowMs })
  const certificate = makeCertificate("admin", { issuer, hosts: ["127.0.0.1"], nowMs })
  const tls = await tlsIn(folder.path, certificate)
  using other = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { cert: Bun.file(join(folder.path, "admin.pem")), key: Bun.file(join(folder.path, "admin.key")) },
    fetch: () => new Response(),
  })
  const text = configuration(await freePort(), [`127.0.0.1:${other.port}`], tls)
  await using running = await startInProcess(text, { folder: folder.path })
  const { problem } = await running.logged(({ msg }) => msg === "replica left out")
  expect(problem).toMatch(
    /^no answer: its certificate is from a CA that is not trusted; set NODE_EXTRA_CA_CERTS to its CA$/,
  )
})

test("replicas without a shared store do not start; of what else they do not share a start and a reload warn", async () => {
  using folder = temporaryFolder()
  const several = `replicas = ${places.join(", ")}\nreplicas_token = ${TOKEN}`
  const file = (source: string, store: string, admin: string): string => `[connection:kafka]
bootstrap_servers = 127.0.0.1:1
[pipeline:webhooks:WebHookSource]
port = 0
host = 127.0.0.1
${source}
[pipeline:webhooks:Deduplicator]
key = json:/id
${store}
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:0
${admin}
`
  const second = async () => hookline(["run", "-c", "pipelines.conf"], { cwd: folder.path })
  {
    // one whose configuration names no replicas
    await using _ = await startInProcess(file("", "", ""), { folder: folder.path })
    expect(await second()).toMatchObject({
      status: 69,
      stderr: expect.stringMatching(
        /Deduplicator's store .* is being written to by process \d+.*; stop that one, or name another folder; replicas of one service share a store = redis:/,
      ),
    })
  }
  await Bun.write(`${folder.path}/pipelines.conf`, file("", "", several))
  expect(await second()).toMatchObject({
    status: 78,
    stderr: expect.stringContaining("store: is one replica's, and [admin] replicas names several"),
  })
  const shared = "store = redis://127.0.0.1:1"
  await using running = await startInProcess(file("", shared, several), { folder: folder.path })
  const warnings = () =>
    running.log.flatMap(({ level, msg }) => (level === "warn" && msg.includes("names several") ? [msg] : []))
  expect(warnings()).toEqual([])
  expect(await reload(running, folder.path, file("rate_limit = 10", shared, several))).toBe("reloaded")
  expect(warnings()).toEqual([expect.stringContaining("rate_limit is counted by each replica")])
})
