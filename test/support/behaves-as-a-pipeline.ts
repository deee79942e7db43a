import { afterAll, beforeAll, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Application } from "../../src/runtime/application.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "./hookline.ts"

const bodies = new Map(
  await Promise.all(
    readdirSync(join(import.meta.dir, "../bodies"))
      .filter((name) => name.endsWith(".json"))
      .map(async (name) => [name, await Bun.file(join(import.meta.dir, "../bodies", name)).text()] as const),
  ),
)

/** What the record's headers are to be: the member that was left out. */
const REPLACED: { readonly [name: string]: readonly [name: string, value: string] } = {
  "github-push.json": ["received-source", '"push"'],
  "stripe-invoice.json": ["received-received_at", '"what the sender says does not count"'],
  "alertmanager.json": ["received-source", '"escaped name"'],
}

/** What the record's value is to be, by plain means: the members left out by hand, the two put in before the last brace. */
function enriched(name: string, receivedAt: string): string {
  const body = bodies.get(name)!
  const without = {
    "github-push.json": (text: string) => text.replace(`"source":"push",`, ""),
    "stripe-invoice.json": (text: string) =>
      text.replace(`\n  "received_at": "what the sender says does not count",`, ""),
    "alertmanager.json": (text: string) => text.replace(`,"\\u0073ource":"escaped name"`, ""),
  }[name]!(body)
  expect(without.length).toBeLessThan(body.length)
  const brace = without.lastIndexOf("}")
  return `${without.slice(0, brace)},"received_at":"${receivedAt}","source":"webhook"${without.slice(brace)}`
}

const receivedAtOf = (value: string): string =>
  /"received_at":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d)","source":"webhook"\}\s*$/.exec(
    value,
  )![1]!

/** A record as text. */
export interface Published {
  value: string
  key: string | null
  headers: string[][]
}

/** Tests of two pipelines to a broker: `connection` is the section's key, `read` what is in the topic. */
export function behavesAsAPipeline(
  broker: () => {
    connection: string
    topic: string
    read: (folder: string, topic: string) => Promise<Published[]>
  },
): void {
  const folder = temporaryFolder()
  let running: RunningHookline
  let started: number

  beforeAll(async () => {
    const { connection, topic } = broker()
    started = Date.now()
    running = await startHookline(
      `
[connection:here]
${connection}
[pipeline:plain:WebHookSource]
host = 127.0.0.1
port = 0
path = /plain
[pipeline:plain:BrokerSink]
topic = ${topic}
[pipeline:keyed:WebHookSource]
host = 127.0.0.1
port = 0
path = /keyed/*
[pipeline:keyed:Validator]
on_invalid = drop
[pipeline:keyed:BrokerSink]
topic = ${topic}-keyed
key = json:/customer/id
headers = delivery=header:X-Delivery, path=path
[admin]
listen = off`,
      { folder: folder.path, env: { TZ: "Europe/Berlin" } },
    )
  })
  afterAll(async () => {
    await running.stop()
    folder[Symbol.dispose]()
  })

  const post = (
    pipeline: string,
    body: string | Uint8Array<ArrayBuffer>,
    more: { path?: string; headers?: Bun.HeadersInit } = {},
  ): Promise<Response> =>
    fetch(running.urls[pipeline]!.replace("/*", more.path ?? ""), {
      method: "POST",
      body,
      headers: more.headers ?? {},
    })

  test("what is answered 200 is in the topic byte for byte, and nothing else is", async () => {
    for (const body of bodies.values()) expect((await post("plain", body)).status).toBe(200)
    const refused = [
      "",
      "[]",
      "{",
      '{"a":1,}',
      "null",
      new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    ]
    for (const body of refused) expect((await post("plain", body)).status).toBe(400)

    const published = await broker().read(folder.path, broker().topic)
    expect(published.map(({ value }) => value)).toEqual(
      [...bodies.keys()].map((name, i) => enriched(name, receivedAtOf(published[i]!.value))),
    )
    const names = [...bodies.keys()]
    for (const [i, { value, key, headers }] of published.entries()) {
      const receivedAt = receivedAtOf(value)
      expect(Date.parse(receivedAt)).toBeWithin(started, Date.now() + 1)
      expect([key, headers]).toEqual([null, [[...REPLACED[names[i]!]!]]])
    }
  })

  test("key and headers come from where the sink says, and on_invalid = drop answers as if accepted", async () => {
    const events = [
      ['{"customer":{"id":"cus_1"},"n":1}', "cus_1"],
      ['{"customer":{"id":12345678901234567890},"n":2}', "12345678901234567890"],
      ['{"customer":{},"n":3}', null],
    ] as const
    for (const [body] of events) {
      const answer = await post("keyed", body, { path: "/some/team", headers: { "X-Delivery": "d-1" } })
      expect(answer.status).toBe(200)
    }
    const dropped = await post("keyed", "not json", { path: "/some/team" })
    expect([dropped.status, await dropped.text()]).toEqual([200, ""])
    expect((await post("keyed", "{}", { path: "/without-header" })).status).toBe(200)

    const published = await broker().read(folder.path, `${broker().topic}-keyed`)
    const byNumber = published.toSorted((a, b) =>
      (/"n":(\d)/.exec(a.value)?.[1] ?? "9").localeCompare(/"n":(\d)/.exec(b.value)?.[1] ?? "9"),
    )
    expect(byNumber.map(({ key }) => key)).toEqual([...events.map(([, key]) => key), null])
    expect(byNumber[0]!.headers).toEqual([
      ["delivery", "d-1"],
      ["path", "/keyed/some/team"],
    ])
    expect(byNumber[3]!.headers).toEqual([["path", "/keyed/without-header"]])
  })

  test("a refusal is a problem document that names the rule and the byte, not the broker", async () => {
    const answer = await post("plain", '{"a":1,}')
    expect(answer.headers.get("content-type")).toBe("application/problem+json")
    const problem = (await answer.json()) as { [key: string]: unknown }
    expect(Object.keys(problem).toSorted()).toEqual(["detail", "request_id", "status", "title", "type"])
    expect(problem["detail"]).toMatch(/\b7\b/)
  })
}

/** The records of a topic, by the connection `here` of a folder's configuration. */
export async function readBack(folder: string, topic: string): Promise<Published[]> {
  const app = Application.fromFile(join(folder, "pipelines.conf"))
  const records = await Array.fromAsync(app.read("here", topic))
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
  return records.map(({ value, key, headers }) => ({
    value: text(value),
    key: key === undefined ? null : text(key),
    headers: headers.map(([name, value]) => [name, text(value)]),
  }))
}
