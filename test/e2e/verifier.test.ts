import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { verifier } from "../../src/index.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { openSocket } from "../support/http-socket.ts"
import { startInProcess } from "../support/in-process.ts"
import { checked } from "../support/problems-in.ts"
import { startVerified } from "../support/verified.ts"

const mac = (text: string, key: string, encoding: "hex" | "base64" = "hex"): string =>
  createHmac("sha256", key).update(text).digest(encoding)
const github = (body: string, key: string) => ({ "X-Hub-Signature-256": `sha256=${mac(body, key)}` })
const stripe = (body: string, key: string, time: number) => ({
  "Stripe-Signature": `t=${time},v1=${mac(`${time}.${body}`, key)}`,
})
const post = (
  url: string,
  body: string,
  headers: { readonly [name: string]: string } = {},
): Promise<Response> => fetch(url, { method: "POST", body, headers: { ...headers } })

const pipeline = (id: string, verifier: string): string => `
[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = 0

[pipeline:${id}:Verifier]
${verifier}

[pipeline:${id}:BrokerSink]
topic = ${id}
`
const LOG = "[connection:log]\ndirectory = data\n"

test("a refusal says nothing to its sender; log and metrics say why", async () => {
  using folder = temporaryFolder()
  await using running = await startInProcess(
    `${LOG}${pipeline("pay", "provider = stripe\nsecret = example-not-a-secret")}[admin]\nlisten = 127.0.0.1:0\n`,
    { folder: folder.path },
  )
  const old = Math.floor(Date.now() / 1000) - 412
  const answers = [
    await post(running.urls["pay"]!, "{}", stripe("{}", "example-not-a-secret", old)),
    await post(running.urls["pay"]!, "{}", stripe("{}", "another", old + 412)),
    await post(running.urls["pay"]!, "{}", { "Stripe-Signature": "v1" }),
    await post(running.urls["pay"]!, "{}"),
  ]
  const bodies = await Promise.all(
    answers.map(async (it) => (await it.text()).replace(it.headers.get("x-request-id")!, "one")),
  )
  expect(new Set(bodies).size).toBe(1)
  expect(JSON.parse(bodies[0]!)).toEqual({
    request_id: "one",
    type: "urn:hookline:error:unauthorized",
    title: "Unauthorized",
    status: 401,
    detail: "The request could not be verified.",
  })
  for (const { status, headers } of answers)
    expect([status, headers.get("content-type"), headers.get("www-authenticate")]).toEqual([
      401,
      "application/problem+json",
      'Signature realm="webhooks"',
    ])
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  for (const reason of ["stale", "no_match", "malformed", "missing_header"]) {
    expect(metrics).toContain(
      `hookline_events_total{pipeline="pay",outcome="rejected",reason="unverified_${reason}"} 1`,
    )
    expect(metrics).toContain(
      `hookline_verification_failures_total{pipeline="pay",reason="${reason}",mode="enforce"} 1`,
    )
  }
  await running.stop()
  const lines = running.log.filter(({ msg }) => msg === "event rejected")
  expect(lines.map(({ reason }) => reason)).toEqual([
    "unverified_stale",
    "unverified_no_match",
    "unverified_malformed",
    "unverified_missing_header",
  ])
  expect(lines[0]!["detail"]).toMatch(/^timestamp 4[1-9]\d s old$/)
  expect(running.output()).not.toContain("example-not-a-secret")
})

test("mode = observe publishes what is not verified, logs and counts it, and says so at start", async () => {
  using folder = temporaryFolder()
  const verifier = "provider = github\nmode = observe\nsecret = example-not-a-secret"
  await using running = await startInProcess(
    `${LOG}${pipeline("repo", verifier)}${pipeline("keys", "provider = gitlab\nmode = observe\nsecret = x")}[admin]\nlisten = 127.0.0.1:0\n`,
    { folder: folder.path },
  )
  const start = running.log.filter(({ msg }) => msg.startsWith("VERIFICATION IS ONLY OBSERVED"))
  expect(start.map(({ level, pipeline: id }) => [level, id])).toEqual([
    ["warn", "repo"],
    ["warn", "keys"],
  ])
  expect((await post(running.urls["repo"]!, "{}", github("{}", "another"))).status).toBe(200)
  expect((await post(running.urls["repo"]!, "{}", github("{}", "example-not-a-secret"))).status).toBe(200)
  expect((await post(running.urls["keys"]!, "{}")).status).toBe(200)
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  for (const [id, reason] of [
    ["repo", "no_match"],
    ["keys", "missing_header"],
  ])
    expect(metrics).toContain(
      `hookline_verification_failures_total{pipeline="${id}",reason="${reason}",mode="observe"} 1`,
    )
  expect(metrics).toContain('hookline_events_total{pipeline="repo",outcome="accepted",reason=""} 2')
  await running.stop()
  expect(running.log.filter(({ msg }) => msg === "not verified; passes")).toMatchObject([
    { level: "warn", pipeline: "repo", reason: "no_match" },
    { level: "warn", pipeline: "keys", reason: "missing_header" },
  ])
})

test("mode = observe: a flood of what is not verified is few lines and their number, also when it ends with a stop", async () => {
  using folder = temporaryFolder()
  const verifier = "provider = github\nmode = observe\nsecret = example-not-a-secret"
  await using running = await startInProcess(`${LOG}${pipeline("repo", verifier)}[admin]\nlisten = off\n`, {
    folder: folder.path,
  })
  const answers = await Promise.all(Array.from({ length: 200 }, () => post(running.urls["repo"]!, "{}")))
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  await running.stop()
  const more = running.log.filter(({ msg }) => msg.startsWith("not verified; passes: further lines"))
  expect(more[0]).toMatchObject({ level: "info", pipeline: "repo", reason: "missing_header" })
  const warnings = running.log.filter(({ level, msg }) => level === "warn" && msg.startsWith("not verified"))
  expect(warnings).toMatchObject([
    { pipeline: "repo", reason: "missing_header" },
    { pipeline: "repo", more: 199, reasons: { missing_header: 199 } },
  ])
  const lines = running.log.filter(({ msg }) => msg === "not verified; passes")
  expect(lines[0]).toMatchObject({ pipeline: "repo", detail: "no X-Hub-Signature-256", method: "POST" })
  expect(lines.length + more.reduce((sum, line) => sum + Number(line["more"]), 0)).toBe(200)
  expect(lines.length).toBeLessThan(200)
})

test("a handshake is counted and logged in one line, before the body and after it", async () => {
  using folder = temporaryFolder()
  const verifier = "provider = meta\nsecret = example-not-a-secret\nverify_token = example-not-a-token"
  await using running = await startInProcess(
    `${LOG}${pipeline("meta", verifier)}${pipeline("xero", "provider = xero\nsecret = example-not-a-secret")}[admin]\nlisten = 127.0.0.1:0\n`,
    { folder: folder.path },
  )
  const query = "?hub.mode=subscribe&hub.challenge=1&hub.verify_token=example-not-a-token"
  expect((await fetch(running.urls["meta"]! + query)).status).toBe(200)
  const intent = '{"events":[],"entropy":"S0m3"}'
  const signature = { "x-xero-signature": mac(intent, "example-not-a-secret", "base64") }
  expect((await post(running.urls["xero"]!, intent, signature)).status).toBe(200)
  const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
  for (const [id, reason] of [
    ["meta", "meta_challenge"],
    ["xero", "xero_intent_to_receive"],
  ])
    expect(metrics).toContain(
      `hookline_events_total{pipeline="${id}",outcome="answered",reason="${reason}"} 1`,
    )
  await running.stop()
  expect(running.log.filter(({ msg }) => msg === "handshake answered")).toMatchObject([
    { level: "info", pipeline: "meta", reason: "meta_challenge", method: "GET", status: 200 },
    { level: "info", pipeline: "xero", reason: "xero_intent_to_receive", method: "POST", status: 200 },
  ])
  expect(running.output()).not.toContain("example-not-a")
})

test("a pipeline without verification says so at start, unless only this machine reaches it", async () => {
  using folder = temporaryFolder()
  const open = (id: string, host: string): string =>
    `[pipeline:${id}:WebHookSource]\nhost = ${host}\nport = 0\n[pipeline:${id}:BrokerSink]\ntopic = t\n`
  const verified = `[pipeline:c:WebHookSource]\nport = 0\n[pipeline:c:BrokerSink]\ntopic = t\n[pipeline:c:Verifier]\nprovider = gitlab\nsecret = x\n`
  await using running = await startInProcess(
    `${LOG}${open("a", "0.0.0.0")}${open("b", "127.0.0.1")}${verified}[admin]\nlisten = off\n`,
    { folder: folder.path },
  )
  const warnings = running.log.filter(({ msg }) => msg.startsWith("NOT VERIFIED"))
  expect(warnings).toMatchObject([{ level: "warn", pipeline: "a", host: "0.0.0.0" }])
  await running.stop()
})

test("what is offered at start to try out is a pipeline that takes it", async () => {
  using folder = temporaryFolder()
  const open = (id: string): string =>
    `[pipeline:${id}:WebHookSource]\nhost = 127.0.0.1\nport = 0\n[pipeline:${id}:BrokerSink]\ntopic = ${id}\n`
  await using running = await startHookline(
    `${LOG}${pipeline("keys", "provider = gitlab\nsecret = x")}${open("all")}[admin]\nlisten = off\n`,
    { folder: folder.path },
  )
  const hint = running.log.filter(({ msg }) => msg.startsWith("try it: "))
  expect(hint.map(({ msg }) => msg.slice(msg.lastIndexOf(" ") + 1))).toEqual([running.urls["all"]!])
  await running.stop()
})

test("any of several secrets matches, so that they can be rotated", async () => {
  using folder = temporaryFolder()
  const verifier = 'provider = github\nsecret =\n  old-example, new-example\n  "with,comma"'
  await using running = await startInProcess(`${LOG}${pipeline("repo", verifier)}[admin]\nlisten = off\n`, {
    folder: folder.path,
  })
  const statusWith = async (key: string) =>
    (await post(running.urls["repo"]!, "{}", github("{}", key))).status
  expect(await Promise.all(["old-example", "new-example", "with,comma", "with"].map(statusWith))).toEqual([
    200, 200, 200, 401,
  ])
  await running.stop()
})

describe("a token", () => {
  test.each([
    ["is judged before the body, of which nothing is sent", ["Content-Length: 100"]],
    [
      "is judged before the body, of which nothing is asked for",
      ["Content-Length: 100", "Expect: 100-continue"],
    ],
    ["is judged before the body, of which no length is told", ["Transfer-Encoding: chunked"]],
  ])("%s", async (_name, lines) => {
    using folder = temporaryFolder()
    await using it = await startVerified(folder.path, {
      keys: verifier({ provider: "gitlab", secret: ["example"] }),
    })
    using socket = await openSocket(Number(new URL(it.origin("keys")).port))
    socket.send(
      ["POST /in HTTP/1.1", "Host: localhost", "X-Gitlab-Token: wrong", ...lines, "", ""].join("\r\n"),
    )
    expect(await socket.until(/HTTP\/1.1 401 [^]*verified/)).toContain("401 Unauthorized")
  })
})

describe("a signed URL", () => {
  const square = (url: string, body: string) => ({
    "x-square-hmacsha256-signature": mac(url + body, "example", "base64"),
  })
  const start = (path: string, options: Parameters<typeof startVerified>[2]) =>
    startVerified(path, { a: verifier({ provider: "square", secret: ["example"] }) }, options)
  const FORWARDED = { "X-Forwarded-Proto": "https", "X-Forwarded-Host": "hooks.example.com" }

  test("is public_url's where it is set, whatever the request says", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, { publicUrl: "https://hooks.example.com/outside" })
    const url = `${it.origin("a")}/in`
    expect((await post(url, "{}", square("https://hooks.example.com/outside", "{}"))).status).toBe(200)
    expect((await post(url, "{}", square(url, "{}"))).status).toBe(401)
  })

  test("is the request's own else, and what a stranger forwards does not count", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, {})
    const url = `${it.origin("a")}/in`
    expect((await post(url, "{}", square(url, "{}"))).status).toBe(200)
    const forwarded = { ...square("https://hooks.example.com/in", "{}"), ...FORWARDED }
    expect((await post(url, "{}", forwarded)).status).toBe(401)
  })

  test("is what a trusted proxy forwards", async () => {
    using folder = temporaryFolder()
    await using it = await start(folder.path, { trustedProxies: ["127.0.0.1"] })
    const url = `${it.origin("a")}/in`
    const forwarded = { ...square("https://hooks.example.com/in", "{}"), ...FORWARDED }
    expect((await post(url, "{}", forwarded)).status).toBe(200)
  })
})

test("keys that can't be fetched are answered 503, with Retry-After", async () => {
  using folder = temporaryFolder()
  const keys = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("", { status: 500 }) })
  await using it = await startVerified(folder.path, {
    a: verifier({ provider: "jwt", jwksUrl: `http://127.0.0.1:${keys.port}/` }),
  })
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
  const Authorization = `Bearer ${part({ alg: "RS256", kid: "1" })}.${part({})}.AAAA`
  const answer = await post(`${it.origin("a")}/in`, "{}", { Authorization })
  await keys.stop(true)
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"])
  expect(await it.published("a")).toEqual([])
})

test("check asks for what a provider needs, at its line, without a secret", async () => {
  using folder = temporaryFolder()
  const parts = [
    "provider = strip\nsecret = example-not-a-secret",
    "provider = stripe",
    "provider = stripe\nsecret = example-not-a-secret\nheader = X-Signature",
    "provider = adyen\nsecret = example-not-a-secret",
    "provider = gcp-pubsub\naudience = a",
    "provider = asana",
    "provider = github\nsecret = example-not-a-secret\nmode = watch",
    "provider = hmac\nsecret = example-not-a-secret\nheader = X\npayload = {timestamp}.{body}",
    "provider = github\nsecret = ${NOT_SET:-}",
    "provider = slack\nsecret = example-not-a-secret\ntolerance = 5 minutes",
    'provider = github\nsecret = "",',
    "provider = hmac\nsecret = example-not-a-secret\nheader = X Sig",
  ]
  const file = join(folder.path, "p.conf")
  await Bun.write(
    file,
    LOG + parts.map((part, i) => pipeline(`p${i}`, part).replace("port = 0", `port = ${7000 + i}`)).join(""),
  )
  const { error, problems } = await checked(file)
  expect(error?.exitCode).toBe(78)
  expect(error?.message).not.toContain("example-not-a-secret")
  const lines = problems.lines.map((line) =>
    line.replace(/^.*p\.conf:\d+: \[pipeline:(p\d+):Verifier\] /, "$1 "),
  )
  expect(lines).toEqual([
    'p0 provider: "strip" is not a provider; did you mean stripe?',
    "p1 secret: is missing; stripe requires secret (the secret as the provider shows it)",
    "p2 header: is not used by stripe; its keys are secret, tolerance and mode",
    "p3 secret: has the wrong form; expected hexadecimal digits",
    "p4 email: is missing; gcp-pubsub requires audience and email",
    "p5 secret: is missing; asana requires secret (the secret as the provider shows it), or secret_file",
    'p6 mode: "watch" is not enforce or observe',
    "p7 timestamp_header: and {timestamp} in payload belong together: an unsigned time proves nothing",
    "p8 secret: is empty; expected a list (commas or lines) of secrets in the provider's own form, or remove the key",
    expect.stringContaining('p9 tolerance: "5 minutes" is not a duration'),
    "p10 secret: its value is empty; expected a list (commas or lines) of secrets in the provider's own form",
    'p11 header: "X Sig" is not a header\'s name such as X-Signature, without spaces or a colon',
  ])
  expect(problems.all[0]!.line).toBe(9)
})

test("tolerance = 0, a prefix that ends in a blank", async () => {
  using folder = temporaryFolder()
  const body = "{}"
  await using running = await startInProcess(
    LOG +
      pipeline("old", "provider = stripe\nsecret = example\ntolerance = 0") +
      pipeline("bearer", 'provider = token\nsecret = example\nheader = Authorization\nprefix = "Token "') +
      "[admin]\nlisten = off\n",
    { folder: folder.path },
  )
  expect((await post(running.urls["old"]!, body, stripe(body, "example", 1_000_000_000))).status).toBe(200)
  expect((await post(running.urls["bearer"]!, body, { Authorization: "Token example" })).status).toBe(200)
  expect((await post(running.urls["bearer"]!, body, { Authorization: "example" })).status).toBe(401)
  await running.stop()
})
