import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import type {
  CaptureDetail,
  PipelineDetail,
  ProviderSetup,
  RecordDetail,
  SampleRequest,
  SendResult,
} from "../../src/admin/api/shapes.ts"
import { PRESETS } from "../../src/verify/presets/presets.ts"
import { findFamily, PROVIDER_NAMES } from "../../src/verify/presets/providers.ts"
import { AdminApi } from "../support/admin-api.ts"
import { sharedByTests, hookline, reload, temporaryFolder } from "../support/hookline.ts"
import { sendersWith } from "../support/senders.ts"

// Every provider has a pipeline: what the API signs is verified by the pipeline itself.

const SENDERS = sendersWith("https://keys.example.com/")
const env: { [name: string]: string } = {}

/** The settings of a provider as lines, its values from the environment, which takes any text. */
function settingsOf(name: string): string {
  const lines = Object.entries(SENDERS[name]!.settings).map(([key, value]) => {
    const text = Array.isArray(value) ? value.map(quoted).join(", ") : String(value)
    const variable = `T_${name}_${key}`.replaceAll("-", "_").toUpperCase()
    env[variable] = text
    return `${key} = \${${variable}}`
  })
  return lines.join("\n")
}
const quoted = (text: string): string => (/^\{|\n|^[^,]*$/.test(text) ? text : `"${text}"`)

const names = Object.keys(PRESETS).filter((name) => name in SENDERS)
const signable = names.filter((name) => {
  const { settings } = SENDERS[name]!
  return findFamily(name)!.signer !== undefined && (settings.secret ?? settings.password) !== undefined
})

const configuration = `
[connection:log]
directory = log
${names
  .map(
    (name) => `[pipeline:${name}:WebHookSource]
path = /${name}/*
[pipeline:${name}:Verifier]
provider = ${name}
${settingsOf(name)}
[pipeline:${name}:BrokerSink]
topic = ${name}`,
  )
  .join("\n")}
[pipeline:open:WebHookSource]
public_url = https://hooks.example.com
allow = 192.0.2.0/24
[pipeline:open:BrokerSink]
topic = open
`
const it = sharedByTests(() => AdminApi.start(configuration, env))

describe("a sample", () => {
  test.each(signable)("of %s is signed with the pipeline's secret, and published", async (name) => {
    const sample = await it.get<SampleRequest>(`samples/${name}`)
    expect(sample).toMatchObject({ provider: name, method: "POST", signed: true, problem: null })
    expect(sample.url).toEndWith(`/${name}/sample`)
    const { body, content_type } = sample
    const result = await it.post<SendResult>("send", { pipeline: name, body, content_type })
    expect([result.status, result.error]).toEqual([200, null])
  })

  test("is published where its answer says, as it was edited", async () => {
    const body = '{ "id": "evt_edited", "type": "charge.failed" }'
    const { status, record, headers } = await it.post<SendResult>("send", { pipeline: "stripe", body })
    expect(status).toBe(200)
    expect(headers).toBeArray()
    const { connection, topic, partition, offset } = record!
    const { value_base64 } = await it.get<RecordDetail>(
      `records/${connection}/${topic}/${partition}/${offset}`,
    )
    const value = Buffer.from(value_base64, "base64").toString()
    expect(value).toStartWith(body.slice(0, -2))
  })

  test.each(names.filter((name) => !signable.includes(name)))(
    "of %s can't be signed, and says why",
    async (name) => {
      const { signed, problem, body } = await it.get<SampleRequest>(`samples/${name}`)
      expect(signed).toBeFalse()
      expect(problem).toMatch(/only .* has the key that signs|the pipeline has no key to sign with/)
      const [status, detail] = await it.refused("send", { pipeline: name, body })
      expect(status).toBe(409)
      expect(detail).toEndWith("; signed = false sends it unsigned")
    },
  )

  test("sent unsigned is refused, and captured", async () => {
    const body = '{"id":"evt_unsigned"}'
    const result = await it.post<SendResult>("send", { pipeline: "github", body, signed: false })
    expect(result).toMatchObject({ status: 401, record: null })
    expect(result.body).toContain("could not be verified")
    const { summary } = await it.get<CaptureDetail>("captures/last?pipeline=github")
    expect(summary).toMatchObject({ reason: "unverified_missing_header", status: 401 })
  })

  test("of another provider goes to a pipeline that verifies nobody, whichever addresses it allows", async () => {
    const sample = await it.get<SampleRequest>("samples/open?provider=twilio")
    expect(sample).toMatchObject({ provider: "twilio", signed: false, problem: null })
    expect(sample.content_type).toBe("application/x-www-form-urlencoded")
    const plain = await it.get<SampleRequest>("samples/open")
    const result = await it.post<SendResult>("send", {
      pipeline: "open",
      body: plain.body,
      provider: "github",
    })
    expect(result).toMatchObject({ status: 200, record: { topic: "open" } })
  })

  test.each([
    ["samples/nobody", undefined, 404],
    ["samples/open?provider=nobody", undefined, 404],
    ["send", { pipeline: "nobody", body: "{}" }, 404],
    ["send", { pipeline: "open", body: "{}", content_type: "a\nb" }, 400],
    ["send", { pipeline: "open" }, 400],
    ["send", { pipeline: "open", body: 1 }, 400],
  ] as const)("%s of %p: %d", async (path, body, status) => {
    expect((await it.refused(path, body, body === undefined ? "GET" : "POST"))[0]).toBe(status)
  })

  test.each(["", "{", "[]", "a=b", "\0", "null"])(
    "a body of %p is signed or refused, never a fault",
    async (body) => {
      for (const pipeline of signable) {
        const { status } = await it.post<SendResult>("send", { pipeline, body })
        expect([200, 400, 401]).toContain(status)
      }
    },
  )
})

test("a captured request whose signed URL was taken to be another is published once that is mended", async () => {
  // what other tests had refused may fill the places
  await it.get("captures", { method: "DELETE" })
  const body = '{"event_id":"evt_square"}'
  const { headers } = await SENDERS["square"]!.send(
    body,
    Date.now(),
    "https://hooks.example.com/square/in?x=1",
  )
  const url = it.running.urls["square"]!.replace("*", "in?x=1")
  const { status } = await fetch(url, { method: "POST", body, headers: headers! })
  expect(status).toBe(401)
  const { summary } = await it.get<CaptureDetail>("captures/last?pipeline=square")
  const resend = (): Promise<SendResult> => it.post<SendResult>(`captures/${summary.id}/resend`)
  expect((await resend()).status).toBe(401)
  const mended = configuration.replace(
    "path = /square/*",
    "path = /square/*\npublic_url = https://hooks.example.com",
  )
  expect(await reload(it.running, it.folder, mended)).toBe("reloaded")
  expect((await resend()).status).toBe(200)
})

test("a pipeline says what is known of its sender, and nothing of one that it does not know", async () => {
  expect((await it.get<PipelineDetail>("pipelines/github")).sender).toBe(
    "waits 10 s for an answer; does not send again by itself; a repeated delivery has the id of the first; sends up to 25 MiB",
  )
  expect((await it.get<PipelineDetail>("pipelines/open")).sender).toBeNull()
})

test("the configuration given for each provider loads", async () => {
  const setups = await it.get<ProviderSetup[]>("providers")
  expect(setups.map(({ provider }) => provider)).toEqual([...PROVIDER_NAMES])
  using folder = temporaryFolder()
  const values: { [name: string]: string } = {}
  for (const { provider, configuration } of setups)
    for (const [, variable] of configuration.matchAll(/\$\{(\w+)\}/g)) {
      const setting = variable!.slice(provider.length + 1).toLowerCase()
      const key = setting === "webhook_secret" ? "secret" : (setting as "secret")
      const value = SENDERS[provider]?.settings[key] ?? "an-obviously-fake-secret-of-the-test"
      values[variable!] = (Array.isArray(value) ? value[0] : value) as string
    }
  const file = join(folder.path, "pipelines.conf")
  const text = setups.map(({ configuration }) => configuration).join("\n")
  await Bun.write(file, `[connection:log]\ndirectory = log\n${text}`)
  const { status, stderr } = await hookline(["check", "-c", file], { env: values })
  expect(stderr.split("\n").filter((line) => !line.includes("warning"))).toEqual([""])
  expect(status).toBe(0)
})
