import { beforeAll, describe, expect, test } from "bun:test"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type { CaptureDetail, CaptureSummary } from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests, reload } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const TOKEN = "obviously-fake-admin-token"
const BEARER = { Authorization: `Bearer ${TOKEN}` }
const JSON_TYPE = { "Content-Type": "application/json" }
const configuration = (admin: string): string => `
[connection:log]
directory = log
[pipeline:open:WebHookSource]
[pipeline:open:BrokerSink]
topic = open
[admin]
${admin}
`

interface Described {
  readonly paths: {
    readonly [path: string]: { readonly [method: string]: { readonly security: readonly object[] } }
  }
}

describe("with a token", () => {
  let admin: string
  const withToken = (token: string): string =>
    configuration(`listen = 0.0.0.0:${port}\ntoken = ${token}\nhosts = hookline.internal`)
  let port: number
  const login = (token: string, headers: { [name: string]: string } = {}): Promise<Response> =>
    fetch(`${admin}/api/session`, {
      method: "POST",
      headers: { ...JSON_TYPE, ...headers },
      body: JSON.stringify({ token }),
    })
  const cookieOf = (response: Response): string => response.headers.get("set-cookie")!.split(";")[0]!
  const it = sharedByTests(async () => {
    port = await freePort()
    admin = `http://127.0.0.1:${port}`
    return AdminApi.start(withToken(TOKEN))
  })

  test("every operation but the session's requires it", async () => {
    const document = (await (
      await fetch(`${admin}/api/openapi.json`, { headers: BEARER })
    ).json()) as Described
    const open: string[] = []
    for (const [path, methods] of Object.entries(document.paths))
      for (const [name, { security }] of Object.entries(methods)) {
        const method = name.toUpperCase()
        const url = admin + path.replace(/\{\w+\}/g, "0")
        if (security.length === 0) open.push(`${method} ${path}`)
        else
          for (const headers of [{}, { Cookie: "hookline-session=forged" }]) {
            const response = await fetch(url, { method, headers: { ...JSON_TYPE, ...headers } })
            expect([method, path, response.status]).toEqual([method, path, 401])
            expect(response.headers.get("www-authenticate")).toBe("Bearer")
          }
      }
    expect(open).toEqual(["POST /api/session", "DELETE /api/session"])
  })

  test("a session's cookie takes its place, is out of reach of scripts and other sites, and ends", async () => {
    expect((await login("wrong")).status).toBe(401)
    const begun = await login(TOKEN)
    expect(begun.status).toBe(204)
    const set = begun.headers.get("set-cookie")!
    expect(set).toMatch(/^hookline-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
    expect(set).not.toContain(TOKEN)
    const behindTls = await login(TOKEN, { "X-Forwarded-Proto": "https" })
    expect(behindTls.headers.get("set-cookie")).toEndWith("; Secure")
    const headers = { Cookie: cookieOf(begun) }
    expect((await fetch(`${admin}/api/overview`, { headers })).status).toBe(200)
    await fetch(`${admin}/api/session`, { method: "DELETE", headers })
    expect((await fetch(`${admin}/api/overview`, { headers })).status).toBe(401)
  })

  test("off loopback nothing is captured unless it is asked for, and then secrets are shown to its holders", async () => {
    const overview = await fetch(`${admin}/api/overview`, { headers: BEARER })
    expect(((await overview.json()) as Overview).capture).toBe("off")
    const captures = `${withToken(TOKEN)}capture = refused`
    expect(await reload(it.running, it.folder, captures)).toBe("reloaded")
    const secret = { "X-Api-Key": "obviously-fake-key-of-a-sender" }
    expect(await it.send("open", secret, "[]")).toBe(400)
    const last = async (query: string, headers: { [name: string]: string }): Promise<Response> =>
      fetch(`${admin}/api/captures/last${query}`, { headers })
    expect((await last("?unmasked=true", {})).status).toBe(401)
    const masked = (await (await last("", BEARER)).json()) as CaptureDetail
    expect(masked.headers).toContainEqual({ name: "x-api-key", value: "(30 characters)" })
    const shown = await last("?unmasked=true", { ...BEARER, "X-Forwarded-For": "192.0.2.7" })
    expect(((await shown.json()) as CaptureDetail).headers).toContainEqual({
      name: "x-api-key",
      value: "obviously-fake-key-of-a-sender",
    })
  })

  test("another token ends the sessions of the one before", async () => {
    const headers = { Cookie: cookieOf(await login(TOKEN)) }
    const live = await fetch(`${admin}/api/live`, { headers })
    expect(live.status).toBe(200)
    expect(await reload(it.running, it.folder, withToken("another-obviously-fake-token"))).toBe("reloaded")
    expect((await fetch(`${admin}/api/overview`, { headers })).status).toBe(401)
    expect((await fetch(`${admin}/api/overview`, { headers: BEARER })).status).toBe(401)
    // its live events end
    await live.text()
    expect(await reload(it.running, it.folder, withToken(TOKEN))).toBe("reloaded")
    expect((await fetch(`${admin}/api/overview`, { headers })).status).toBe(401)
  })

  test("another replicas_token ends the sessions of the one before", async () => {
    const withReplicas = (token: string): string => `${withToken(TOKEN)}replicas_token = ${token}\n`
    const [leaked, next] = ["obviously-fake-leaked-token", "obviously-fake-next-token"]
    expect(await reload(it.running, it.folder, withReplicas(leaked))).toBe("reloaded")
    const headers = { Cookie: cookieOf(await login(leaked)) }
    expect((await fetch(`${admin}/api/overview`, { headers })).status).toBe(200)
    expect(await reload(it.running, it.folder, withReplicas(next))).toBe("reloaded")
    expect((await fetch(`${admin}/api/overview`, { headers })).status).toBe(401)
    expect(await reload(it.running, it.folder, withToken(TOKEN))).toBe("reloaded")
  })

  test("it is in no log line", async () => {
    expect((await login(TOKEN)).status).toBe(204)
    expect((await login(`${TOKEN}-mistyped`)).status).toBe(401)
    expect((await fetch(`${admin}/api/overview`, { headers: BEARER })).status).toBe(200)
    expect(await reload(it.running, it.folder, withToken(TOKEN))).toBe("reloaded")
    expect(it.running.output()).not.toContain(TOKEN)
  })
})

describe("without one, on a loopback address", () => {
  const it = sharedByTests(() =>
    AdminApi.start(configuration("listen = 127.0.0.1:0\nhosts = hookline.internal")),
  )
  beforeAll(async () => expect(await it.send("open", {}, "[]")).toBe(400))
  const host = (): string => new URL(it.running.adminUrl!).host

  test.each([
    ["attacker.example", 421],
    ["attacker.example:9464", 421],
    ["localhost.attacker.example", 421],
    ["hookline.internal", 200],
    ["localhost:1", 200],
  ])("a request for the host %s: %d", async (name, status) => {
    for (const path of ["/api/overview", "/", "/metrics", "/readyz"]) {
      const response = await fetch(it.running.adminUrl + path, { headers: { Host: name } })
      expect([path, response.status]).toEqual([path, status])
      await response.body?.cancel()
    }
  })

  test.each([
    [{ Origin: "https://attacker.example" }],
    [{ Origin: "null" }],
    [{ Origin: "http://127.0.0.1:1" }],
    [{ "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }],
    [{ "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors" }],
    [{ "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" }],
  ] as const)("a page of another site changes nothing: %p", async (headers) => {
    const asked: [string, string, unknown][] = [
      ["DELETE", "captures", undefined],
      ["POST", "captures/last/resend", undefined],
      ["POST", "send", { pipeline: "open", body: "{}" }],
      ["PUT", "log-level", { level: "silent" }],
      ["POST", "session", { token: "" }],
      ["POST", "reload", undefined],
      ["POST", "replays", {}],
    ]
    for (const [method, path, body] of asked) {
      const response = await it.fetch(path, {
        method,
        headers: { ...JSON_TYPE, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      expect([method, path, response.status]).toEqual([method, path, 403])
      expect(response.headers.get("access-control-allow-origin")).toBeNull()
    }
    expect((await it.get<CaptureSummary[]>("captures")).length).toBe(1)
    expect(await it.get<unknown>("log-level")).toEqual({ level: "info" })
  })

  test("nor does a form or a preflight; its own page does", async () => {
    const body = JSON.stringify({ pipeline: "open", body: "{}" })
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=a",
    ]) {
      const { status } = await it.fetch("send", { method: "POST", headers: { "Content-Type": type }, body })
      expect(status).toBe(415)
    }
    const preflight = await it.fetch("send", {
      method: "OPTIONS",
      headers: { Origin: "https://attacker.example", "Access-Control-Request-Method": "POST" },
    })
    expect(preflight.status).toBe(405)
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull()
    const own = { Origin: `http://${host()}`, "Sec-Fetch-Site": "same-origin", ...JSON_TYPE }
    expect((await it.fetch("send", { method: "POST", headers: own, body })).status).toBe(200)
  })

  test("the page runs no inline script or style, and nothing of another site", async () => {
    const response = await fetch(`${it.running.adminUrl}/`)
    const policy = response.headers.get("content-security-policy")!
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    const html = await response.text()
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc="\/)/i)
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
  })

  test.each([
    ["declared", (bytes: Uint8Array<ArrayBuffer>) => bytes],
    [
      "not declared",
      (bytes: Uint8Array<ArrayBuffer>) =>
        new ReadableStream({
          start(controller) {
            controller.enqueue(bytes)
            controller.close()
          },
        }),
    ],
  ])("a body over 8 MiB whose length is %s gets 413", async (_, toBody) => {
    const body = toBody(new Uint8Array(8 * 1024 * 1024 + 1).fill(0x20))
    const { status } = await it.fetch("send", { method: "POST", headers: JSON_TYPE, body })
    expect(status).toBe(413)
  })

  test.each(['"', "[".repeat(100_000), "\xff", "", "null", '{"pipeline":{"__proto__":1}}'])(
    "a malformed body is refused",
    async (body) => {
      const { status } = await it.fetch("send", {
        method: "POST",
        headers: JSON_TYPE,
        body: Buffer.from(body, "latin1"),
      })
      expect(status).toBe(400)
    },
  )

  test("live streams beyond the limit are refused", async () => {
    const closing = new AbortController()
    const streams = await Promise.all(
      Array.from({ length: 16 }, () => it.fetch("live", { signal: closing.signal })),
    )
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
    const one = await it.fetch("live")
    expect([one.status, one.headers.get("retry-after")]).toEqual([503, "5"])
    closing.abort()
  })

  test("answers are neither kept nor guessed at", async () => {
    for (const path of ["overview", "captures/none", "openapi.json"]) {
      const { headers } = await it.fetch(path)
      expect(headers.get("cache-control")).toBe("no-store")
      expect(headers.get("x-content-type-options")).toBe("nosniff")
    }
  })
})
