import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  brokerSink,
  deduplicator,
  defineProvider,
  Pipeline,
  testPipeline,
  validator,
  verifier,
  webHookSource,
} from "../../src/index.ts"
import { hookline, reload, folderOfTests } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { valuesInLog } from "../support/log-values.ts"
import { checked } from "../support/problems-in.ts"

const folder = folderOfTests()

const SECRET = "00112233445566778899aabbccddeeff"
const ACME = `
title = Acme
docs = https://developer.acme.example/webhooks
note = Acme sends from one address.
header = X-Acme
timestamp_item = t
signature_item = s
payload = {timestamp}.{body}
secret_encoding = hex
event_id = json:/event/id
event_type = json:/event/kind
sample = {"event": {"id": "{id}", "kind": "order.paid"}}
`
const conf = (provider: string): string => `
[connection:log]
directory = log
[provider:acme]
${provider}
[pipeline:acme:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:acme:Verifier]
provider = acme
secret = ${SECRET}
[pipeline:acme:Deduplicator]
[pipeline:acme:BrokerSink]
topic = acme
key = event:type
[pipeline:other:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:other:BrokerSink]
topic = other
[admin]
listen = 127.0.0.1:0
`
/** The header of a request, as Acme would send it. */
const acmeHeader = (body: string, name = "s"): string => {
  const seconds = Math.floor(Date.now() / 1000)
  const signature = createHmac("sha256", Buffer.from(SECRET, "hex"))
    .update(`${seconds}.${body}`)
    .digest("hex")
  return `t=${seconds},${name}=${signature}`
}

test("a section is a provider for run, send, verify, check and a reload", async () => {
  const file = join(folder.path, "pipelines.conf")
  const named = ["--provider", "acme", "--config", file, "--secret", SECRET]
  await using running = await startInProcess(conf(ACME), { folder: folder.path })
  const post = async (body: string, header: string): Promise<number> =>
    (await fetch(running.urls["acme"]!, { method: "POST", body, headers: { "X-Acme": header } })).status

  const sent = await hookline(["send", ...named, "--count", "2", running.urls["acme"]!])
  expect([sent.status, sent.stdout]).toEqual([0, expect.stringContaining("2 x 200")])

  const body = '{"event":{"id":"e1","kind":"order.paid"}}'
  expect(await post(body, acmeHeader(body))).toBe(200)
  expect(await post(body, acmeHeader(body))).toBe(200)
  expect(await post(body, acmeHeader("{}"))).toBe(401)

  await Bun.write(join(folder.path, "body.json"), body)
  const verify = async (header: string) =>
    hookline(["verify", ...named, "--body", join(folder.path, "body.json"), "--header", `X-Acme: ${header}`])
  const verified = await verify(acmeHeader(body))
  expect([verified.status, verified.stdout]).toEqual([0, expect.stringContaining("verified")])
  expect(verified.stdout).toStartWith("Acme: hmac\nhttps://developer.acme.example/webhooks\n")
  const asJson = await hookline(["verify", "--json", ...named, "--body", join(folder.path, "body.json")])
  expect(JSON.parse(asJson.stdout)).toMatchObject({ provider: "acme", verified: false })
  const refused = await verify(acmeHeader("{}"))
  expect([refused.status, refused.stdout]).toEqual([
    1,
    expect.stringContaining("Note: Acme sends from one address."),
  ])

  const checked = await hookline(["check", "-c", file])
  expect(checked.stdout).toContain("verification: acme (hmac), mode enforce")
  const list = await hookline(["verify", "--list", "--config", file])
  expect(list.stdout).toMatch(/^acme +hmac +secret +https:\/\/developer\.acme\.example\/webhooks$/m)

  // another name for the signatures
  const renamed = ACME.replace("signature_item = s", "signature_item = v1")
  expect(await reload(running, folder.path, conf(renamed))).toBe("reloaded")
  expect(running.log.at(-1)).toMatchObject({ pipelines_changed: ["acme"] })
  expect(await post(body, acmeHeader(body))).toBe(401)
  const second = '{"event":{"id":"e2","kind":"order.paid"}}'
  expect(await post(second, acmeHeader(second, "v1"))).toBe(200)
  expect(await reload(running, folder.path, conf(renamed))).toBe("reloaded")
  expect(running.log.at(-1)).not.toHaveProperty("pipelines_changed")

  await running.stop()
  const ids = (await valuesInLog(join(folder.path, "log"), "acme")).map((it) => JSON.parse(it).event.id)
  expect(ids).toEqual([expect.any(String), expect.any(String), "e1", "e2"])
})

test("problems of a section are reported at its lines, and those of others with them", async () => {
  writeFileSync(
    join(folder.path, "wrong.conf"),
    `[connection:log]
directory = log
[provider:github]
header = X-A
[provider:acme]
header = X-A
payload = {timestamp}{body}
tolernce = 5m
[pipeline:p:WebHookSource]
[pipeline:p:Verifier]
provider = acme
secret = x
[pipeline:p:BrokerSink]
topic = p
[pipeline:q:WebHookSource]
path = /q
[pipeline:q:Verifier]
provider = acmee
secret = x
[pipeline:q:BrokerSink]
topic = q
[provider:a:b]
`,
  )
  const { error, problems } = await checked(join(folder.path, "wrong.conf"))
  expect(error?.exitCode).toBe(78)
  const lines = problems.lines.flatMap((line) => /wrong\.conf:(\d+: .*)/.exec(line)?.[1] ?? [])
  expect(lines).toEqual([
    "3: [provider:github]: github is a built-in provider; choose another name, such as github-own",
    expect.stringMatching(/^7: \[provider:acme\] payload: \{timestamp\} in payload and timestamp_header/),
    "8: [provider:acme] tolernce: unknown key; did you mean `tolerance`?",
    "11: [pipeline:p:Verifier] provider: is [provider:acme], which has problems",
    '18: [pipeline:q:Verifier] provider: "acmee" is not a provider; did you mean acme?',
    "22: [provider:a:b]: invalid section name; write [provider:<name>], without : in the name",
  ])
  const sent = await hookline(
    ["send", "-p", "acme", "--config", "wrong.conf", "-s", SECRET, "http://127.0.0.1:1/"],
    {
      cwd: folder.path,
    },
  )
  expect([sent.status, sent.stderr]).toEqual([78, expect.stringContaining("[provider:acme] payload")])
  const unknown = await hookline(["send", "-p", "acmee", "-s", SECRET, "http://127.0.0.1:1/"])
  expect([unknown.status, unknown.stderr]).toEqual([64, expect.stringContaining("unknown provider acmee")])
})

test("a provider may have the name of a member of every object", async () => {
  writeFileSync(
    join(folder.path, "named.conf"),
    conf(ACME).replaceAll("acme\n", "constructor\n").replace("provider:acme]", "provider:constructor]"),
  )
  const { status, stdout, stderr } = await hookline(["check", "-c", "named.conf"], { cwd: folder.path })
  expect([status, stderr]).toEqual([0, expect.not.stringContaining("Error")])
  expect(stdout).toContain("verification: constructor (hmac), mode enforce")
})

test("a provider of code verifies, names the event's parts and needs no file", async () => {
  const acme = defineProvider("acme", {
    header: ["X-Acme"],
    timestampItem: "t",
    signatureItem: "s",
    payload: "{timestamp}.{body}",
    secretEncoding: "hex",
    eventId: "json:/id",
    eventType: "json:/kind",
  })
  const pipeline = new Pipeline("p", {
    source: webHookSource({ path: "/in" }),
    processors: [
      verifier({ provider: acme, secret: SECRET }),
      validator(),
      deduplicator({ store: "memory" }),
    ],
    sink: brokerSink({ topic: "t", key: "event:type" }),
  })
  const body = '{"id":1,"kind":"order.paid"}'
  const { status, records } = await testPipeline(pipeline, body, { headers: { "x-acme": acmeHeader(body) } })
  expect([status, records.map(({ key }) => String(key && Buffer.from(key)))]).toEqual([200, ["order.paid"]])
  const forged = await testPipeline(pipeline, body, { headers: { "x-acme": acmeHeader("{}") } })
  expect([forged.status, forged.records]).toEqual([401, []])
})

test("its bodies are decoded as its section says: a form, and a list's items as records", async () => {
  const own = folder.make("bodies")
  const conf = (name: string): string => `
[pipeline:${name}:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:${name}:Verifier]
provider = ${name}
secret = ${SECRET}
[pipeline:${name}:Deduplicator]
[pipeline:${name}:BrokerSink]
topic = ${name}
key = event:id
`
  const configuration = `
[connection:log]
directory = log
[admin]
listen = off
[provider:forms]
header = X-Forms
format = form
json_fields = order
event_id = json:/delivery
sample = {"delivery": "{id}", "order": {"number": "=number"}, "note": "a & b"}
[provider:batches]
header = X-Batches
lists = split
event_id = json:/id
sample = [{"id": "a{id}"}, {"id": "b{id}"}, {"id": "a{id}"}]
${conf("forms")}${conf("batches")}`
  await using running = await startInProcess(configuration, { folder: own })
  for (const name of ["forms", "batches"]) {
    const args = [
      "send",
      "-p",
      name,
      "--config",
      join(own, "pipelines.conf"),
      "-s",
      SECRET,
      running.urls[name]!,
    ]
    expect((await hookline(args)).stdout).toContain("1 x 200")
  }
  await running.stop()
  const values = async (topic: string) =>
    (await valuesInLog(join(own, "log"), topic)).map((it) => JSON.parse(it) as { [name: string]: unknown })
  expect(await values("forms")).toEqual([
    expect.objectContaining({ delivery: expect.any(String), order: { number: 1 }, note: "a & b" }),
  ])
  expect((await values("batches")).map(({ id }) => String(id)[0])).toEqual(["a", "b"])
})

test("[defaults:Verifier] may name it", async () => {
  const configuration = `[connection:log]
directory = log
[defaults:Verifier]
provider = acme
secret = ${SECRET}
[provider:acme]
header = X-A
[pipeline:p:WebHookSource]
[pipeline:p:Verifier]
[pipeline:p:BrokerSink]
topic = p
`
  await Bun.write(join(folder.path, "defaults.conf"), configuration)
  const { status, stdout } = await hookline(["check", "-c", "defaults.conf"], { cwd: folder.path })
  expect([status, stdout]).toEqual([0, expect.stringContaining("acme (hmac), mode enforce")])
})
