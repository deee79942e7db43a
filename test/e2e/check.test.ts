import { afterAll, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { hookline, temporaryFolder } from "../support/hookline.ts"

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())

const root = join(import.meta.dir, "../..")
const files = [
  "pipelines.conf",
  ...readdirSync(join(root, "examples"))
    .filter((name) => name.endsWith(".conf"))
    .map((name) => `examples/${name}`),
]

test.each(files)("%s is right, and check exits 0", async (file) => {
  const { status, stdout, stderr } = await hookline(["check", "-c", file])
  expect([status, stderr]).toEqual([0, ""])
  expect(stdout).toContain("The configuration is right.")
})

const VERIFICATION = `[connection:log]
directory = data

[pipeline:payments:WebHookSource]
path = /payments
[pipeline:payments:Verifier]
provider = stripe
secret = obviously-fake-1, obviously-fake-2
[pipeline:payments:BrokerSink]
topic = payments

[pipeline:alerts:WebHookSource]
path = /alerts
[pipeline:alerts:Verifier]
provider = basic
mode = observe
username = prometheus
password = obviously-fake-3
[pipeline:alerts:BrokerSink]
topic = alerts

[pipeline:partners:WebHookSource]
port = 8443
tls_certificate = node.pem
tls_key = node.key
tls_client_ca = partners.pem
[pipeline:partners:BrokerSink]
topic = partners

[pipeline:open:WebHookSource]
path = /open
[pipeline:open:BrokerSink]
topic = open
`

test("says of each pipeline whether and how it is verified, and no secret", async () => {
  const files = { "verification.conf": VERIFICATION, "node.pem": "", "node.key": "", "partners.pem": "" }
  for (const [name, text] of Object.entries(files)) await Bun.write(join(folder.path, name), text)
  const { status, stdout, stderr } = await hookline(["check", "-c", "verification.conf"], {
    cwd: folder.path,
  })
  expect([status, stderr]).toEqual([0, ""])
  expect(stdout).not.toContain("obviously-fake")
  expect(stdout.trimEnd().split("\n")).toEqual([
    "payments: 0.0.0.0:8080/payments -> topic payments; verification: stripe (hmac), mode enforce",
    "alerts: 0.0.0.0:8080/alerts -> topic alerts; verification: basic, mode observe",
    "partners: 0.0.0.0:8443/webhook -> topic partners; verification: client certificates",
    "open: 0.0.0.0:8080/open -> topic open; verification: none",
    "The configuration is right.",
  ])
})

const BROKEN = `[connection:kafka]
bootstrap_servers = localhost:9092
directory = data
sasl_pasword = obviously-fake

[pipeline:a:WebHookSource]
port = 80800
path = webhook

[pipeline:a:BrokerSink]
connection = kafak

[pipeline:b:WebHookSorce]
port = 8080

[pipeline:c:WebHookSource]
[pipeline:c:BrokerSink]
topic = c
[pipeline:d:WebHookSource]
[pipeline:d:BrokerSink]
topic = d

[service]
drain_timeout = soon
body_timeout = \${NOT_SET_ANYWHERE}
`

test("a broken file exits 78 with every error, each at its line, and no secret", async () => {
  await Bun.write(join(folder.path, "broken.conf"), BROKEN)
  for (const command of ["check", "run", "tail"]) {
    const topic = command === "tail" ? ["webhooks"] : []
    const { status, stdout, stderr } = await hookline([command, ...topic, "-c", "broken.conf"], {
      cwd: folder.path,
    })
    expect([status, stdout]).toEqual([78, ""])
    expect(stderr).not.toContain("obviously-fake")
    expect(
      stderr
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/: (?=[^[]).*/, "")),
    ).toEqual([
      "broken.conf:1: [connection:kafka]",
      "broken.conf:4: [connection:kafka] sasl_pasword",
      "broken.conf:7: [pipeline:a:WebHookSource] port",
      "broken.conf:8: [pipeline:a:WebHookSource] path",
      "broken.conf:10: [pipeline:a:BrokerSink] topic",
      "broken.conf:11: [pipeline:a:BrokerSink] connection",
      "broken.conf:13: [pipeline:b:WebHookSorce]",
      "broken.conf:19: [pipeline:d:WebHookSource] path",
      "broken.conf:24: [service] drain_timeout",
      "broken.conf:25: [service] body_timeout",
    ])
  }
})
