import { afterAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { valuesInLog } from "../support/log-values.ts"

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())

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

test("key and headers of a record are the event's id, type and time; one event of an id is published", async () => {
  const configuration = `
[connection:log]
directory = log
${pipeline("github", "github", "[pipeline:github:Deduplicator]", "key = event:id\nheaders = type=event:type, ref=json:/ref")}
${pipeline("notion", "notion", "[pipeline:notion:Deduplicator]", "key = event:type\nheaders = at=event:time")}
`
  await using running = await startHookline(configuration, { folder: folder.path })
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
  expect(await running.stop()).toBe(0)

  const refs = (await valuesInLog(join(folder.path, "log"), "github")).map((it) => JSON.parse(it).ref)
  expect(refs).toEqual(["a", "a", "b"])
  const records = async (topic: string) => {
    const { stdout } = await hookline(["tail", topic, "-c", "pipelines.conf", "--output", "json"], {
      cwd: folder.path,
    })
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { key: string; headers: object })
  }
  expect((await records("github"))[0]).toMatchObject({
    key: "d1",
    headers: [
      ["type", "push"],
      ["ref", "a"],
    ],
  })
  expect(await records("notion")).toEqual([
    expect.objectContaining({ key: "page.created", headers: [["at", "2026-11-22T10:00:00.000Z"]] }),
  ])
}, 20_000)

test("what a provider is not known to have is a configuration error at its line", async () => {
  const file = `[connection:log]
directory = log
${pipeline("a", "zoom", "[pipeline:a:Deduplicator]", "headers = id=event:id, type=event:type")}
${pipeline("b", "", "[pipeline:b:Deduplicator]", "key = event:type")}
${pipeline("c", "github", "[pipeline:c:Deduplicator]\nkey = event:time", "key = event:time")}
${pipeline("d", "githib", "[pipeline:d:Deduplicator]", "key = event:time")}
`
  await Bun.write(join(folder.path, "unknown.conf"), file)
  const { status, stderr } = await hookline(["check", "-c", "unknown.conf"], { cwd: folder.path })
  expect(status).toBe(78)
  const messages = stderr.split("\n").flatMap((line) => /unknown\.conf:\d+: (.*)/.exec(line)?.[1] ?? [])
  expect(messages).toEqual([
    "[pipeline:a:Deduplicator] key: is missing; add key = <header:Name or json:/pointer>: zoom is not known to have an id",
    "[pipeline:a:BrokerSink] headers: event:id is not known of zoom; write header:Name or json:/pointer; known: event:type, event:time",
    "[pipeline:b:Deduplicator] key: is missing; add key = <header:Name or json:/pointer>",
    "[pipeline:b:BrokerSink] key: event:type is known by the provider of a Verifier, which the pipeline does not have; write header:Name or json:/pointer",
    '[pipeline:c:Deduplicator] key: "event:time" is not header:Name, json:/pointer (RFC 6901), or event:id',
    "[pipeline:c:BrokerSink] key: event:time is not known of github; write header:Name or json:/pointer; known: event:id, event:type",
    expect.stringContaining("did you mean github?"),
  ])
})
