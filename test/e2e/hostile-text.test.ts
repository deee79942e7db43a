import { expect, test } from "bun:test"
import { join } from "node:path"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { hookline, startHookline, temporaryFolder } from "../support/hookline.ts"

// What a sender writes into an event, a header or an answer must not drive the terminal of the operator who looks at it.

/** As JSON text: DEL, a C1 sequence, text that is turned around. Escape itself can't stand in JSON as it is. */
const EVENT = '{"id":1,"note":"\u007f\u009b2J\u202eevil\u2066"}'
const DRIVING = "\u001b[2J\u001b]0;title\u0007\u009b31m\rover"
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/

test("tail escapes control characters, within the same JSON value, and writes bytes where raw is asked for", async () => {
  using folder = temporaryFolder()
  await using running = await startHookline(
    `[connection:log]
directory = log
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:Validator]
[pipeline:webhooks:Verifier]
provider = token
header = X-Token
secret = s
[pipeline:webhooks:BrokerSink]
topic = webhooks
dead_letter_topic = refused`,
    { folder: folder.path },
  )
  try {
    const post = async (body: string | Uint8Array): Promise<number> =>
      (await fetch(running.urls["webhooks"]!, { method: "POST", body, headers: { "X-Token": "s" } })).status
    expect(await post(EVENT)).toBe(200)
    const notJson = Buffer.concat([Buffer.from(DRIVING), Buffer.from([0x9b, 0xff])])
    expect(await post(notJson)).toBe(400)
    const conf = ["-c", join(folder.path, "pipelines.conf")]

    const values = await hookline(["tail", "webhooks", ...conf])
    expect(values.stdout).not.toMatch(CONTROLS)
    const reader = openEmbeddedReader(join(folder.path, "log"))
    const records = await Array.fromAsync(
      readTopic(reader, "webhooks", {
        from: "beginning",
        follow: false,
        signal: new AbortController().signal,
      }),
    )
    await reader.close()
    const value = Buffer.from(records[0]!.value).toString()
    expect(value).toMatch(CONTROLS)
    expect(JSON.parse(values.stdout)).toEqual(JSON.parse(value))
    expect((await hookline(["tail", "webhooks", "--format", "raw", ...conf])).stdout).toBe(`${value}\n`)

    const json = await hookline(["tail", "webhooks", "--format", "json", ...conf])
    expect(json.stdout).not.toMatch(CONTROLS)
    expect((JSON.parse(json.stdout) as { value: object }).value).toEqual(JSON.parse(value))

    const refused = await hookline(["tail", "refused", ...conf])
    expect(refused.stdout).not.toMatch(CONTROLS)
    expect(refused.stdout).toContain("\\u001b[2J")
  } finally {
    await running.stop()
  }
  expect(running.output()).not.toMatch(CONTROLS)
})

test("verify escapes what a captured request has, and send what a server answers", async () => {
  using folder = temporaryFolder()
  const body = join(folder.path, "body")
  await Bun.write(body, DRIVING)
  const flags = ["-p", "github", "-s", "s", "-b", body, "-H", "X-Hub-Signature-256: sha256=\u009b31m\u0085"]
  const explained = await hookline([
    "verify",
    ...flags,
    "-u",
    `https://example.com/\u001b[2J\u009b`,
    "-X",
    "P\u001bOST",
  ])
  expect(explained.stdout).toContain("refused")
  expect(explained.stdout + explained.stderr).not.toMatch(CONTROLS)

  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(DRIVING, { status: 500 }),
  })
  const sent = await hookline(["send", server.url.href])
  expect(sent.stdout).toContain("first error: 500: \\u001b[2J")
  expect(sent.stdout + sent.stderr).not.toMatch(CONTROLS)
})
