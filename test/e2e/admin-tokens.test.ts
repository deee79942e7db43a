import { beforeAll, describe, expect, test } from "bun:test"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { connect } from "node:tls"
import type { RecordPage, RecordDetail } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { folderOfTests, hookline, reload, sharedByTests } from "../support/hookline.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { freePort } from "../support/ports.ts"

const TOKEN = "obviously-fake-admin-token"
const READ_TOKEN = "obviously-fake-read-token"
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const configuration = (admin: string): string => `
[connection:log]
directory = log
[pipeline:open:WebHookSource]
[pipeline:open:BrokerSink]
topic = open
[admin]
token = ${TOKEN}
${admin}
`

const own = folderOfTests()
let files: Certificates
beforeAll(async () => {
  files = await makeCertificates(own.path)
})

describe("with TLS and two tokens", () => {
  let port: number
  const withTls = (): string =>
    configuration(`listen = 127.0.0.1:${port}
read_token = ${READ_TOKEN}
tls_certificate = ${join(own.path, "admin.pem")}
tls_key = ${join(own.path, "admin.key")}
audit_topic = log/audit`)
  const use = ({ certificate, key }: Certificates["server"]): void => {
    copyFileSync(certificate, join(own.path, "admin.pem"))
    copyFileSync(key, join(own.path, "admin.key"))
  }
  const it = sharedByTests(async () => {
    port = await freePort()
    use(files.server)
    return AdminApi.start(withTls())
  })
  const ask = (path: string, token: string | undefined, init: BunFetchRequestInit = {}): Promise<Response> =>
    fetch(it.running.adminUrl + path, {
      ...init,
      tls: { ca: Bun.file(files.ca) },
      headers: {
        "Content-Type": "application/json",
        ...(token !== undefined && bearer(token)),
        ...(init.headers as object),
      },
    })
  const act = (path: string, token: string, method: string, body?: unknown): Promise<Response> =>
    ask(path, token, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })
  /** The common name of the certificate that a new connection is presented. */
  const presented = (): Promise<string | undefined> => {
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>()
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN as string)
      socket.destroy()
    }).once("error", reject)
    return promise
  }

  test("it speaks HTTPS, and a session's cookie is for HTTPS only", async () => {
    expect(it.running.adminUrl).toBe(`https://127.0.0.1:${port}`)
    expect((await ask("/healthz", undefined)).status).toBe(200)
    expect((await ask("/metrics", undefined)).status).toBe(401)
    expect(await fetch(`http://127.0.0.1:${port}/healthz`).then(({ status }) => status, String)).not.toBe(200)
    const session = await act("/api/session", "", "POST", { token: TOKEN })
    expect(session.headers.get("set-cookie")).toEndWith("; Secure")
  })

  test("read_token is accepted for everything read-only, and gets 403 for the rest", async () => {
    const { paths } = (await (await ask("/api/openapi.json", READ_TOKEN)).json()) as {
      paths: { [path: string]: { [method: string]: object } }
    }
    const refused: string[] = []
    for (const [path, methods] of Object.entries(paths))
      for (const name of Object.keys(methods)) {
        const method = name.toUpperCase()
        if (path === "/api/session" && method !== "GET") continue
        const controller = new AbortController()
        const response = await ask(path.replace(/\{\w+\}/g, "0"), READ_TOKEN, {
          method,
          signal: controller.signal,
        })
        if (response.status === 403) {
          refused.push(`${method} ${path}`)
          expect(await response.json()).toMatchObject({ detail: expect.stringContaining("has as token") })
        }
        expect([path, response.status]).not.toEqual([path, 401])
        controller.abort()
      }
    expect(refused.toSorted()).toEqual([
      "DELETE /api/captures",
      "POST /api/captures/{id}/resend",
      "POST /api/forwards/{id}/pause",
      "POST /api/forwards/{id}/resume",
      "POST /api/problems/{id}/acknowledge",
      "POST /api/problems/{id}/mute",
      "POST /api/problems/{id}/unmute",
      "POST /api/reload",
      "POST /api/replays",
      "POST /api/replays/{id}/cancel",
      "POST /api/replays/{id}/pause",
      "POST /api/replays/{id}/resume",
      "POST /api/send",
      "PUT /api/log-level",
    ])
    expect((await ask("/metrics", READ_TOKEN)).status).toBe(200)
    expect(await (await ask("/readyz", READ_TOKEN)).json()).toHaveProperty("connections")
  })

  test("secrets of a captured request are for the token that may act, by header or session", async () => {
    expect(await it.send("open", { "X-Api-Key": "obviously-fake-key" }, "[]")).toBe(400)
    const session = await act("/api/session", "", "POST", { token: READ_TOKEN })
    const headers = { Cookie: session.headers.get("set-cookie")!.split(";")[0]! }
    for (const [token, with_] of [
      [READ_TOKEN, {}],
      [undefined, headers],
    ] as const) {
      expect(await (await ask("/api/session", token, { headers: with_ })).json()).toEqual({
        token: "read_token",
        may_act: false,
      })
      const masked = await ask("/api/captures/last", token, { headers: with_ })
      expect([masked.status, await masked.text()]).toEqual([200, expect.not.stringContaining("fake-key")])
      expect((await ask("/api/captures/last?unmasked=true", token, { headers: with_ })).status).toBe(403)
    }
    const shown = await ask("/api/captures/last?unmasked=true", TOKEN)
    expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining("obviously-fake-key")])
  })

  test("each act, done or refused, is a line of the log and a record of audit_topic", async () => {
    const body = { pipeline: "open", body: '{"n":1}' }
    expect((await act("/api/send", TOKEN, "POST", body)).status).toBe(200)
    expect((await act("/api/send", READ_TOKEN, "POST", body)).status).toBe(403)
    expect((await act("/api/log-level", TOKEN, "PUT", { level: "debug" })).status).toBe(200)
    expect((await act("/api/captures/last/resend", TOKEN, "POST")).status).toBe(200)
    const to = { connection: "log", topic: "again" }
    const replay = { from: { connection: "log", topic: "open" }, to }
    expect((await act("/api/replays", TOKEN, "POST", replay)).status).toBe(200)
    expect((await act("/api/replays/none/pause", TOKEN, "POST")).status).toBe(404)
    const by = { token: "token", remote_address: "127.0.0.1", outcome: "done", status: 200 }
    const refused = { ...by, outcome: "refused" }
    const expected = [
      { ...by, action: "POST /api/send", pipeline: "open", event_status: 200 },
      { ...refused, token: "read_token", action: "POST /api/send", status: 403, reason: expect.any(String) },
      { ...by, action: "PUT /api/log-level", log_level: "debug" },
      { ...by, action: "POST /api/captures/last/resend", pipeline: "open", event_status: 400 },
      { ...by, action: "POST /api/replays", from: "log/open", to: "log/again", replay: expect.any(String) },
      { ...refused, action: "POST /api/replays/none/pause", status: 404, reason: "no replay has this id" },
    ]
    await it.running.logged(({ action }) => action === "POST /api/replays/none/pause")
    const lines = it.running.log.filter(({ msg }) => String(msg).startsWith("admin action"))
    for (const line of expected) expect(lines).toContainEqual(expect.objectContaining(line))
    const recorded: unknown[] = []
    while (recorded.length < lines.length) {
      recorded.length = 0
      const page = await ask("/api/records?connection=log&topic=audit&limit=500", READ_TOKEN)
      for (const { partition, offset } of ((await page.json()) as RecordPage).records ?? []) {
        const one = await ask(`/api/records/log/audit/${partition}/${offset}`, READ_TOKEN)
        const { value_base64 } = (await one.json()) as RecordDetail
        recorded.push(JSON.parse(Buffer.from(value_base64, "base64").toString()))
      }
    }
    for (const record of expected) expect(recorded).toContainEqual(expect.objectContaining(record))
    expect(JSON.stringify(recorded)).not.toContain("obviously-fake")
    expect(it.running.output()).not.toMatch(/obviously-fake-(admin|read)-token/)
  })

  test("a reload applies another certificate to new connections, and other tokens; a wrong certificate changes nothing", async () => {
    expect(await presented()).toBe("server")
    const live = await ask("/api/live", READ_TOKEN)
    use(files.client)
    expect(await reload(it.running, it.folder, withTls())).toBe("reloaded")
    expect(await presented()).toBe("client")
    // what was open stays so
    const reader = live.body!.getReader()
    expect((await reader.read()).done).toBe(false)
    await reader.cancel()
    copyFileSync(files.server.key, join(own.path, "admin.key"))
    expect(await reload(it.running, it.folder, withTls())).toBe("not")
    expect(it.running.output()).toContain("[admin] tls_key: ")
    expect(await presented()).toBe("client")
    use(files.client)
    const other = withTls().replace(READ_TOKEN, "another-obviously-fake-token")
    expect(await reload(it.running, it.folder, other)).toBe("reloaded")
    expect((await ask("/metrics", READ_TOKEN)).status).toBe(401)
    expect((await ask("/metrics", "another-obviously-fake-token")).status).toBe(200)
  })
})

test("hookline health and verify --last use TLS, and trust only the configured certificate or one of a CA", async () => {
  const port = await freePort()
  const tls = ({ certificate, key }: Certificates["server"]): string =>
    configuration(`listen = 127.0.0.1:${port}\ntls_certificate = ${certificate}\ntls_key = ${key}`)
  // its name is another host's: it is the file's own
  await using it = await AdminApi.start(tls(files.elsewhere))
  expect(await it.send("open", {}, "[]")).toBe(400)
  const env = { NODE_EXTRA_CA_CERTS: files.ca }
  const run = (args: readonly string[], more: { [name: string]: string }) =>
    hookline([...args, "-c", join(it.folder, "pipelines.conf")], { env: more })
  const health = await run(["health", "--ready"], env)
  expect([health.status, health.stdout]).toEqual([0, expect.stringContaining("ready")])
  const last = await run(["verify", "--last"], env)
  expect(last.stdout).toContain("open: POST")
  const untrusted = await run(["health"], {})
  expect(untrusted.status).toBe(69)
  expect(untrusted.stderr).toContain("set NODE_EXTRA_CA_CERTS to its CA")
  await Bun.write(join(it.folder, "pipelines.conf"), tls(files.server))
  const other = await run(["verify", "--last"], env)
  expect(other.status).toBe(69)
  expect(other.stderr).toContain("its certificate is for another host")
})
