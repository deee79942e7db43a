import { beforeEach, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import type { Overview } from "../../src/admin/api/overview-shape.ts"
import type {
  CaptureDetail,
  CaptureExplanation,
  CaptureSummary,
  ReasonTally,
  RecordDetail,
  SendResult,
} from "../../src/admin/api/shapes.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests, hookline, reload } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const SECRET = "not-a-real-secret-000"
const OTHER = "another-obviously-fake-secret"
const BODY = '{ "id": "evt_1", "type": "invoice.paid", "amount": 1e2 }'

const configuration = (adminPort: number, secret: string, admin = "", more = ""): string => `
[connection:log]
directory = log
[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = ${secret}
[pipeline:payments:BrokerSink]
topic = payments
[pipeline:tokens:WebHookSource]
path = /tokens
[pipeline:tokens:Verifier]
provider = gitlab
secret = ${SECRET}
[pipeline:tokens:BrokerSink]
topic = tokens
[pipeline:open:WebHookSource]
path = /open
[pipeline:open:BrokerSink]
topic = open
[admin]
listen = 127.0.0.1:${adminPort}
${admin}
${more}
`

const signature = (secret: string, atS = Math.floor(Date.now() / 1000), body = BODY): string =>
  `t=${atS},v1=${createHmac("sha256", secret).update(`${atS}.${body}`).digest("hex")}`

const bytesOf = ({ body_base64 }: CaptureDetail): string => Buffer.from(body_base64!, "base64").toString()

describe("refused requests are kept on a loopback address", () => {
  const it = sharedByTests(async () => AdminApi.startInProcess(configuration(await freePort(), SECRET)))
  beforeEach(() => it.get("captures", { method: "DELETE" }))
  /** Posts an event that another secret has signed, to be refused. */
  const sendUnverified = async (): Promise<void> =>
    expect(await it.send("payments", { "Stripe-Signature": signature(OTHER) }, BODY)).toBe(401)

  test("with what came, and why it was refused; accepted ones are not", async () => {
    expect(await it.send("payments", { "Stripe-Signature": signature(SECRET) }, BODY)).toBe(200)
    await sendUnverified()
    const listed = await it.get<CaptureSummary[]>("captures")
    expect(listed).toMatchObject([
      { pipeline: "payments", method: "POST", path: "/payments", outcome: "rejected", status: 401 },
    ])
    const [{ id, reason, bytes, remote_address, request_id }] = listed as [CaptureSummary]
    expect([reason, bytes, remote_address]).toEqual(["unverified_no_match", BODY.length, "127.0.0.1"])
    await it.running.logged((line) => line["request_id"] === request_id)
    const detail = await it.get<CaptureDetail>(`captures/${id}`)
    expect(bytesOf(detail)).toBe(BODY)
    expect(detail).toMatchObject({ is_masked: true, is_truncated: false, record: null })
    expect(detail.summary).toEqual(listed[0]!)
    const overview = await it.get<Overview>("overview")
    expect([overview.capture, overview.refused]).toEqual(["refused", 1])
  })

  test("they are counted by pipeline and reason, with the detail of the last and when the first came", async () => {
    await sendUnverified()
    const [{ at }] = await it.get<[CaptureSummary]>("captures")
    expect(await it.send("payments", {}, BODY)).toBe(401)
    await sendUnverified()
    expect((await fetch(new URL("/nowhere", it.running.urls["open"]), { method: "POST" })).status).toBe(404)
    const counted = await it.get<ReasonTally[]>("reasons")
    expect(counted.toSorted((a, b) => a.reason.localeCompare(b.reason))).toMatchObject([
      { pipeline: null, reason: "unknown_path", status: 404, count: 1 },
      { pipeline: "payments", reason: "unverified_missing_header", count: 1, detail: "no Stripe-Signature" },
      { outcome: "rejected", reason: "unverified_no_match", status: 401, count: 2, first_at: at },
    ])
    const [listed, ...others] = await it.get<CaptureSummary[]>("captures?reason=unverified_missing_header")
    expect([listed!.detail, others]).toEqual(["no Stripe-Signature", []])
    expect((await it.get<Overview>("overview")).refused).toBe(4)
    await it.get("captures", { method: "DELETE" })
    expect(await it.get<ReasonTally[]>("reasons")).toEqual([])
  })

  test("its explanation is that of verify, without secrets or signatures", async () => {
    await sendUnverified()
    const explanation = await it.get<CaptureExplanation>("captures/last/explanation?pipeline=payments")
    expect(explanation).toMatchObject({
      provider: "stripe",
      is_verified: false,
      reason: "no_match",
    })
    expect(explanation.steps.map(({ name, state }) => [name, state])).toContainEqual(["Signature", "failed"])
    const text = JSON.stringify(explanation)
    expect(text).not.toContain(SECRET)
    expect(text.match(/[0-9a-f]{64}/g)).toEqual([new Bun.CryptoHasher("sha256").update(BODY).digest("hex")])
  })

  test("hookline verify and hookline verify --last give the same result, in text and in JSON", async () => {
    const file = join(it.folder, "pipelines.conf")
    const body = join(it.folder, "body")
    await Bun.write(body, BODY)
    const sent = signature(OTHER)
    expect(await it.send("payments", { "Stripe-Signature": sent }, BODY)).toBe(401)
    const run = async (...args: string[]): Promise<string> =>
      (await hookline(["verify", "-c", file, "--pipeline", "payments", ...args])).stdout
    const given = ["-b", body, "-H", `Stripe-Signature: ${sent}`]
    const resultIn = (text: string): string => text.slice(text.indexOf(". Result"))
    expect(resultIn(await run("--last"))).toBe(resultIn(await run(...given)))
    const { signed, received, expected, signed_at, checked_at, tolerance_ms, ...verdict } = JSON.parse(
      await run(...given, "--json"),
    )
    expect([signed, received, expected]).not.toContain(undefined)
    expect([signed_at, checked_at, tolerance_ms]).not.toContain(undefined)
    const { request, steps, ...last } = JSON.parse(await run("--last", "--json"))
    expect(request).toMatchObject({ pipeline: "payments", status: 401 })
    expect(steps.at(-1)).toMatchObject({ name: "Time", state: "passed" })
    expect(last).toEqual(verdict)
  })

  test("a stale one is explained by the time at which it came", async () => {
    const stale = signature(SECRET, Math.floor(Date.now() / 1000) - 400)
    expect(await it.send("payments", { "Stripe-Signature": stale }, BODY)).toBe(401)
    const explanation = await it.get<CaptureExplanation>("captures/last/explanation?pipeline=payments")
    expect(explanation).toMatchObject({ reason: "stale", detail: "timestamp 400 s old" })
  })

  test("a signed one that was refused for another reason says so", async () => {
    expect(await it.send("payments", { "Stripe-Signature": signature(SECRET, undefined, "[]") }, "[]")).toBe(
      400,
    )
    const { result, advice } = await it.get<CaptureExplanation>("captures/last/explanation?pipeline=payments")
    expect(result).toBe("The request is verified. It was refused for another reason than its signature.")
    const configuration = "[pipeline:payments:Decoder]\nlists = split"
    expect(advice).toMatchObject({ configuration, excerpt: null })
    const last = async (...flags: string[]): Promise<string> =>
      (await hookline(["verify", "--last", "-c", join(it.folder, "pipelines.conf"), ...flags])).stdout
    expect(await last()).toContain(advice!.text)
    expect(JSON.parse(await last("--json"))).toMatchObject({ advice: { configuration } })
  })

  test("the text around what is no JSON is shown without secrets", async () => {
    expect(await it.send("open", {}, '{"api_key":"obviously-fake-api-key",}')).toBe(400)
    const { advice } = await it.get<CaptureExplanation>("captures/last/explanation?pipeline=open")
    expect(advice!.excerpt).toBe('{"api_key":"(22 characters)",}\n                             ^')
  })

  test("tokens and signatures are masked, and shown unmasked to the page of the listener alone", async () => {
    const given = {
      "X-Gitlab-Token": "a-token-that-is-wrong-0000",
      Authorization: "Bearer obviously-fake-bearer-token",
      Cookie: "session=obviously-fake-cookie",
      "X-Hub-Signature-256": `sha256=${"ab".repeat(32)}`,
    }
    const body = '{"object_kind":"push","access_token":"obviously-fake-in-body"}'
    expect(await it.send("tokens", given, body)).toBe(401)
    // refused by its headers alone, before its body was read
    const unread = await it.get<CaptureDetail>("captures/last?pipeline=tokens")
    expect(unread).toMatchObject({ body_base64: null, is_truncated: false })
    expect(JSON.stringify(unread)).not.toContain("a-token-that-is-wrong")
    expect(await it.send("payments", given, body)).toBe(401)
    const masked = await it.get<CaptureDetail>("captures/last?pipeline=payments")
    const headers = new Map(masked.headers.map(({ name, value }) => [name, value]))
    expect(headers.get("x-gitlab-token")).toBe("(26 characters)")
    expect(headers.get("authorization")).toBe("Bearer (27 characters)")
    expect(headers.get("cookie")).toBe("(29 characters)")
    expect(headers.get("x-hub-signature-256")).toMatch(/^sha256=ababab\.\.\./)
    expect(bytesOf(masked)).toBe('{"object_kind":"push","access_token":"(22 characters)"}')
    expect(masked.is_masked).toBeTrue()
    const shown = await it.get<CaptureDetail>("captures/last?pipeline=payments&unmasked=true", {
      headers: { "Sec-Fetch-Site": "same-origin" },
    })
    for (const [name, value] of Object.entries(given))
      expect(shown.headers).toContainEqual({ name: name.toLowerCase(), value })
    expect([bytesOf(shown), shown.is_masked]).toEqual([body, false])
    const forwarded = await fetch(`${it.running.adminUrl}/api/captures/last?unmasked=true`, {
      headers: { "X-Forwarded-For": "192.0.2.1" },
    })
    expect(forwarded.status).toBe(403)
    for (const value of Object.values(given)) expect(it.running.output()).not.toContain(value)
  })

  test("each kind of refusal is kept: of the body, the method, the path, the content coding", async () => {
    const url = it.running.urls["open"]!
    const refused = async (init: RequestInit, to = url): Promise<CaptureSummary> => {
      const { status } = await fetch(to, { method: "POST", ...init })
      expect(status).toBeGreaterThanOrEqual(400)
      const [newest] = await it.get<CaptureSummary[]>("captures?limit=1")
      expect(newest!.status).toBe(status)
      return newest!
    }
    expect(await refused({ body: "{" })).toMatchObject({ pipeline: "open", reason: "invalid_json", bytes: 1 })
    expect(await refused({ method: "PUT", body: "{}" })).toMatchObject({ status: 405, bytes: null })
    const encoded = { body: "{}", headers: { "Content-Encoding": "zz" } }
    expect(await refused(encoded)).toMatchObject({ status: 415, bytes: null })
    const nowhere = await refused({ body: "{}" }, url.replace("/open", "/nowhere?token=obviously-fake"))
    expect(nowhere).toMatchObject({ status: 404, pipeline: null, path: "/nowhere" })
    const { url: shown } = await it.get<CaptureDetail>(`captures/${nowhere.id}`)
    expect(shown).toEndWith("/nowhere?token=(14 characters)")
    // a scanner's do not hide a sender's
    expect((await it.get<CaptureDetail>("captures/last")).summary.status).toBe(415)
    const answer = await fetch(`${it.running.adminUrl}/api/captures/${nowhere.id}/resend`, { method: "POST" })
    expect(answer.status).toBe(409)
  })

  test("pages go back from the newest, and filters apply", async () => {
    for (let n = 0; n < 2; n++) {
      await sendUnverified()
      expect(await it.send("open", {}, "[]")).toBe(400)
    }
    const all = await it.get<CaptureSummary[]>("captures")
    expect(all.map(({ pipeline }) => pipeline)).toEqual(["open", "payments", "open", "payments"])
    const ids = all.map(({ id }) => id)
    const [first] = await it.get<CaptureSummary[]>("captures?limit=1")
    const rest = await it.get<CaptureSummary[]>(`captures?before=${first!.id}&limit=500`)
    expect([first!.id, ...rest.map(({ id }) => id)]).toEqual(ids)
    const mine = await it.get<CaptureSummary[]>("captures?pipeline=payments&outcome=rejected")
    expect(mine.map(({ id }) => id)).toEqual(
      all.filter(({ pipeline }) => pipeline === "payments").map(({ id }) => id),
    )
    expect(await it.get<CaptureSummary[]>("captures?outcome=accepted")).toEqual([])
  })

  test("resent after its secret is fixed, it is published, however old its signature is by then", async () => {
    const adminPort = await freePort()
    await using it = await AdminApi.startInProcess(configuration(adminPort, SECRET))
    const headers = { "Stripe-Signature": signature(OTHER, Math.floor(Date.now() / 1000) - 30) }
    expect(await it.send("payments", headers, BODY)).toBe(401)
    const { summary } = await it.get<CaptureDetail>("captures/last?pipeline=payments")
    const before = await it.post<SendResult>(`captures/${summary.id}/resend`)
    expect(before).toMatchObject({ status: 401, record: null, error: null })
    const mended = configuration(adminPort, OTHER).replace(
      "provider = stripe",
      "provider = stripe\ntolerance = 31s",
    )
    expect(await reload(it.running, it.folder, mended)).toBe("reloaded")
    // from its sender it would be too late now
    while ((await it.send("payments", headers, BODY)) === 200) await Bun.sleep(50)
    const after = await it.post<SendResult>(`captures/${summary.id}/resend`)
    expect(after).toMatchObject({ status: 200, record: { connection: "log", topic: "payments" } })
    const { partition, offset } = after.record!
    const record = await it.get<RecordDetail>(`records/log/payments/${partition}/${offset}`)
    const value = Buffer.from(record.value_base64, "base64").toString()
    expect(value).toStartWith(BODY.slice(0, -1).trimEnd())
    const explanation = await it.get<CaptureExplanation>(`captures/${summary.id}/explanation`)
    expect(explanation).toMatchObject({ is_verified: true, reason: null })
  })
})

test("capture = all keeps accepted ones as they came, with their record", async () => {
  await using it = await AdminApi.startInProcess(
    configuration(0, SECRET, "capture = all\ncapture_max_requests = 8\ncapture_max_bytes = 64KiB"),
  )
  for (let n = 0; n < 10; n++) expect(await it.send("open", {}, BODY)).toBe(200)
  const kept = await it.get<CaptureSummary[]>("captures?outcome=accepted")
  expect(kept.length).toBe(4)
  const detail = await it.get<CaptureDetail>(`captures/${kept[0]!.id}`)
  expect(bytesOf(detail)).toBe(BODY)
  expect(detail).toMatchObject({
    is_masked: false,
    record: { connection: "log", topic: "open", partition: 0, offset: 9 },
  })
  // its own share: it takes no place of theirs, and a large body is left out
  const large = JSON.stringify({ text: "x".repeat(20_000) }).slice(1)
  expect(await it.send("open", {}, large)).toBe(400)
  const { is_truncated, body_base64 } = await it.get<CaptureDetail>("captures/last")
  expect([is_truncated, body_base64]).toEqual([true, null])
  expect((await it.get<CaptureSummary[]>("captures?outcome=accepted")).length).toBe(4)
})

test("with capture off nothing is kept, and a reload turns it on", async () => {
  const adminPort = await freePort()
  await using it = await AdminApi.startInProcess(configuration(adminPort, SECRET, "capture = off"))
  expect(await it.send("open", {}, "[]")).toBe(400)
  expect(await it.get<CaptureSummary[]>("captures")).toEqual([])
  const last = await hookline(["verify", "--last", "-c", join(it.folder, "pipelines.conf")])
  expect(last.stderr).toContain("requests are not captured; set capture = refused in [admin]")
  expect(await reload(it.running, it.folder, configuration(adminPort, SECRET))).toBe("reloaded")
  expect(await it.send("open", {}, "[]")).toBe(400)
  expect((await it.get<CaptureSummary[]>("captures")).length).toBe(1)
})
