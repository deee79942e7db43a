import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { folderOfTests } from "../support/hookline.ts"
import { recordsInLog } from "../support/embedded-log.ts"
import { startInProcess } from "../support/in-process.ts"
import { valuesInLog } from "../support/log-values.ts"
import { checked } from "../support/problems-in.ts"

const folder = folderOfTests()

const SECRET = "not-a-real-secret-0000000000"
const pipeline = (id: string, provider: string, sections: string, sink = ""): string => `
[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = 0
${provider === "" ? "" : `[pipeline:${id}:Verifier]\nprovider = ${provider}\nsecret = ${SECRET}`}
${sections}
[pipeline:${id}:BrokerSink]
topic = ${id}
${sink}
`

/** Keys and headers of a topic's records, as text. */
async function records(log: string, topic: string) {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()
  const found = await recordsInLog(join(folder.path, log), topic)
  return found.map(({ key, headers }) => ({
    key: key && text(key),
    headers: headers.map(([name, value]) => [name, text(value)] as const),
  }))
}

test("key and headers of a record are the event's id, type and time; one event of an id is published", async () => {
  const configuration = `
[connection:log]
directory = log
[admin]
listen = off
${pipeline("github", "github", "[pipeline:github:Deduplicator]", "key = event:id\nheaders = type=event:type, ref=json:/ref")}
${pipeline("notion", "notion", "[pipeline:notion:Deduplicator]", "key = event:type\nheaders = at=event:time")}
`
  await using running = await startInProcess(configuration, { folder: folder.path })
  const post = async (pipeline: string, body: string, headers: { [name: string]: string }) =>
    (await fetch(running.urls[pipeline]!, { method: "POST", body, headers })).status
  const signed = (body: string): string => `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`
  const github = async (body: string, delivery: string) =>
    post("github", body, {
      "X-Hub-Signature-256": signed(body),
      "X-GitHub-Event": "push",
      "X-GitHub-Delivery": delivery,
    })

  expect(await github('{"ref":"a"}', "d1")).toBe(200)
  expect(await github('{"ref":"a"}', "d1")).toBe(200)
  // a captured request with another event's id makes that one no duplicate
  expect(await github('{"ref":"a"}', "d2")).toBe(200)
  expect(await github('{"ref":"b"}', "d2")).toBe(200)
  for (const attempt of [1, 2]) {
    const body = `{"id":"n1","type":"page.created","timestamp":"2026-11-22T10:00:00.000Z","attempt_number":${attempt}}`
    expect(await post("notion", body, { "X-Notion-Signature": signed(body) })).toBe(200)
  }
  await running.stop()

  const refs = (await valuesInLog(join(folder.path, "log"), "github")).map((it) => JSON.parse(it).ref)
  expect(refs).toEqual(["a", "a", "b"])
  expect((await records("log", "github"))[0]).toMatchObject({
    key: "d1",
    headers: [
      ["type", "push"],
      ["ref", "a"],
    ],
  })
  expect(await records("log", "notion")).toEqual([
    expect.objectContaining({ key: "page.created", headers: [["at", "2026-11-22T10:00:00.000Z"]] }),
  ])
})

test("records are CloudEvents, and have the request's trace", async () => {
  const configuration = `
[connection:log]
directory = events
[admin]
listen = off
${pipeline("stripe", "stripe", "", "headers = path=path\ncloudevents = binary\ntrace_headers = on")}
${pipeline("open", "", "", "cloudevents = binary\ncloudevents_source = /shop\ncloudevents_type = json:/kind")}
`
  await using running = await startInProcess(configuration, { folder: folder.path })
  const nowS = Math.floor(Date.now() / 1000)
  const body = `{"id":"evt_1","type":"invoice.paid","created":${nowS}}`
  const signature = createHmac("sha256", SECRET).update(`${nowS}.${body}`).digest("hex")
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  const post = async (pipeline: string, sent: string, headers: { [name: string]: string }) =>
    (await fetch(running.urls[pipeline]!, { method: "POST", body: sent, headers })).status
  const headers = { "Stripe-Signature": `t=${nowS},v1=${signature}`, traceparent, tracestate: "Not=valid" }
  expect(await post("stripe", body, headers)).toBe(200)
  expect(await post("open", '{"kind":"order"}', {})).toBe(200)
  await running.stop()

  const [stripe] = await records("events", "stripe")
  expect(stripe!.headers).toEqual([
    ["path", "/webhook"],
    ["ce_specversion", "1.0"],
    ["ce_id", "evt_1"],
    ["ce_source", "/pipelines/stripe"],
    ["ce_type", "invoice.paid"],
    ["ce_time", new Date(nowS * 1000).toISOString()],
    ["content-type", "application/json"],
    ["traceparent", traceparent],
  ])
  const [value] = await valuesInLog(join(folder.path, "events"), "stripe")
  expect(value).toStartWith(`${body.slice(0, -1)},"received_at":`)
  const [open] = await records("events", "open")
  expect(Object.fromEntries(open!.headers)).toMatchObject({ ce_source: "/shop", ce_type: "order" })
})

test("CloudEvents' keys are checked", async () => {
  const sinks = [
    "cloudevents_id = json:/id",
    "cloudevents = binary\ncloudevents_id = constant\ncloudevents_source = no uri\ncloudevents_type = json:x",
    "cloudevents = binary\nheaders = CE_ID=json:/id, content-type=path",
    "trace_headers = on\nheaders = traceparent=header:traceparent",
    "cloudevents = binary\ncloudevents_type = event:type",
  ]
  const pipelines = sinks.map((sink, i) =>
    pipeline(`p${i}`, "", "", sink).replace("port = 0", `path = /${i}`),
  )
  await Bun.write(join(folder.path, "ce.conf"), `[connection:log]\ndirectory = log\n${pipelines.join("")}`)
  const { error, problems } = await checked(join(folder.path, "ce.conf"))
  expect(error?.exitCode).toBe(78)
  const messages = problems.lines.flatMap((line) => /ce\.conf:\d+: \[pipeline:(.*)/.exec(line)?.[1] ?? [])
  expect(messages).toEqual([
    "p0:BrokerSink] cloudevents_id: has no effect with cloudevents = off; remove it, or set cloudevents = binary",
    expect.stringContaining('p1:BrokerSink] cloudevents_id: "constant" is not json:/pointer'),
    expect.stringContaining('p1:BrokerSink] cloudevents_source: "no uri" is not json:/pointer'),
    expect.stringContaining('p1:BrokerSink] cloudevents_type: "json:x" is not json:/pointer'),
    "p2:BrokerSink] headers: CE_ID is set by cloudevents = binary; remove it here",
    "p2:BrokerSink] headers: content-type is set by cloudevents = binary; remove it here",
    "p3:BrokerSink] headers: traceparent is set by trace_headers = on; remove it here",
    expect.stringContaining("p4:BrokerSink] cloudevents_type: event:type needs a Verifier with a provider"),
  ])
})

test("what a provider is not known to have is a configuration error at its line", async () => {
  const file = `[connection:log]
directory = log
${pipeline("a", "zoom", "[pipeline:a:Deduplicator]", "headers = id=event:id, type=event:type")}
${pipeline("b", "", "[pipeline:b:Deduplicator]", "key = event:type")}
${pipeline("c", "github", "[pipeline:c:Deduplicator]\nkey = event:time", "key = event:time")}
${pipeline("d", "githib", "[pipeline:d:Deduplicator]\n[pipeline:d:Router]\nby = event:type\n* = d", "key = event:time")}
`
  await Bun.write(join(folder.path, "unknown.conf"), file)
  const { error, problems } = await checked(join(folder.path, "unknown.conf"))
  expect(error?.exitCode).toBe(78)
  const messages = problems.lines.flatMap((line) => /unknown\.conf:\d+: (.*)/.exec(line)?.[1] ?? [])
  expect(messages).toEqual([
    "[pipeline:a:Deduplicator] key: is missing; add key = <header:Name or json:/pointer>: zoom is not known to have an id",
    "[pipeline:a:BrokerSink] headers: event:id has no known place in events of zoom; write header:Name or json:/pointer; known: event:type, event:time",
    "[pipeline:b:Deduplicator] key: is missing; add key = <header:Name or json:/pointer>",
    "[pipeline:b:BrokerSink] key: event:type needs a Verifier with a provider, and the pipeline has none; write header:Name or json:/pointer",
    '[pipeline:c:Deduplicator] key: "event:time" is not header:Name, json:/pointer (RFC 6901), or event:id',
    "[pipeline:c:BrokerSink] key: event:time has no known place in events of github; write header:Name or json:/pointer; known: event:id, event:type, event:source",
    expect.stringContaining("did you mean github?"),
  ])
})

test("check knows whether the default key takes each captured request once", async () => {
  const file = `[connection:log]
directory = log
${["mollie", "typeform"].map((it) => pipeline(it, it, `[pipeline:${it}:Deduplicator]${it === "mollie" ? "" : "\nkey = header:X-Id"}`).replace("port = 0", `path = /${it}`)).join("")}`
  await Bun.write(join(folder.path, "replayed.conf"), file)
  const { error, problems } = await checked(join(folder.path, "replayed.conf"))
  expect(error).toBeUndefined()
  // both sign their ids, with the body; the other key is a header that anyone can change
  expect(problems.warnings.join("\n").match(/\w+ signs no time/g)).toEqual(["typeform signs no time"])
})
