import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { hookline, startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, createTopic, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const SECRET = "example-not-a-secret"

interface Letter {
  readonly value: string
  readonly key: string | null
  readonly headers: { readonly [name: string]: string }
}

/** A pipeline of signed webhooks, and what a sender that knows the secret posts to it. */
const pipeline = (id: string, more = ""): string => `
[pipeline:${id}:WebHookSource]
host = 127.0.0.1
port = 0
path = /${id}
max_body_bytes = 64KiB
[pipeline:${id}:Verifier]
provider = github
secret = ${SECRET}
[pipeline:${id}:BrokerSink]
topic = ${id}
key = json:/id
dead_letter_topic = ${id}.dead
${more}
`
async function send(
  url: string,
  body: string,
  { secret = SECRET, gzip = false, type = "application/json" } = {},
): Promise<Response> {
  const signature = createHmac("sha256", secret).update(body).digest("hex")
  return fetch(url, {
    method: "POST",
    body: gzip ? gzipSync(body) : body,
    headers: {
      "Content-Type": type,
      "X-Hub-Signature-256": `sha256=${signature}`,
      ...(gzip ? { "Content-Encoding": "gzip" } : {}),
    },
  })
}

const byValue = (a: Letter, b: Letter): number => (a.value < b.value ? -1 : 1)

async function tailed(folder: string, topic: string): Promise<Letter[]> {
  const { stdout } = await hookline(["tail", topic, "-o", "json", "-c", join(folder, "pipelines.conf")])
  const records = stdout.split("\n").filter((line) => line !== "")
  return records
    .map((line) => {
      const { value, key, headers } = JSON.parse(line) as {
        value: string
        key: string | null
        headers: [string, string][]
      }
      return { value, key, headers: Object.fromEntries(headers) }
    })
    .toSorted(byValue)
}

describe("the embedded log", () => {
  const folder = temporaryFolder()
  let running: RunningHookline
  beforeAll(async () => {
    running = await startHookline(
      `[connection:log]\ndirectory = data\n[admin]\nlisten = 127.0.0.1:0
${pipeline("pay")}${pipeline("lenient", "[pipeline:lenient:Validator]\non_invalid = drop")}`,
      { folder: folder.path, env: { TZ: "Europe/Berlin" } },
    )
  })
  afterAll(async () => {
    await running.stop()
    folder[Symbol.dispose]()
  })

  test("what a verified sender sent and was refused is kept as it came, with the reason; nothing else is", async () => {
    const began = Date.now()
    const url = running.urls["pay"]!
    expect((await send(url, '{"id":7}')).status).toBe(200)
    expect((await send(url, '{"a":1,}')).status).toBe(400)
    expect((await send(url, "[7]", { type: "text/plain" })).status).toBe(400)
    expect((await send(url, "forged,", { secret: "another" })).status).toBe(401)
    expect((await send(url, "x".repeat(70_000))).status).toBe(413)

    const letters = await tailed(folder.path, "pay.dead")
    expect(letters.map(({ value, key }) => [value, key])).toEqual([
      ["[7]", null],
      ['{"a":1,}', null],
    ])
    const { "hookline.errors.received_at": receivedAt, ...headers } = letters[1]!.headers
    expect(headers).toEqual({
      "hookline.errors.reason": "invalid_json",
      "hookline.errors.detail": "The body is not valid JSON: expected a name in quotes at byte 7.",
      "hookline.errors.status": "400",
      "hookline.errors.pipeline": "pay",
      "hookline.errors.topic": "pay",
      "hookline.errors.path": "/pay",
      "hookline.errors.content_type": "application/json",
    })
    expect(receivedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+0[12]:00$/)
    expect(Date.parse(receivedAt!)).toBeWithin(began, Date.now() + 1)
    expect(letters[0]!.headers).toMatchObject({ "hookline.errors.content_type": "text/plain" })
    expect(await tailed(folder.path, "pay")).toHaveLength(1)
    const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
    expect(metrics).toContain('hookline_dead_letters_total{pipeline="pay",reason="invalid_json"} 1\n')
    expect(metrics).toContain('hookline_dead_letters_total{pipeline="pay",reason="not_an_object"} 1\n')
  })

  test("what is dropped as invalid is kept too, decompressed, and answered as accepted", async () => {
    const answer = await send(running.urls["lenient"]!, "not json", { gzip: true })
    expect([answer.status, await answer.text()]).toEqual([200, ""])
    const [letter, ...more] = await tailed(folder.path, "lenient.dead")
    expect([letter!.value, more]).toEqual(["not json", []])
    expect(letter!.headers).toMatchObject({ "hookline.errors.reason": "invalid_json" })
    expect(letter!.headers).not.toContainKey("hookline.errors.status")
  })
})

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("Kafka", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let running: RunningHookline
  beforeAll(async () => {
    kafka = await startStrictKafka(["pay", "pay.dead", "late"])
    running = await startHookline(
      `[connection:kafka]\nbootstrap_servers = ${kafka.bootstrapServers}\ndelivery_timeout = 1s
[admin]\nlisten = off\n${pipeline("pay")}${pipeline("late")}`,
      { folder: folder.path },
    )
    while ((await send(running.urls["pay"]!, "{}")).status !== 200);
  }, 60_000)
  afterAll(async () => {
    await running.stop()
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  test("a refusal is answered when its dead letter is acknowledged: kcat shows it, with its headers", async () => {
    expect((await send(running.urls["pay"]!, '{"id":1}}')).status).toBe(400)
    const [letter, ...more] = await readWithKcat(kafka, "pay.dead")
    expect([letter!.value.toString(), letter!.key, more]).toEqual(['{"id":1}}', undefined, []])
    expect(letter!.headers).toContain("hookline.errors.reason=invalid_json,")
    expect(letter!.headers).toContain("hookline.errors.pipeline=pay,hookline.errors.topic=pay,")
  })

  test("while the dead letter can't be published the sender gets 503, and again its refusal after that", async () => {
    const url = running.urls["late"]!
    while ((await send(url, "{}")).status !== 200);
    const refused = await send(url, "no-topic-yet")
    expect(refused.status).toBe(503)
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0)
    const line = await running.logged(({ reason }) => String(reason).startsWith("dead_letter_"))
    expect(line).toMatchObject({ pipeline: "late", status: 503, level: "warn" })
    expect(line["detail"]).toContain("invalid_json")

    await createTopic(kafka, "late.dead")
    let answer = await send(url, "no-topic-yet")
    while (answer.status === 503) answer = await send(url, "no-topic-yet")
    expect(answer.status).toBe(400)
    const letters = await readWithKcat(kafka, "late.dead")
    expect(letters.map(({ value }) => value.toString())).toContain("no-topic-yet")
    for (const { value } of await readWithKcat(kafka, "late")) expect(value.toString()).toStartWith("{")
  }, 30_000)

  test("a dead letter that the broker finds too large is told as lost, and the refusal stands", async () => {
    expect((await send(running.urls["pay"]!, "x".repeat(30_000))).status).toBe(400)
    const line = await running.logged(({ msg }) => msg === "a dead letter is lost")
    expect(line).toMatchObject({ pipeline: "pay", reason: "invalid_json", level: "error", bytes: 30_000 })
    expect(await readWithKcat(kafka, "pay.dead")).toHaveLength(1)
  })
})

describe("check", () => {
  const source = "[pipeline:a:WebHookSource]\nport = 8080"
  const verifier = (mode: string): string =>
    `[pipeline:a:Verifier]\nprovider = github\nsecret = ${SECRET}\nmode = ${mode}`
  const sink = "[pipeline:a:BrokerSink]\ntopic = a\ndead_letter_topic ="
  const problems = async (...sections: string[]): Promise<string> => {
    using folder = temporaryFolder()
    const file = join(folder.path, "pipelines.conf")
    await Bun.write(file, ["[connection:log]\ndirectory = data", ...sections].join("\n"))
    const { stderr } = await hookline(["check", "-c", file])
    return stderr.replace(/^warning: .*\n/gm, "")
  }
  const clientCa = "tls_certificate = c.pem\ntls_key = k.pem\ntls_client_ca = ca.pem"
  const other = "[pipeline:b:WebHookSource]\npath = /b\n[pipeline:b:BrokerSink]\ntopic = b"

  test.each([
    ["nobody verifies", [source, `${sink} dead`], "nothing verifies them here; add a Verifier"],
    ["a Verifier only observes", [source, verifier("observe"), `${sink} dead`], "in mode enforce"],
    ["it is the topic", [source, verifier("enforce"), `${sink} a`], "is the topic itself"],
    ["it is another's topic", [source, verifier("enforce"), `${sink} b`, other], 'topic of pipeline "b"'],
    [
      "it is another's topic, which a topic of another connection is named like",
      [
        "[connection:elsewhere]\ndirectory = elsewhere",
        source,
        verifier("enforce"),
        `${sink} b\nconnection = log`,
        "[pipeline:c:WebHookSource]\npath = /c\n[pipeline:c:BrokerSink]\ntopic = b\nconnection = elsewhere",
        `${other}\nconnection = log`,
      ],
      'topic of pipeline "b"',
    ],
    ["it is no topic's name", [source, verifier("enforce"), `${sink} a/b`], "is not a topic name"],
  ])("%s: told with its key", async (_name, sections, text) => {
    const told = await problems(...sections)
    expect(told).toContain(": [pipeline:a:BrokerSink] dead_letter_topic: ")
    expect(told).toContain(text)
    expect(told.trim().split("\n")).toHaveLength(1)
  })

  test.each([
    ["a Verifier", [source, verifier("enforce"), `${sink} dead`]],
    ["client certificates", [`${source}\n${clientCa}`, `${sink} dead`]],
    [
      "client certificates beside a Verifier that observes",
      [`${source}\n${clientCa}`, verifier("observe"), `${sink} dead`],
    ],
  ])("%s: nothing is wrong", async (_name, sections) => {
    expect(await problems(...sections)).toBe("")
  })
})
