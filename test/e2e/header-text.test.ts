import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import type { CaptureDetail, CaptureExplanation } from "../../src/admin/api/shapes.ts"
import {
  brokerSink,
  enricher,
  filter,
  Pipeline,
  router,
  testPipeline,
  validator,
  verifier,
  webHookSource,
  type PipelineParts,
} from "../../src/index.ts"
import { AdminApi } from "../support/admin-api.ts"
import { hookline, sharedByTests } from "../support/hookline.ts"
import { openSocket } from "../support/http-socket.ts"
import { freePort } from "../support/ports.ts"
import { Receiver } from "../support/receiver.ts"

const SECRET = "not-a-real-secret-000"
const BODY = '{"type":"t","zen":"ü"}'
const bytes = (text: string, encoding: BufferEncoding = "utf8"): Buffer => Buffer.from(text, encoding)
/** A value of these bytes, as Headers has it. */
const value = (it: Buffer): string => it.toString("latin1")
const hmac = (...parts: Buffer[]) => createHmac("sha256", SECRET).update(Buffer.concat(parts))

/** What senders put into headers. */
const SENT: [what: string, text: string, encoding: "utf8" | "latin1"][] = [
  ["UTF-8", "Café ☕", "utf8"],
  ["Latin-1", "Café", "latin1"],
  ["UTF-8 that reads like Latin-1 of UTF-8", "CafÃ©", "utf8"],
]

describe.each(SENT)("header text in %s", (_what, text, encoding) => {
  const sent = bytes(text, encoding)
  const post = (
    processors: PipelineParts["processors"],
    sink: Parameters<typeof brokerSink>[0],
    headers: { [name: string]: string },
    body: string | Uint8Array = BODY,
  ) =>
    testPipeline(
      new Pipeline("p", { source: webHookSource({ path: "/in" }), processors, sink: brokerSink(sink) }),
      body,
      { headers: { "x-text": value(sent), ...headers } },
    )
  const headerOf = async (its: ReturnType<typeof post>, name: string): Promise<string | undefined> => {
    const { status, records } = await its
    expect([200, 400]).toContain(status)
    const found = records[0]!.headers.find(([it]) => it === name)?.[1]
    return found && value(Buffer.from(found))
  }

  test("is the bytes that came, in keys and record headers", async () => {
    const named = post([], { topic: "t", key: "header:X-Text", headers: ["shop=header:x-text"] }, {})
    expect(await headerOf(named, "shop")).toBe(value(sent))
    expect(value(Buffer.from((await named).records[0]!.key!))).toBe(value(sent))
    expect(await headerOf(post([], { topic: "t", headers: ["*"] }, {}), "x-text")).toBe(value(sent))
  })

  test("is the bytes that came, where a body is kept as received and in dead letters", async () => {
    const type = { "content-type": `text/plain; x=${value(sent)}` }
    const received = post([enricher({ value: "received" })], { topic: "t" }, type)
    expect(await headerOf(received, "received-content-type")).toBe(type["content-type"])
    const token = verifier({ provider: "token", header: "x-token", secret: SECRET })
    const letter = post(
      [token, validator()],
      { topic: "t", connection: "kafka", deadLetterTopic: "dead" },
      { ...type, "x-token": SECRET },
      "{",
    )
    expect(await headerOf(letter, "hookline.errors.content_type")).toBe(type["content-type"])
  })

  test("decides as the text that it is in UTF-8", async () => {
    const kept = await post([filter({ when: "header:x-text", drop: [text] })], { topic: "t" }, {})
    const routes = [[text, "routed"]] as const
    const routed = await post([router({ by: "header:x-text", routes })], { topic: "t" }, {})
    expect(kept.records.length).toBe(encoding === "utf8" ? 0 : 1)
    expect(routed.records[0]!.topic).toBe(encoding === "utf8" ? "routed" : "t")
  })

  test("is signed as the bytes that came", async () => {
    const generic = verifier({
      provider: "hmac",
      secret: SECRET,
      header: "x-sig",
      idHeader: "x-text",
      payload: "ü{id}.{body}",
    })
    const signature = hmac(bytes("ü"), sent, bytes(`.${BODY}`)).digest("hex")
    expect((await post([generic], { topic: "t" }, { "x-sig": signature })).status).toBe(200)
    const nowS = Math.floor(Date.now() / 1000)
    const standard = verifier({ provider: "standard-webhooks", secret: `whsec_${btoa(SECRET)}` })
    const signed = hmac(sent, bytes(`.${nowS}.${BODY}`)).digest("base64")
    const headers = {
      "webhook-id": value(sent),
      "webhook-timestamp": `${nowS}`,
      "webhook-signature": `v1,${signed}`,
    }
    expect((await post([standard], { topic: "t" }, headers)).status).toBe(200)
    const hook0 = verifier({ provider: "coinbase", secret: SECRET })
    const listed = hmac(bytes(`${nowS}.x-text.`), sent, bytes(`.${BODY}`)).digest("hex")
    const cdp = { "x-hook0-signature": `t=${nowS},h=x-text,v1=${listed}` }
    expect((await post([hook0], { topic: "t" }, cdp)).status).toBe(200)
  })

  test("is a token, in either encoding of the configured one", async () => {
    for (const prefix of ["", "Clé "]) {
      const token = verifier({ provider: "token", header: "x-token", secret: text, prefix })
      const statusOf = async (it: string) =>
        (await post([token], { topic: "t" }, { "x-token": value(bytes(it, encoding)) })).status
      expect([await statusOf(prefix + text), await statusOf(`${prefix}Cafe`)]).toEqual([200, 401])
    }
  })

  test("is the id and type of a CloudEvent", async () => {
    const sink = {
      topic: "t",
      cloudevents: "binary",
      cloudeventsId: "header:x-text",
      cloudeventsType: "header:x-text",
    } as const
    const { records } = await post([], sink, {})
    const found = new Map(records[0]!.headers.map(([name, it]) => [name, Buffer.from(it).toString()]))
    expect([found.get("ce_id"), found.get("ce_type")]).toEqual([text, text])
  })
})

test("code can't give a header that has no bytes, as in Fetch", async () => {
  const pipeline = new Pipeline("p", {
    source: webHookSource({ path: "/in" }),
    processors: [],
    sink: brokerSink({ topic: "t" }),
  })
  const answered = testPipeline(pipeline, BODY, { headers: { "x-text": "☕" } })
  expect(await answered.catch((error: unknown) => error)).toBeInstanceOf(TypeError)
})

describe("header text on the wire", () => {
  const receiver = new Receiver()
  const configuration = (port: number, adminPort: number): string => `
[connection:log]
directory = log
[admin]
listen = 127.0.0.1:${adminPort}
[pipeline:in:WebHookSource]
port = ${port}
path = /in
[pipeline:in:Verifier]
provider = hmac
secret = ${SECRET}
header = X-Sig
id_header = X-Id
payload = {id}.{body}
[pipeline:in:Deduplicator]
key = header:X-Id
[pipeline:in:BrokerSink]
topic = in
headers = *
[forward:on]
from = log/in
url = ${receiver.url}
`
  const it = sharedByTests(async () => AdminApi.start(configuration(await freePort(), await freePort())), {
    [Symbol.dispose]: () => void receiver.down(),
  })
  const id = bytes("Café ☕")
  const signature = hmac(id, bytes(`.${BODY}`)).digest("hex")

  /** Posts with these bytes as the id. */
  async function post(id: Buffer, signature: string): Promise<string> {
    const { port } = new URL(it.running.urls["in"]!)
    using socket = await openSocket(Number(port))
    const lines = [
      "POST /in HTTP/1.1",
      "Host: localhost",
      `X-Sig: ${signature}`,
      `Content-Length: ${bytes(BODY).length}`,
    ]
    socket.send(Buffer.concat([bytes(`${lines.join("\r\n")}\r\nX-Id: `), id, bytes(`\r\n\r\n${BODY}`)]))
    return (await socket.until(/\r\n\r\n/)).slice("HTTP/1.1 ".length, "HTTP/1.1 200".length)
  }

  test("a record's header is posted as the bytes that came, once for both deliveries", async () => {
    expect([await post(id, signature), await post(id, signature)]).toEqual(["200", "200"])
    await receiver.count(1)
    expect(bytes(receiver.all[0]!.headers.get("x-id")!, "latin1")).toEqual(id)
    const tail = await hookline(["tail", "in", "--format", "json"], { cwd: it.folder })
    const records = tail.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { headers: string[][] })
    expect(records.map(({ headers }) => Object.fromEntries(headers)["x-id"])).toEqual(["Café ☕"])
  })

  test("a captured request and its explanation show the text", async () => {
    expect(await post(id, signature.replace(/^./, "g"))).toBe("401")
    const { headers } = await it.get<CaptureDetail>("captures/last")
    expect(headers).toContainEqual({ name: "x-id", value: "Café ☕" })
    const explanation = await it.get<CaptureExplanation>("captures/last/explanation")
    expect(explanation.steps[0]!.lines).toContain("x-id: Café ☕")
    const { stdout } = await hookline(["verify", "--last", "-c", "pipelines.conf"], { cwd: it.folder })
    expect(stdout).toContain("x-id: Café ☕\n")
    // as the API shows it, pasted
    const { stdout: shown } = await hookline(["verify", "-", "--pipeline", "in", "-c", "pipelines.conf"], {
      cwd: it.folder,
      stdin: bytes(
        JSON.stringify({ headers: { "X-Id": "Café ☕", "X-Sig": signature }, body: BODY, url: "/in" }),
      ),
    })
    expect(shown).toContain("verified")
  })

  test("verify and send take a header as its text in UTF-8", async () => {
    await Bun.write(`${it.folder}/body`, BODY)
    const flags = [
      "-H",
      `X-Id: ${id.toString()}`,
      "-H",
      `X-Sig: ${signature}`,
      "-b",
      "body",
      "-c",
      "pipelines.conf",
    ]
    const { status, stdout } = await hookline(["verify", "--pipeline", "in", ...flags], { cwd: it.folder })
    expect([status, stdout]).toEqual([0, expect.stringContaining("Café ☕.")])
    const sent = await hookline(["send", "in", "-H", "X-Text: ☕"], { cwd: it.folder })
    expect([sent.status, sent.stderr]).toEqual([0, ""])
    await receiver.count(2)
    expect(bytes(receiver.all[1]!.headers.get("x-text")!, "latin1").toString()).toBe("☕")
  })
})
