import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import type { RecordPage, RecordDetail } from "../../src/admin/api/shapes.ts"
import { brokerSink, Pipeline, testPipeline, validator, verifier, webHookSource } from "../../src/index.ts"
import { hookline, folderOfTests, startHookline } from "../support/hookline.ts"
import { kafkaAddressOf, kcat } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"

const SECRET = "not-a-real-secret-0000000000"
const BODY = '{"action":"opened"}'
const SIGNATURE = `sha256=${createHmac("sha256", SECRET).update(BODY).digest("hex")}`
const folder = folderOfTests()

const CONFIGURATION = `
[connection:log]
directory = log
kafka_listen = 127.0.0.1:0
[pipeline:hooks:WebHookSource]
[pipeline:hooks:Verifier]
provider = github
secret = ${SECRET}
[pipeline:hooks:Router]
by = event:type
unsigned = true
pull_request = pulls
[pipeline:hooks:BrokerSink]
topic = hooks
`

test("two GitHub events of one body and different kinds are told apart by tail, kcat, the page's API and a Router", async () => {
  await using running = await startHookline(CONFIGURATION, { folder: folder.path })
  const post = async (kind: string): Promise<number> => {
    const headers = {
      "X-Hub-Signature-256": SIGNATURE,
      "X-GitHub-Event": kind,
      "X-GitHub-Delivery": `d-${kind}`,
    }
    return (await fetch(running.urls["hooks"]!, { method: "POST", body: BODY, headers })).status
  }
  expect([await post("issues"), await post("star"), await post("pull_request")]).toEqual([200, 200, 200])

  const tailed = async (topic: string): Promise<unknown[]> => {
    const { stdout } = await hookline(["tail", topic, "--format", "json"], { cwd: folder.path })
    return stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { headers: unknown }).headers)
  }
  const headersOf = (kind: string) => [
    ["x-github-delivery", `d-${kind}`],
    ["x-github-event", kind],
  ]
  expect(await tailed("hooks")).toEqual([headersOf("issues"), headersOf("star")])
  expect(await tailed("pulls")).toEqual([headersOf("pull_request")])
  const only = await hookline(["tail", "hooks", "--where", "header:X-GitHub-Event=star"], {
    cwd: folder.path,
  })
  expect(only.stdout.trim().split("\n")).toHaveLength(1)

  const page = await fetch(`${running.adminUrl}/api/records?connection=log&topic=hooks`)
  const { records } = (await page.json()) as RecordPage
  expect(records.map(({ type, event_id }) => [type, event_id]).toSorted()).toEqual([
    ["issues", "d-issues"],
    ["star", "d-star"],
  ])

  if (!hasKcat()) return
  const { stdout } = await kcat(await kafkaAddressOf(running), "-C", "-t", "hooks", "-e", "-f", "%h\n")
  expect(stdout.trim().split("\n")).toEqual(
    ["issues", "star"].map((it) => `x-github-delivery=d-${it},x-github-event=${it}`),
  )
})

test("credentials in record headers are masked by tail and the page's API", async () => {
  const text = `
[connection:log]
directory = masked
[pipeline:hooks:WebHookSource]
[pipeline:hooks:BrokerSink]
topic = hooks
headers = a=header:X-A, x-signature=header:X-Signature
`
  await using running = await startHookline(text, { folder: folder.path })
  const headers = { "X-A": "Bearer not-a-real-token-000", "X-Signature": "0123456789abcdef0123456789abcdef" }
  expect((await fetch(running.urls["hooks"]!, { method: "POST", body: "{}", headers })).status).toBe(200)
  const shown = ["Bearer (20 characters)", "012345...(32 characters)"]
  const { stdout } = await hookline(["tail", "hooks", "--format", "json"], { cwd: folder.path })
  expect(JSON.parse(stdout).headers.map(([, value]: string[]) => value)).toEqual(shown)
  const record = await fetch(`${running.adminUrl}/api/records/log/hooks/0/0`)
  expect(((await record.json()) as RecordDetail).headers.map(({ value }) => value)).toEqual(shown)
})

type SinkOptions = Parameters<typeof brokerSink>[0]

/** The headers of the record that a GitHub event gets. */
async function kept(
  options: Partial<SinkOptions>,
  sent: { [name: string]: string } = {},
  provider = "github",
) {
  const given = provider === "github" ? { secret: SECRET } : { secret: "t0ken-t0ken-t0ken" }
  const pipeline = new Pipeline("p", {
    source: webHookSource({ host: "127.0.0.1" }),
    processors: [verifier({ provider, ...given } as Parameters<typeof verifier>[0]), validator()],
    sink: brokerSink({ topic: "t", ...options }),
  })
  const headers = {
    "X-Hub-Signature-256": SIGNATURE,
    "X-Gitlab-Token": "t0ken-t0ken-t0ken",
    "X-GitHub-Event": "push",
    ...sent,
  }
  const { status, records } = await testPipeline(pipeline, BODY, { headers })
  expect(status).toBe(200)
  return Object.fromEntries(records[0]!.headers.map(([name, value]) => [name, Buffer.from(value).toString()]))
}

test("headers = none keeps none, and a list keeps exactly what it names", async () => {
  expect(await kept({ headers: ["none"] })).toEqual({})
  expect(await kept({ headers: ["kind=header:X-GitHub-Event"] })).toEqual({ kind: "push" })
})

test("headers = * keeps all but those of the connection, credentials and Hookline's own names", async () => {
  const sent = {
    "X-Other": "1",
    Authorization: "Bearer not-a-real-token-000",
    Cookie: "a=b",
    "X-Carries": "ghp_0123456789abcdef",
    "Keep-Alive": "x",
    "received-source": "forged",
    Source: "forged",
  }
  const names = Object.keys(await kept({ headers: ["*"] }, sent))
  expect(
    names.filter((name) => !["accept", "accept-encoding", "host", "user-agent"].includes(name)).toSorted(),
  ).toEqual(["x-github-event", "x-hub-signature-256", "x-other"])
  expect(await kept({ headers: ["*"] }, {}, "gitlab")).not.toHaveProperty("x-gitlab-token")
})

test("of all headers at most 64 are kept", async () => {
  const sent = Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`X-${n}`, "1"]))
  expect(Object.keys(await kept({ headers: ["*"] }, sent))).toHaveLength(64)
})

test.each([
  [{ headers: ["*", "a=path"] }, "headers: * is the whole value; remove it, or the others"],
  [
    { headers: ["a=header:X-Gitlab-Token"] },
    "x-gitlab-token is the secret that gitlab sends, which no record may contain",
  ],
] as const)("%j is refused", async (options, problem) => {
  await expect(kept(options as Partial<SinkOptions>, {}, "gitlab")).rejects.toThrow(problem)
})
