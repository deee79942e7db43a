import { afterEach, beforeEach, expect, test } from "bun:test"
import { createSign } from "node:crypto"
import { crc32 } from "node:zlib"
import { makeCertificate } from "../../../test/support/certificate.ts"
import type { VerifierSettings } from "./family.ts"
import type { Fetcher } from "../fetch/fetcher.ts"
import { makeVerifier } from "../presets/providers.ts"
import type { VerificationResult, Verifier } from "../verifier.ts"

const NOW = 1_790_000_000_000
const root = makeCertificate("Test Authority", { isCa: true, nowMs: NOW })
const certificate = makeCertificate("messageverificationcerts.paypal.com", { issuer: root, nowMs: NOW })
const CERTIFICATE_URL = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77"
const WEBHOOK = "4JH86294D6297924G"
const BODY = '{"id":"WH-1",  "amount": 12345678901234567890, "text":"\\u00e9é"}'

/** PayPal's API as its documentation has it, of which a test may change what it answers. */
interface Api {
  token: () => Response
  result: (question: string) => Response | Promise<Response>
  readonly tokens: string[]
  readonly questions: string[]
}
let api: Api
let server: Bun.Server<undefined>
beforeEach(() => {
  const tokens: string[] = []
  const questions: string[] = []
  api = {
    tokens,
    questions,
    token: () => Response.json({ access_token: "A21AA", token_type: "Bearer", expires_in: 32_400 }),
    result: () => Response.json({ verification_status: "SUCCESS" }),
  }
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const authorization = request.headers.get("Authorization") ?? ""
      const text = await request.text()
      if (pathname === "/v1/oauth2/token") {
        tokens.push(`${Buffer.from(authorization.replace("Basic ", ""), "base64").toString()} ${text}`)
        return api.token()
      }
      if (pathname !== "/v1/notifications/verify-webhook-signature") return new Response("", { status: 404 })
      if (authorization !== "Bearer A21AA") return new Response("", { status: 401 })
      questions.push(text)
      return api.result(text)
    },
  })
})
afterEach(() => server.stop(true))

const fetcher: Fetcher = {
  fetch: (url, init) =>
    /^https:\/\/api(?:-m)?\.paypal\.com\/v1\/notifications\/certs\//.test(url)
      ? Promise.resolve(new Response(certificate.pem))
      : fetch(url, init),
  rootCertificates: [root.pem],
}
const open = (settings: VerifierSettings = {}): Verifier =>
  makeVerifier(
    "paypal",
    {
      webhook_id: WEBHOOK,
      verify_online: "true",
      client_id: "AbC",
      client_secret: "s3cret",
      api: `http://127.0.0.1:${server.port}`,
      ...settings,
    },
    fetcher,
  )
const headersFor = (body: string, atMs = NOW, id = "d938e770-8046", url = CERTIFICATE_URL): Headers => {
  const time = new Date(atMs).toISOString().replace(/\.\d+/, "")
  const text = `${id}|${time}|${WEBHOOK}|${crc32(body)}`
  return new Headers({
    "PAYPAL-TRANSMISSION-ID": id,
    "PAYPAL-TRANSMISSION-TIME": time,
    "PAYPAL-TRANSMISSION-SIG": createSign("sha256").update(text).sign(certificate.privateKey, "base64"),
    "PAYPAL-CERT-URL": url,
    "PAYPAL-AUTH-ALGO": "SHA256withRSA",
  })
}
const judge = async (
  verifier: Verifier,
  body = BODY,
  headers = headersFor(body),
  nowMs = NOW,
): Promise<VerificationResult> =>
  verifier.verify({ method: "POST", path: "/", query: "", url: "", headers, body: Buffer.from(body) }, nowMs)

/** Another body of the same CRC-32, as an attacker makes it: four bytes at its end undo what is different before them. */
function forge(genuine: string, start: string): Buffer {
  const wanted = crc32(genuine)
  const table = Array.from({ length: 256 }, (_, n) => {
    let c = n
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
    return c >>> 0
  })
  let state = ~wanted >>> 0
  for (let i = 0; i < 4; i++) {
    const index = table.findIndex((it) => it >>> 24 === state >>> 24)
    state = (((state ^ table[index]!) << 8) | index) >>> 0
  }
  const patch = Buffer.alloc(4)
  patch.writeUInt32LE((state ^ ~crc32(start)) >>> 0)
  return Buffer.concat([Buffer.from(start), patch])
}

test("a CRC-32 is forgeable: another body with the same one has a valid signature", async () => {
  const verifier = open({
    verify_online: undefined,
    client_id: undefined,
    client_secret: undefined,
    api: undefined,
  })
  const forged = forge(BODY, '{"id":"WH-1","amount":1,"x":"')
  expect(crc32(forged)).toBe(crc32(BODY))
  const request = { method: "POST", path: "/", query: "", url: "", headers: headersFor(BODY), body: forged }
  expect(await verifier.verify(request, NOW)).toMatchObject({ kind: "verified" })
})

test.each([
  ["api-m.paypal.com", "verified"],
  ["api-m.paypal.com.example.com", "refused"],
])("a certificate at %s is %s", async (host, expected) => {
  const offline = { verify_online: undefined, client_id: undefined, client_secret: undefined, api: undefined }
  const url = CERTIFICATE_URL.replace("api.paypal.com", host)
  const headers = headersFor(BODY, NOW, "d938e770-8046", url)
  expect(await judge(open(offline), BODY, headers)).toMatchObject({ kind: expected })
})

test("online: the API gets the event byte for byte, with a cached token", async () => {
  const verifier = open()
  for (let i = 0; i < 3; i++)
    expect(await judge(verifier)).toMatchObject({ kind: "verified", id: "d938e770-8046", timestampMs: NOW })
  expect(api.tokens).toEqual(["AbC:s3cret grant_type=client_credentials"])
  expect(api.questions).toHaveLength(3)
  expect(api.questions[0]).toEndWith(`,"webhook_event":${BODY}}`)
  const headers = headersFor(BODY)
  expect(JSON.parse(api.questions[0]!)).toMatchObject({
    auth_algo: "SHA256withRSA",
    cert_url: CERTIFICATE_URL,
    transmission_id: "d938e770-8046",
    transmission_sig: headers.get("PAYPAL-TRANSMISSION-SIG"),
    transmission_time: "2026-09-21T14:13:20Z",
    webhook_id: WEBHOOK,
  })
})

test("online: an event that PayPal did not send is refused", async () => {
  api.result = () => Response.json({ verification_status: "FAILURE" })
  expect(await judge(open())).toMatchObject({ kind: "refused", reason: "no_match" })
})

test("online: concurrent requests share a token exchange; expired and revoked tokens are renewed", async () => {
  const verifier = open()
  await Promise.all(Array.from({ length: 20 }, () => judge(verifier)))
  expect(api.tokens).toHaveLength(1)
  const later = NOW + 32_400_000
  await judge(verifier, BODY, headersFor(BODY, later), later)
  expect(api.tokens).toHaveLength(2)
  let withdrawn = true
  api.result = () => {
    const answer = withdrawn
      ? new Response("", { status: 401 })
      : Response.json({ verification_status: "SUCCESS" })
    withdrawn = false
    return answer
  }
  expect(await judge(verifier)).toMatchObject({ kind: "verified" })
  expect(api.tokens).toHaveLength(3)
})

test.each<[string, (api: Api) => void]>([
  ["an error", (api) => (api.result = () => new Response("", { status: 500 }))],
  ["an empty response", (api) => (api.result = () => Response.json({}))],
  ["a response that is not JSON", (api) => (api.result = () => new Response("<html>"))],
  ["an oversized response", (api) => (api.result = () => new Response("x".repeat(100_000)))],
  ["a redirect", (api) => (api.result = () => Response.redirect("https://example.com/", 307))],
  [
    "wrong credentials",
    (api) => (api.token = () => Response.json({ error: "invalid_client" }, { status: 401 })),
  ],
])("online: %s is keys_unavailable, for the sender to retry", async (_name, change) => {
  change(api)
  const result = await judge(open())
  expect(result).toMatchObject({ kind: "refused", reason: "keys_unavailable" })
  expect((result as { detail: string }).detail).not.toContain("s3cret")
})

test("online: an unreachable server is keys_unavailable", async () => {
  const verifier = open()
  await server.stop(true)
  expect(await judge(verifier)).toMatchObject({ kind: "refused", reason: "keys_unavailable" })
})

test("online: the API is not called after a refusal by certificate, time or body", async () => {
  const verifier = open()
  const wrong = headersFor(`${BODY} `)
  expect(await judge(verifier, BODY, wrong)).toMatchObject({ reason: "no_match" })
  expect(await judge(verifier, BODY, headersFor(BODY, NOW - 5 * 86_400_000))).toMatchObject({
    reason: "stale",
  })
  // what is no single value would say more to PayPal than the event
  for (const body of ['{},"webhook_id":"X"', '{"a":1}} {', "[]", ""])
    expect(await judge(verifier, body)).toMatchObject({ reason: "malformed" })
  expect(await judge(verifier, '{"amount":1,"amount":2}')).toMatchObject({ reason: "duplicate_member" })
  expect(api.questions).toEqual([])
})

test.each<[VerifierSettings, string]>([
  [{ client_id: undefined }, "client_id: is missing"],
  [{ client_secret: undefined }, "client_secret: is missing"],
  [{ api: "http://api-m.paypal.com" }, "api: is not live, sandbox or an https:// URL"],
  [{ verify_online: "false" }, "client_id: has no effect without verify_online = true"],
])("online: settings %j are wrong", (settings, message) => {
  expect(() => open(settings)).toThrow(message)
})
