import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import {
  hookline,
  reload,
  startHookline,
  temporaryFolder,
  type RunningHookline,
} from "../support/hookline.ts"
import { LATE_MS } from "../support/findings.ts"
import { canConsumeJsonSchema, consumeJsonSchema } from "../support/json-schema-consumer.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { kafkaAddressOf } from "../support/kafka-clients.ts"
import { canStartKafka, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { canStartRegistry, startRegistry, type TestRegistry } from "../support/registry-app.ts"

const USERNAME = "hookline"
const PASSWORD = "obviously-fake: pässword"
const DELIVERY_TIMEOUT_MS = 10_000
/** What is answered at once is, on a busy machine. */
const AT_ONCE_MS = DELIVERY_TIMEOUT_MS / 2
const schema = (amount: string) => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  type: "object",
  required: ["amount"],
  properties: { amount: { type: amount } },
})

const available = (await canStartKafka()) && hasKcat() && canStartRegistry()
const hasDeserializer = available && (await canConsumeJsonSchema())
describe.skipIf(!available)("a Schema Registry behind https and a password", () => {
  const folder = temporaryFolder()
  let certificates: Certificates
  let registry: TestRegistry
  let front: RegistryFront
  let id: number

  beforeAll(async () => {
    certificates = await makeCertificates(join(folder.path, "certificates"))
    registry = await startRegistry()
    const { certificate, key } = certificates.server
    front = startRegistryFront(registry.url, { certificate, key, username: USERNAME, password: PASSWORD })
    id = await registry.register("payments-value", schema("integer"))
  })
  beforeEach(() => {
    front.behaviour = "pass"
  })
  afterAll(async () => {
    await front[Symbol.asyncDispose]()
    await registry.stop()
    folder[Symbol.dispose]()
  })

  const configuration = (connection: string, topic = "payments") => `[connection:only]
${connection}
delivery_timeout = ${DELIVERY_TIMEOUT_MS}ms
[pipeline:payments:WebHookSource]
[pipeline:payments:BrokerSink]
topic = ${topic}
value_format = json-schema
registry_url = ${front.url}
registry_refresh = 100ms
registry_username = ${USERNAME}
registry_password = \${PASSWORD}
registry_ca_location = ${certificates.ca}
`
  const start = (text: string, at = folder.path): Promise<RunningHookline> =>
    startHookline(text, { folder: at, env: { PASSWORD } })
  const send = async (running: RunningHookline, body = '{"amount":1}') => {
    const before = steadyMs()
    const response = await fetch(running.urls["payments"]!, { method: "POST", body })
    await response.text()
    return { status: response.status, ms: steadyMs() - before }
  }
  const readiness = async ({ adminUrl }: RunningHookline): Promise<string> => {
    const response = await fetch(`${adminUrl}/readyz`)
    return `${response.status} ${await response.text()}`
  }
  const inUse = (running: RunningHookline, schemaId = id) =>
    running.logged(({ msg, schema_id }) => msg === "schema in use" && schema_id === schemaId)

  test.skipIf(!hasDeserializer)(
    "records of the embedded log are read by Confluent's deserializer, from there by its listener",
    async () => {
      const at = folder.make("embedded")
      await using running = await start(configuration("directory = log\nkafka_listen = 127.0.0.1:0"), at)
      expect(await send(running, '{"amount": 12}')).toMatchObject({ status: 200 })
      expect(await send(running, '{"amount":"12"}')).toMatchObject({ status: 400 })
      expect(await send(running, '{"amount":13,"é":null}')).toMatchObject({ status: 200 })
      const bootstrap = await kafkaAddressOf(running)
      const [record] = await readWithKcat({ bootstrapServers: [bootstrap] }, "payments")
      expect([record!.value[0], record!.value.readUInt32BE(1)]).toEqual([0, id])
      const read = await consumeJsonSchema({
        bootstrap,
        topic: "payments",
        count: 2,
        registry: {
          url: front.url,
          "basic.auth.user.info": `${USERNAME}:${PASSWORD}`,
          "ssl.ca.location": certificates.ca,
        },
      })
      expect(read).toMatchObject([
        { amount: 12, source: "webhook" },
        { amount: 13, é: null },
      ])
      expect(front.passed).toContain(`/apis/ccompat/v7/schemas/ids/${id}`)
      const file = join(at, "pipelines.conf")
      const tailed = await hookline(["tail", "payments", "--format", "json", "-c", file], {
        env: { PASSWORD },
      })
      expect(tailed.stdout.split("\n")[0]).toContain('"value":{"amount": 12,')
      expect(running.output()).not.toContain("pässword")
    },
  )

  test.each<[string, (text: string) => string, string]>([
    [
      "a password that is wrong",
      (text) => text.replace("= ${PASSWORD}", "= wrong"),
      "HTTP 401; check registry_username and registry_password",
    ],
    [
      "no password",
      (text) => text.replace(/^registry_(username|password) .*$/gm, ""),
      "HTTP 401; check registry_username and registry_password",
    ],
    [
      "the public CAs",
      (text) => text.replace(/^registry_ca_location .*$/m, ""),
      "; set registry_ca_location to its CA",
    ],
    [
      "another CA",
      (text) => text.replace(certificates.ca, certificates.otherCa),
      "; set registry_ca_location to its CA",
    ],
    [
      "http",
      (text) => text.replace("https:", "http:").replace(/^registry_ca_location .*$/m, ""),
      "connection closed; does the port expect https?",
    ],
  ])("is not used with %s, and why is in the log, /readyz and check --connect", async (_, change, reason) => {
    const at = folder.make(`wrong-${steadyMs()}`)
    await using running = await start(change(configuration("directory = log")), at)
    const { status, ms } = await send(running)
    expect(status).toBe(503)
    expect(ms).toBeLessThan(DELIVERY_TIMEOUT_MS)
    const line = await running.logged(({ msg }) => msg.startsWith("schema registry unavailable"))
    expect(String(line["reason"])).toContain(reason)
    expect(await readiness(running)).toMatch(/^503 /)
    expect(await readiness(running)).toContain(reason)
    const file = join(at, "pipelines.conf")
    const checked = await hookline(["check", "--connect", "-c", file], { env: { PASSWORD } })
    expect(checked.status).toBe(69)
    expect(checked.stdout).toContain(`schema registry ${new URL(String(line["registry"])).href}`)
    expect(checked.stdout).toContain(reason)
  })

  test.each(["fail", "hang"] as const)(
    "that %ss gives 503 in time until it recovers, and afterwards nothing is noticed",
    async (behaviour) => {
      front.behaviour = behaviour
      await using running = await start(configuration("directory = log"), folder.make(behaviour))
      const first = await send(running)
      expect(first.status).toBe(503)
      expect(first.ms).toBeLessThan(DELIVERY_TIMEOUT_MS + LATE_MS)
      const line = await running.logged(({ msg }) => msg.startsWith("schema registry unavailable"))
      expect(line["reason"]).toBe(behaviour === "fail" ? "HTTP 502" : "no answer in time")
      const later = await send(running)
      expect(later.status).toBe(503)
      expect(later.ms).toBeLessThan(AT_ONCE_MS)
      front.behaviour = "pass"
      await inUse(running)
      expect(await send(running)).toMatchObject({ status: 200 })

      front.behaviour = behaviour
      await running.logged(({ msg }) => msg.includes("cached schemas"))
      const { status, ms } = await send(running)
      expect(status).toBe(200)
      expect(ms).toBeLessThan(AT_ONCE_MS)
      expect(await readiness(running)).toStartWith('200 {"status":"ready"')
    },
  )

  test("a reload changes password, refresh and URL; events wait for the first answer, and none is refused", async () => {
    const at = folder.make("reload")
    const before = configuration("directory = log")
    await using running = await start(
      before.replace(front.url, registry.url).replace(/^registry_(username|password|ca).*$/gm, ""),
      at,
    )
    expect(await send(running)).toMatchObject({ status: 200 })
    const stop = new AbortController()
    const statuses = new Set<number>()
    const sending = (async () => {
      while (!stop.signal.aborted) statuses.add((await send(running)).status)
    })()
    const passed = front.passed.length
    expect(await reload(running, at, before)).toBe("reloaded")
    expect(await send(running)).toMatchObject({ status: 200 })
    expect(front.passed.length).toBeGreaterThan(passed)
    expect(
      await reload(running, at, before.replace("value_format = json-schema", "value_format = json")),
    ).toBe("reloaded")
    expect(await reload(running, at, before)).toBe("reloaded")
    stop.abort()
    await sending
    expect([...statuses]).toEqual([200])
  })

  describe("with a spool", () => {
    let kafka: OwnKafka
    beforeAll(async () => {
      kafka = await startStrictKafka(["spooled"])
    })
    afterAll(() => kafka?.stop())

    test("events are checked and framed when they arrive, and forwarded with the id of then", async () => {
      const at = folder.make("spool")
      const connection = `bootstrap_servers = ${kafka.bootstrapServers.join(",")}\nspool = spool.sqlite`
      const first = await registry.register("spooled-value", schema("integer"))
      kafka.nodes[0]!.pause()
      const running = await start(configuration(connection, "spooled"), at)
      expect(await send(running, '{"amount":1}')).toMatchObject({ status: 200 })
      expect(await send(running, '{"amount":"text"}')).toMatchObject({ status: 400 })
      const later = await registry.register("spooled-value", schema("string"))
      await inUse(running, later)
      expect(await send(running, '{"amount":"text"}')).toMatchObject({ status: 200 })
      expect(await send(running, '{"amount":2}')).toMatchObject({ status: 400 })
      // neither Kafka nor the registry is needed for what is spooled
      front.behaviour = "fail"
      await running.stop()
      kafka.nodes[0]!.resume()
      await using again = await start(configuration(connection, "spooled"), at)
      const { bootstrapServers } = kafka
      const status = async () => (await hookline(["spool", "status"], { cwd: at, env: { PASSWORD } })).stdout
      while (!(await status()).includes("0 to be forwarded")) await Bun.sleep(100)
      const records = await readWithKcat({ bootstrapServers }, "spooled")
      const values = records.map(({ value }) => [
        value[0],
        value.readUInt32BE(1),
        JSON.parse(value.subarray(5).toString()),
      ])
      expect(values).toMatchObject([
        [0, first, { amount: 1 }],
        [0, later, { amount: "text" }],
      ])
      expect(await send(again, '{"amount":"new"}')).toMatchObject({ status: 503 })
      front.behaviour = "pass"
      await inUse(again, later)
      expect(await send(again, '{"amount":"new"}')).toMatchObject({ status: 200 })
    })
  })
})

/** A server with TLS and HTTP Basic authentication before a Schema Registry; disposing of it stops it. */
interface RegistryFront extends AsyncDisposable {
  readonly port: number
  /** URL of Confluent's API. */
  readonly url: string
  /** Paths of the requests that were let through, oldest first. */
  readonly passed: readonly string[]
  /** What requests get; `pass`: the registry's answer. */
  behaviour: "pass" | "fail" | "hang"
}

/** @param registryUrl of the API behind it */
function startRegistryFront(
  registryUrl: string,
  {
    certificate,
    key,
    username,
    password,
  }: {
    /** Paths of PEM files. */
    readonly certificate: string
    readonly key: string
    readonly username: string
    readonly password: string
  },
): RegistryFront {
  const { origin, pathname } = new URL(registryUrl)
  const expected = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`
  const passed: string[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    tls: { cert: Bun.file(certificate), key: Bun.file(key) },
    async fetch(request) {
      if (front.behaviour === "hang") return Promise.withResolvers<Response>().promise
      if (front.behaviour === "fail") return new Response("try later", { status: 502 })
      if (request.headers.get("Authorization") !== expected)
        return Response.json({ error_code: 401, message: "Unauthorized" }, { status: 401 })
      const { pathname: path, search } = new URL(request.url)
      passed.push(path)
      return fetch(`${origin}${path}${search}`, {
        headers: { Accept: request.headers.get("Accept") ?? "*/*" },
      })
    },
  })
  const front: RegistryFront = {
    port: server.port!,
    url: `https://127.0.0.1:${server.port}${pathname}`,
    passed,
    behaviour: "pass",
    [Symbol.asyncDispose]: () => server.stop(true),
  }
  return front
}
