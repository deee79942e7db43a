import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { exportJWK, SignJWT } from "jose"
import { mskIam } from "../../src/brokers/kafka/auth/msk-iam.ts"
import { tokenEndpoint } from "../../src/brokers/kafka/auth/token-endpoint.ts"
import { SchemaRegistry } from "../../src/components/broker-sink/schema-registry.ts"
import { cases } from "../support/cases.ts"
import { fillLog } from "../support/embedded-log.ts"
import {
  PROXY_PASSWORD,
  proxyEnvironment,
  startForwardProxy,
  type ForwardProxy,
} from "../support/forward-proxy.ts"
import { hookline, startHookline, folderOfTests, temporaryFolder } from "../support/hookline.ts"
import { kafkaOptions } from "../support/kafka-options.ts"
import { freePort, freePorts } from "../support/ports.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand, startDev } from "../support/running-command.ts"
import { startTokenServer } from "../support/token-server.ts"
import { newRsaKey } from "../support/rsa-keys.ts"

// HTTP_PROXY and its kin in the environment: this machine is reached directly, everything else through the proxy.

const folder = folderOfTests()

const TOKEN = "obviously-fake-admin-token"
let proxy: ForwardProxy
const receiver = new Receiver()
const receiverPort = Number(new URL(receiver.url).port)
let hosts: { [host: string]: number } = {}
beforeEach(async () => {
  hosts = { "app.test": receiverPort }
  receiver.all.length = 0
  proxy = await startForwardProxy(hosts)
})
afterEach(() => proxy[Symbol.asyncDispose]())
afterAll(() => receiver[Symbol.asyncDispose]())

/** An environment in which all variables name one proxy, in both cases. */
const everywhere = (value: string): { [name: string]: string } =>
  Object.fromEntries(
    ["http_proxy", "https_proxy", "all_proxy"].flatMap((name) => [
      [name, value],
      [name.toUpperCase(), value],
    ]),
  )

const VALUES: readonly (readonly [name: string, value: () => string])[] = [
  ["a proxy", () => proxy.url],
  ["a proxy that is down", () => "http://127.0.0.1:1"],
  ["a malformed value", () => "http://[::1"],
  ["a kind of proxy that is not supported", () => "socks5://127.0.0.1:1"],
]

describe.each(VALUES.slice(0, cases(VALUES.length)))("with %s in the environment", (_, value) => {
  test("health, send and verify --last reach it directly", async () => {
    const env = { ...everywhere(value()), TOKEN }
    const [port, adminPort] = await freePorts(2)
    const configuration = `[connection:log]
bootstrap_servers = 127.0.0.1:1
delivery_timeout = 100ms
[pipeline:hooks:WebHookSource]
port = ${port}
[pipeline:hooks:Verifier]
provider = token
header = X-Token
secret = not-a-real-secret
[pipeline:hooks:BrokerSink]
topic = hooks
[admin]
listen = 127.0.0.1:${adminPort}
token = \${TOKEN}
`
    using at = temporaryFolder()
    await using running = await startHookline(configuration, { folder: at.path, env })
    const run = (...args: string[]) => hookline(args, { cwd: at.path, env })
    expect(await run("health")).toMatchObject({ stdout: "ok\n", status: 0 })
    const url = running.urls["hooks"]!
    expect((await run("send", "-H", "X-Token: not-a-real-secret", url)).stdout).toContain("1 x 503")
    expect((await run("send", "-H", "X-Token: wrong", url)).stdout).toContain("1 x 401")
    const last = await run("verify", "--last")
    expect(last.stderr).toBe("")
    expect(last.stdout).toContain("answered 401 (unverified_no_match)")
    expect(proxy.requests).toEqual([])
  })

  test("dev forwards to this machine directly", async () => {
    using at = temporaryFolder()
    const [port, adminPort] = await freePorts(2)
    await using dev = await startDev(
      ["--port", `${port}`, "--admin-port", `${adminPort}`, "--forward", receiver.url],
      at.path,
      { env: everywhere(value()) },
    )
    await fetch(`http://127.0.0.1:${port}/webhook`, { method: "POST", body: "{}" })
    await dev.printed(/-> \S+ 200 in/)
    expect(receiver.all).toHaveLength(1)
    expect(proxy.requests).toEqual([])
  })
})

describe("requests to other machines", () => {
  const { publicKey, privateKey } = newRsaKey()
  const configuration = `[connection:log]
directory = log
[pipeline:hooks:WebHookSource]
[pipeline:hooks:Verifier]
provider = jwt
jwks_url = http://keys.test/keys
[pipeline:hooks:BrokerSink]
topic = hooks
[traces]
endpoint = http://collector.test:4318
`
  const post = async (url: string): Promise<number> => {
    const token = await new SignJWT({})
      .setProtectedHeader({ alg: "RS256", kid: "k" })
      .setIssuedAt()
      .setExpirationTime("5m")
      .sign(privateKey)
    const headers = { Authorization: `Bearer ${token}` }
    return (await fetch(url, { method: "POST", body: "{}", headers })).status
  }

  test("keys of tokens and traces go through the proxy", async () => {
    const jwk = { ...(await exportJWK(publicKey)), kid: "k", alg: "RS256" }
    await using keys = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.json({ keys: [jwk] }),
    })
    const traced = Promise.withResolvers<string>()
    await using collector = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch({ url }) {
        traced.resolve(new URL(url).pathname)
        return new Response()
      },
    })
    Object.assign(hosts, { "keys.test": keys.port, "collector.test": collector.port })
    await using running = await startHookline(configuration, {
      folder: folder.make("proxied"),
      env: { HTTP_PROXY: proxy.url },
    })
    expect(await post(running.urls["hooks"]!)).toBe(200)
    expect(await traced.promise).toBe("/v1/traces")
    expect(proxy.requests).toEqual(["GET http://keys.test/keys", "POST http://collector.test:4318/v1/traces"])
    expect(running.output()).not.toContain(PROXY_PASSWORD)
  })

  test("a proxy that is down is named where keys and traces fail, without its credentials", async () => {
    const down = `127.0.0.1:${await freePort()}`
    await using running = await startHookline(configuration, {
      folder: folder.make("down"),
      env: { HTTP_PROXY: `http://user:${PROXY_PASSWORD}@${down}` },
    })
    expect(await post(running.urls["hooks"]!)).toBe(503)
    const expected = `connection refused, through the proxy http://${down} (HTTP_PROXY)`
    await running.logged(({ reason }) => reason === expected)
    const refused = await running.logged(({ reason }) => reason === "unverified_keys_unavailable")
    expect(refused["detail"]).toBe(`fetching the keys failed: ${expected}`)
    expect(running.output()).not.toContain(PROXY_PASSWORD)
  })

  test("replayed records are posted through the proxy, and a replay that waits names it", async () => {
    const at = folder.make("replay")
    writeFileSync(join(at, "pipelines.conf"), "[connection:log]\ndirectory = log\n")
    await fillLog(join(at, "log"), "hooks", [{ value: Buffer.from("{}") }])
    const replay = (env: { [name: string]: string }) =>
      hookline(["replay", "--from", "log/hooks", "--to", "http://app.test/hook"], { cwd: at, env })
    expect(await replay({ HTTP_PROXY: proxy.url })).toMatchObject({ status: 0 })
    expect(receiver.all).toHaveLength(1)
    expect(proxy.requests).toEqual(["POST http://app.test/hook"])

    const down = `127.0.0.1:${await freePort()}`
    const args = ["replay", "--from", "log/hooks", "--to", "http://app.test/other"]
    await using waiting = startCommand(args, at, {
      env: { HTTP_PROXY: `http://user:${PROXY_PASSWORD}@${down}` },
    })
    await waiting.printed(/\n/)
    expect(waiting.output()).toBe(
      `waiting: connection refused, through the proxy http://${down} (HTTP_PROXY)\n`,
    )
  })

  test("the Schema Registry, the token endpoint and AWS's token service are asked through the proxy", async () => {
    await using registry = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.json({ id: 1, version: 1, schema: "{}", schemaType: "JSON" }),
    })
    await using tokens = await startTokenServer()
    await using sts = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(ASSUMED) })
    const tokensPort = Number(new URL(tokens.tokenUrl).port)
    Object.assign(hosts, { "registry.test": registry.port, "idp.test": tokensPort, "sts.test": sts.port })
    writeFileSync(join(folder.path, "identity"), "obviously.fake.token")
    const aws = {
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder.path, "identity"),
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/hookline",
      AWS_ENDPOINT_URL_STS: "http://sts.test/",
      AWS_CONFIG_FILE: "/dev/null",
      AWS_SHARED_CREDENTIALS_FILE: "/dev/null",
    }
    using _ = proxyEnvironment({ HTTP_PROXY: proxy.url, ...aws })
    try {
      const access = { url: "http://registry.test/", username: undefined, password: undefined, ca: undefined }
      const schema = await new SchemaRegistry(access).latest("s", undefined, () => {})
      expect(schema.id).toBe(1)
      const oauth = kafkaOptions(["127.0.0.1:1"], {
        sasl_oauth_token_endpoint: "http://idp.test/token",
        sasl_oauth_client_id: "hookline",
        sasl_oauth_client_secret: "obviously-fake",
      })
      expect((await tokenEndpoint(oauth).issue()).lifetimeMs).toBe(300_000)
      await mskIam(kafkaOptions(["127.0.0.1:1"], { sasl_aws_region: "eu-west-1" })).issue()
    } finally {
      for (const name of Object.keys(aws)) delete process.env[name]
    }
    expect(proxy.requests).toEqual([
      "GET http://registry.test/subjects/s/versions/latest",
      "POST http://idp.test/token",
      "POST http://sts.test/?",
    ])
  })
})

/** What AWS's token service answers. */
const ASSUMED = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>AKIAOBVIOUSLYFAKE</AccessKeyId><SecretAccessKey>obviously-fake</SecretAccessKey><SessionToken>obviously-fake</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`

test("check names the proxies of the environment, without credentials, and warns of one that is unusable", async () => {
  const file = join(folder.path, "check.conf")
  writeFileSync(
    file,
    "[connection:log]\ndirectory = log\n[pipeline:a:WebHookSource]\n[pipeline:a:BrokerSink]\ntopic = a\n",
  )
  const check = (...args: string[]) =>
    hookline(["check", "-c", file, ...args], {
      env: {
        HTTPS_PROXY: `http://user:${PROXY_PASSWORD}@proxy.test:3128`,
        HTTP_PROXY: `user:${PROXY_PASSWORD}@:3128`,
        NO_PROXY: ".svc, 10.0.0.0/8",
      },
    })
  const { stdout, stderr, status } = await check()
  expect(status).toBe(0)
  expect(stdout).toContain(
    "\nproxy for https requests to other machines: http://proxy.test:3128 (HTTPS_PROXY), except to .svc, 10.0.0.0/8 (NO_PROXY)\n",
  )
  expect(stderr).toContain("warning: HTTP_PROXY in the environment is not the URL of an HTTP proxy; ")
  expect(stdout + stderr).not.toContain(PROXY_PASSWORD)
  expect(JSON.parse((await check("--json")).stdout)).toMatchObject({
    proxies: [
      { scheme: "http", problem: expect.stringContaining("HTTP_PROXY") },
      { scheme: "https", proxy: "http://proxy.test:3128 (HTTPS_PROXY)" },
    ],
  })
})
