import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { withPemFiles } from "../support/certificate.ts"
import { sharedByTests, hookline, startHookline, temporaryFolder } from "../support/hookline.ts"
import { deadLettered, SECRET, send } from "../support/dead-lettered.ts"
import { checked } from "../support/problems-in.ts"

interface Letter {
  readonly value: string
  readonly key: string | null
  readonly headers: { readonly [name: string]: string }
}

const byValue = (a: Letter, b: Letter): number => (a.value < b.value ? -1 : 1)

async function tailed(folder: string, topic: string): Promise<Letter[]> {
  const { stdout } = await hookline(["tail", topic, "-o", "json", "-c", join(folder, "pipelines.conf")])
  const records = stdout.split("\n").filter((line) => line !== "")
  return records
    .map((line) => {
      const { value, value_text, key, headers } = JSON.parse(line) as {
        value: unknown
        value_text: string | undefined
        key: string | null
        headers: [string, string][]
      }
      return { value: value_text ?? JSON.stringify(value), key, headers: Object.fromEntries(headers) }
    })
    .toSorted(byValue)
}

describe("the embedded log", () => {
  const folder = temporaryFolder()
  const running = sharedByTests(
    () =>
      startHookline(
        `[connection:log]\ndirectory = data\n[admin]\nlisten = 127.0.0.1:0
${deadLettered("pay")}${deadLettered("lenient", "[pipeline:lenient:Validator]\non_invalid = drop")}`,
        { folder: folder.path, env: { TZ: "Europe/Berlin" } },
      ),
    folder,
  )

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

describe("check", () => {
  const source = "[pipeline:a:WebHookSource]\nport = 8080"
  const verifier = (mode: string): string =>
    `[pipeline:a:Verifier]\nprovider = github\nsecret = ${SECRET}\nmode = ${mode}`
  const sink = "[pipeline:a:BrokerSink]\ntopic = a\ndead_letter_topic ="
  const problems = async (...sections: string[]): Promise<string> => {
    using folder = temporaryFolder()
    const file = join(folder.path, "pipelines.conf")
    const configuration = ["[connection:log]\ndirectory = data", ...sections].join("\n")
    await Bun.write(file, configuration)
    withPemFiles(configuration, folder.path)
    return (await checked(file)).error?.message ?? ""
  }
  const clientCa = "tls_certificate = c.pem\ntls_key = k.pem\ntls_client_ca = ca.pem"
  const other = "[pipeline:b:WebHookSource]\npath = /b\n[pipeline:b:BrokerSink]\ntopic = b"

  test.each([
    ["nobody verifies", [source, `${sink} dead`], "verifies none; add a Verifier"],
    ["a Verifier only observes", [source, verifier("observe"), `${sink} dead`], "in mode enforce"],
    ["it is the topic", [source, verifier("enforce"), `${sink} a`], "is the topic of accepted events"],
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
