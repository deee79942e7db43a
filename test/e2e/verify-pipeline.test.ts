import { beforeAll, describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { join } from "node:path"
import { hookline, folderOfTests } from "../support/hookline.ts"
import { freePort, isFree } from "../support/ports.ts"
import { startDev } from "../support/running-command.ts"

// `hookline verify` with the settings of a pipeline, and asking a service that is not there.

const SECRET = "not-a-real-secret-000"
const BODY = '{"id":"evt_1"}'
const hex = (text: string, key = SECRET): string => createHmac("sha256", key).update(text).digest("hex")

const isDefaultPortFree = await isFree(9464)
const folder = folderOfTests()
const conf = join(folder.path, "pipelines.conf")
const configuration = (listen: string): string => `[connection:log]
directory = log
[admin]
listen = ${listen}
[provider:acme]
scheme = hmac
header = X-Signature
payload = {url}|{body}
[pipeline:sms:WebHookSource]
path = /sms
public_url = https://hooks.example.com
[pipeline:sms:Verifier]
provider = acme
secret = ${SECRET}
[pipeline:sms:BrokerSink]
topic = sms
[pipeline:behind:WebHookSource]
path = /behind
trusted_proxies = 10.0.0.0/8
[pipeline:behind:Verifier]
provider = acme
secret = ${SECRET}
[pipeline:behind:BrokerSink]
topic = behind
[pipeline:late:WebHookSource]
path = /late
[pipeline:late:Verifier]
provider = stripe
secret = ${SECRET}
tolerance = 24h
[pipeline:late:BrokerSink]
topic = late
[pipeline:open:WebHookSource]
host = 127.0.0.1
path = /open
[pipeline:open:BrokerSink]
topic = open
[pipeline:elsewhere:WebHookSource]
path = /elsewhere
[pipeline:elsewhere:Verifier]
provider = stripe
secret = \${HOOKLINE_TEST_NEVER_SET}
[pipeline:elsewhere:BrokerSink]
topic = elsewhere
`
beforeAll(async () => {
  await Bun.write(conf, configuration("off"))
  await Bun.write(join(folder.path, "body"), BODY)
})

const verify = (args: readonly string[]) =>
  hookline(["verify", "-c", conf, ...args], { env: { HOOKLINE_SECRET: "of-something-else-0000" } })
const captured = (pipeline: string, ...headers: string[]) => [
  "--pipeline",
  pipeline,
  "-b",
  join(folder.path, "body"),
  ...headers.flatMap((it) => ["-H", it]),
]

describe("a pipeline's own settings verify", () => {
  test("its own provider, secret and public URL, whatever other sections lack", async () => {
    const { status, stdout, stderr } = await verify(
      captured("sms", `X-Signature: ${hex(`https://hooks.example.com/sms|${BODY}`)}`),
    )
    expect(stderr).toBe("")
    expect(stdout).toContain("POST https://hooks.example.com/sms\n")
    expect(stdout).toEndWith("Result\n   The request is verified.\n")
    expect(status).toBe(0)
  })

  test("the URL that its trusted proxies forward", async () => {
    const { status } = await verify(
      captured(
        "behind",
        `X-Signature: ${hex(`https://public.example.com/behind|${BODY}`)}`,
        "Host: internal",
        "X-Forwarded-For: 192.0.2.1, 10.0.0.1",
        "X-Forwarded-Proto: https, https",
        "X-Forwarded-Host: public.example.com, inner.example.com",
      ),
    )
    expect(status).toBe(0)
  })

  test("its tolerance, which a flag overrides", async () => {
    const atS = Math.floor(Date.now() / 1000) - 3600
    const header = `Stripe-Signature: t=${atS},v1=${hex(`${atS}.${BODY}`)}`
    expect((await verify(captured("late", header))).status).toBe(0)
    const { status, stdout } = await verify([...captured("late", header), "--set", "tolerance=5m"])
    expect(status).toBe(1)
    expect(stdout).toContain("refused (stale)")
  })

  test("a secret next to it overrides its own", async () => {
    const header = `X-Signature: ${hex(`https://hooks.example.com/sms|${BODY}`, "another-secret-00000")}`
    expect((await verify(captured("sms", header))).status).toBe(1)
    expect((await verify([...captured("sms", header), "-s", "another-secret-00000"])).status).toBe(0)
  })

  test.each([
    ["smss", 64, "has no pipeline smss; did you mean sms?"],
    [
      "open",
      64,
      "pipeline open has no Verifier: it does not check who sends; name the sender with --provider",
    ],
    ["elsewhere", 78, "environment variable HOOKLINE_TEST_NEVER_SET is not set"],
  ])("%s: exit status %d", async (pipeline, status, message) => {
    const ended = await verify(captured(pipeline))
    expect(ended.stderr).toContain(message)
    expect(ended.status).toBe(status)
  })

  test("with a provider next to it, a pipeline without a Verifier will do", async () => {
    const header = `X-Hub-Signature-256: sha256=${hex(BODY)}`
    expect((await verify([...captured("open", header), "-p", "github", "-s", SECRET])).status).toBe(0)
  })
})

describe("verify --last asks the running service", () => {
  const last = async (listen: string) => {
    const file = join(folder.path, "last.conf")
    await Bun.write(file, configuration(listen))
    return hookline(["verify", "-c", file, "--last"])
  }

  test("one that has no admin listener can't be asked", async () => {
    const { status, stderr } = await last("off")
    expect(stderr).toMatch(
      /^\[admin\] listen of .* is off: the running service can't be asked; set listen = /,
    )
    expect(status).toBe(69)
  })

  test("one that does not run does not answer", async () => {
    const address = `127.0.0.1:${await freePort()}`
    const { status, stderr } = await last(address)
    expect(stderr).toStartWith(`no Hookline answers at ${address}, the [admin] listen of `)
    expect(stderr).toContain("(connection refused)")
    expect(status).toBe(69)
  })

  // another Hookline of this machine has the default port
  test.skipIf(!isDefaultPortFree)(
    "without a file, the hookline dev at the default address, from any folder",
    async () => {
      const args = ["-p", "github", "--port", `${await freePort()}`]
      const elsewhere = folder.make("elsewhere")
      const none = await hookline(["verify", "--last"], { cwd: elsewhere })
      expect(none.stderr).toMatch(/^no Hookline answers at 127\.0\.0\.1:9464, the default address, /)
      await using dev = await startDev(args, folder.make("dev"))
      const [, url] = /Post to +(\S+)/.exec(dev.output())!
      expect((await fetch(url!, { method: "POST", body: "{}" })).status).toBe(401)
      const { status, stdout } = await hookline(["verify", "--last"], { cwd: elsewhere })
      expect([status, stdout]).toEqual([
        1,
        expect.stringContaining("The request has no X-Hub-Signature-256."),
      ])
    },
  )

  test("another program there is distinguished from it", async () => {
    await using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("hello") })
    const { status, stderr } = await last(server.url.host)
    expect(stderr).toContain("answered /api/captures/last with 200, not as this version of Hookline does")
    expect(status).toBe(69)
  })

  test("a captured request is not given", async () => {
    const { status, stderr } = await verify(["--last", "-H", "A: b"])
    expect(stderr).toContain("option '--last' cannot be used with option '-H, --header <header>'")
    expect(status).toBe(64)
  })
})
