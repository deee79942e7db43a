import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { join } from "node:path"
import { jwtVerify } from "jose"
import { readTopic } from "../../src/brokers/read-topic.ts"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"
import { kafkaOptions, openTestBroker, until } from "../support/kafka-options.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, startKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"
import { AUDIENCE, startTokenServer, takesTokens, type TokenServer } from "../support/token-server.ts"
import { newRsaKey } from "../support/rsa-keys.ts"

/** Authenticated again after 0.8 of it: the rest is what a busy machine may be late by. */
const REAUTHENTICATE_MS = 8000
const SECRET = "obviously-fake secret/of a client"

describe.skipIf(!(await canStartKafka()) || !hasKcat())("a Kafka that wants access tokens", () => {
  const folder = temporaryFolder()
  let tokens: TokenServer
  let kafka: OwnKafka
  let proxy: Proxy

  beforeAll(async () => {
    tokens = await startTokenServer()
    proxy = await openProxy()
    kafka = await startKafka({
      listeners: { OAUTH: "SASL_PLAINTEXT" },
      advertised: { OAUTH: proxy.address },
      ...takesTokens("oauth", tokens, REAUTHENTICATE_MS),
    })
    proxy.target = kafka.listener("OAUTH")[0]
  })
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.[Symbol.asyncDispose]()
    await tokens?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  beforeEach(() => {
    tokens.lifetimeS = 300
    tokens.audience = AUDIENCE
    tokens.refuses = undefined
    tokens.most = 0
  })

  const oauth = (more: Partial<KafkaOptions> = {}): Partial<KafkaOptions> => ({
    security_protocol: "sasl_plaintext",
    sasl_mechanism: "OAUTHBEARER",
    sasl_oauth_token_endpoint: tokens.tokenUrl,
    sasl_oauth_client_id: "hook line",
    sasl_oauth_client_secret: SECRET,
    sasl_oauth_scope: "kafka write",
    sasl_oauth_extensions: [["logicalCluster", "lkc-1"]],
    ...more,
  })
  const open = (more?: Partial<KafkaOptions>) =>
    openTestBroker({ bootstrapServers: [proxy.address] }, oauth(more))
  const publish = (broker: ReturnType<typeof open>, topic: string, text = "v") =>
    broker.publish({ topic, value: Buffer.from(text) }, steadyMs() + PATIENT_MS)
  async function topicOf(): Promise<string> {
    const topic = freshTopic("oauth")
    await createTopic(kafka, topic)
    return topic
  }

  test("is published to and read by the client's credentials", async () => {
    const topic = await topicOf()
    const before = tokens.requests.length
    await using broker = open()
    await publish(broker, topic)
    expect(await readWithKcat(kafka, topic)).toHaveLength(1)
    expect(tokens.isVerified).toBe(true)
    expect(tokens.requests).toHaveLength(before + 1)
    const { headers, body } = tokens.requests.at(-1)!
    // RFC 6749, section 2.3.1: both are encoded as in a form first
    const basic = Buffer.from("hook+line:obviously-fake+secret%2Fof+a+client").toString("base64")
    expect(headers.get("authorization")).toBe(`Basic ${basic}`)
    expect(Object.fromEntries(body)).toEqual({ grant_type: "client_credentials", scope: "kafka write" })
    const reader = openKafkaReader(kafkaOptions([proxy.address], oauth()))
    const { signal } = new AbortController()
    const read = await Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
    expect(read.map(({ value }) => Buffer.from(value).toString())).toEqual(["v"])
    await reader.close()
  })

  test.each([
    ["RS256", () => newRsaKey()],
    ["ES256", () => generateKeyPairSync("ec", { namedCurve: "prime256v1" })],
    ["EdDSA", () => generateKeyPairSync("ed25519")],
  ])("is published to by an assertion signed with %s", async (alg, generate) => {
    const { publicKey, privateKey } = generate() as { publicKey: KeyObject; privateKey: KeyObject }
    const file = join(folder.path, `${alg}.pem`)
    await Bun.write(file, privateKey.export({ type: "pkcs8", format: "pem" }))
    await using broker = open({
      sasl_oauth_client_secret: undefined,
      sasl_oauth_assertion_key: file,
      sasl_oauth_assertion_key_id: "key of mine",
    })
    await publish(broker, await topicOf())
    const { headers, body } = tokens.requests.at(-1)!
    expect(headers.has("authorization")).toBe(false)
    expect(body.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    const { payload, protectedHeader } = await jwtVerify(body.get("client_assertion")!, publicKey, {
      issuer: "hook line",
      subject: "hook line",
      audience: tokens.tokenUrl,
      requiredClaims: ["jti", "iat", "exp"],
    })
    expect(protectedHeader).toMatchObject({ alg, kid: "key of mine" })
    expect(payload.exp! - payload.iat!).toBeLessThanOrEqual(120)
  })

  test("is published to on the same connections while they authenticate again and again, with tokens renewed one at a time", async () => {
    const topic = await topicOf()
    // a broker lets no client authenticate twice a second, and a session ends with its token
    tokens.lifetimeS = 20
    const before = tokens.requests.length
    await using broker = open()
    await publish(broker, topic)
    const opened = proxy.opened
    const beganMs = steadyMs()
    let count = 1
    const publishAll = async (): Promise<void> => {
      while (steadyMs() < beganMs + 2.5 * REAUTHENTICATE_MS || tokens.requests.length < before + 3)
        await publish(broker, topic, `${count++}`)
    }
    await Promise.all(Array.from({ length: 8 }, publishAll))
    tokens.lifetimeS = 300
    expect(new Set((await readWithKcat(kafka, topic)).map(({ value }) => value.toString())).size).toBe(count)
    expect(proxy.opened).toBe(opened)
    // each is renewed after 0.7 of its lifetime
    expect(tokens.requests.length - before).toBeLessThan(3 + (steadyMs() - beganMs) / 8000)
    expect(tokens.most).toBe(1)
    expect(broker.log.filter(({ level }) => level !== "info")).toEqual([])
  })

  test("is read without a gap while the reader authenticates again", async () => {
    const topic = await topicOf()
    const abort = new AbortController()
    const reader = openKafkaReader(kafkaOptions([proxy.address], oauth()))
    const reading = (async () => {
      const ranges = [{ partition: 0, first: 0, end: Number.POSITIVE_INFINITY }]
      const values: string[] = []
      for await (const { value } of reader.read(topic, ranges, { retries: false, signal: abort.signal })) {
        values.push(Buffer.from(value).toString())
        if (values.at(-1) === "last") abort.abort()
      }
      return values
    })()
    await using broker = open()
    await publish(broker, topic, "first")
    await Bun.sleep(4 * REAUTHENTICATE_MS)
    await publish(broker, topic, "last")
    expect(await reading).toEqual(["first", "last"])
    await reader.close()
  })

  test("is published to with the current token while the token endpoint fails, and with the next once it recovers", async () => {
    const topic = await topicOf()
    tokens.lifetimeS = 16
    await using broker = open()
    await publish(broker, topic)
    tokens.refuses = { status: 503, body: "busy" }
    await until("logged", () => broker.log.some(({ msg }) => msg === "access token not renewed; retrying"))
    const asked = tokens.requests.length
    const loggedMs = steadyMs()
    let published = 0
    for (; steadyMs() < loggedMs + 600; published++) await publish(broker, topic)
    // back-off: not once for each event or connection
    const elapsedMs = steadyMs() - loggedMs
    expect(published).toBeGreaterThan(0)
    expect(tokens.requests.length - asked).toBeLessThanOrEqual(2 + elapsedMs / 600)
    // the broker may close the session first: the token's end is in whole seconds
    const expired = /^Kafka unavailable: token endpoint http:\S+\/token: HTTP 503$/
    await until("not ready", () => expired.test(String(broker.ready())))
    tokens.lifetimeS = 300
    tokens.refuses = undefined
    await publish(broker, topic)
    await until("renewal is logged", () => broker.log.some(({ msg }) => msg === "access token renewed"))
    const texts = broker.log.filter(({ level }) => level !== "info").map(({ msg }) => msg)
    expect(new Set(texts)).toEqual(
      new Set(["access token not renewed; retrying", "Kafka unavailable; retrying"]),
    )
  })

  test("says that the token endpoint refuses the client, without secrets", async () => {
    tokens.refuses = {
      status: 401,
      body: JSON.stringify({ error: "invalid_client", error_description: "unknown\nclient" }),
    }
    await using broker = open()
    await until("a reason", () => /HTTP/.test(String(broker.ready())))
    tokens.refuses = undefined
    expect(broker.ready()).toBe(
      `Kafka unavailable: token endpoint ${tokens.tokenUrl}: HTTP 401: invalid_client (unknown client)`,
    )
    expect(JSON.stringify(broker.log)).not.toContain("obviously-fake")
  })

  test("a token that the brokers reject is named as such, and replaced by the next", async () => {
    tokens.audience = "somebody else"
    await using broker = open()
    await until("a reason", () => /authentication failed/.test(String(broker.ready())))
    expect(broker.ready()).toContain("the broker rejects the access token: compare its issuer, audience")
    tokens.audience = AUDIENCE
    await publish(broker, await topicOf())
  })

  test("check --connect says what the token endpoint answers", async () => {
    const connection = (url: string) => `[connection:kafka]
bootstrap_servers = ${proxy.address}
security_protocol = sasl_plaintext
sasl_mechanism = OAUTHBEARER
sasl_oauth_token_endpoint = ${url}
sasl_oauth_client_id = hookline
sasl_oauth_client_secret = \${SECRET}
[pipeline:a:WebHookSource]
[pipeline:a:BrokerSink]
topic = t
[admin]
listen = off
`
    const check = async (url: string) => {
      await Bun.write(join(folder.path, "pipelines.conf"), connection(url))
      const env = { SECRET: "obviously-fake" }
      return hookline(["check", "--connect"], { cwd: folder.path, env })
    }
    const { status, stdout } = await check(tokens.tokenUrl)
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringContaining(`token endpoint ${tokens.tokenUrl}: a token for 300 s\n`),
    })
    expect(stdout).toContain(`connection kafka: ${proxy.address} answers`)
    // no timer of a session or a token keeps it
    const topics = await hookline(["topics"], { cwd: folder.path, env: { SECRET: "obviously-fake" } })
    expect(topics.status).toBe(0)
    const nowhere = `http://127.0.0.1:${await freePort()}/token`
    const failed = await check(nowhere)
    expect(failed.status).toBe(69)
    expect(failed.stdout).toContain(`connection kafka: token endpoint ${nowhere}: connection refused`)
  })
})
