import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdtempSync } from "node:fs"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  deduplicator,
  embeddedConnection,
  enricher,
  kafkaConnection,
  memoryConnection,
  Pipeline,
  Rejected,
  testPipeline,
  validator,
  verifier,
  webHookSource,
  type PipelineParts,
  type TestRequest,
} from "../../src/index.ts"
import { folderOfTests } from "../support/hookline.ts"

const folder = folderOfTests()

const quiet = { service: { logLevel: "silent" } } as const
const text = (value: Uint8Array): string => Buffer.from(value).toString()

function pipeline(processors: PipelineParts["processors"], sink = brokerSink({ topic: "t" })): Pipeline {
  return new Pipeline("p", { source: webHookSource({ path: "/in", maxBodyBytes: 100 }), processors, sink })
}

describe("testPipeline", () => {
  const verified = [verifier({ provider: "token", header: "x-token", secret: "a,b" }), validator()]
  const letters = brokerSink({ topic: "t", connection: "kafka", deadLetterTopic: "dead" })
  const token = { headers: { "x-token": "a,b" } }

  test.each<
    [
      name: string,
      tested: Pipeline,
      body: string | object,
      request: TestRequest,
      status: number,
      outcome: string | undefined,
      records: string[],
    ]
  >([
    [
      "an object is published as JSON",
      pipeline([validator()]),
      { a: 1 },
      {},
      200,
      "accepted",
      ['t: {"a":1}'],
    ],
    ["text goes as it is", pipeline([]), " x", {}, 200, "accepted", ["t:  x"]],
    ["an invalid body is refused", pipeline([validator()]), "{", {}, 400, "rejected", []],
    ["or dropped", pipeline([validator({ onInvalid: "drop" })]), "{", {}, 200, "dropped", []],
    ["a body that is too large", pipeline([]), "x".repeat(101), {}, 413, undefined, []],
    ["another method", pipeline([]), "", { method: "GET" }, 405, undefined, []],
    ["another path", pipeline([]), "", { target: "/elsewhere" }, 404, undefined, []],
    ["a step that rejects", pipeline([() => new Rejected(409, "no", "No.")]), "", {}, 409, "rejected", []],
    ["a step that throws", pipeline([() => JSON.parse("{") as never]), "", {}, 500, undefined, []],
    ["a verified sender", pipeline(verified, letters), "{}", token, 200, "accepted", ["t: {}"]],
    ["a dead letter", pipeline(verified, letters), "{", token, 400, "rejected", ["dead: {"]],
    [
      "a secret with a comma is one secret",
      pipeline(verified),
      "{}",
      { headers: { "x-token": "a" } },
      401,
      undefined,
      [],
    ],
  ])("%s", async (_, tested, body, request, status, outcome, records) => {
    const its = await testPipeline(tested, body, request)
    expect(its.status).toBe(status)
    expect(its.outcome?.kind as string | undefined).toBe(outcome)
    expect(its.records.map(({ topic, value }) => `${topic}: ${text(value)}`)).toEqual(records)
  })

  test("a handshake is answered, and nothing published", async () => {
    const slack = pipeline([verifier({ provider: "slack", secret: "x" }), validator()])
    const its = await testPipeline(slack, { type: "url_verification", challenge: "abc" })
    expect([its.status, its.records.length]).toEqual([401, 0])
    const meta = pipeline([verifier({ provider: "meta", secret: "x", verifyToken: "t" })])
    const target = "/in?hub.mode=subscribe&hub.verify_token=t&hub.challenge=42"
    const answer = await testPipeline(meta, "", { method: "GET", target })
    expect([answer.status, answer.body, answer.records.length]).toEqual([200, "42", 0])
  })

  test("a deduplicator's keys are in memory, whatever its store is, and each call begins anew", async () => {
    const store = join(folder.path, "keys")
    const tested = pipeline([validator(), deduplicator({ key: "json:/id", store })])
    for (let n = 0; n < 2; n++) {
      const { outcome } = await testPipeline(tested, { id: 1 })
      expect(outcome?.kind).toBe("accepted")
    }
    expect(existsSync(store)).toBe(false)
  })

  test("wrong options are reported", async () => {
    const wrong = pipeline([], brokerSink({ topic: "no topic" }))
    await expect(testPipeline(wrong, "")).rejects.toThrow(
      'in code: pipeline "p", brokerSink, option topic: "no topic" is not a topic name',
    )
  })
})

test("a deduplicator next to a connection in memory keeps its keys in memory", async () => {
  const memory = memoryConnection()
  const app = new Application(quiet)
  app.registerConnection("memory", memory)
  app.addPipeline(pipeline([validator(), deduplicator({ key: "json:/id" }), enricher()]))
  const post = (): Promise<Response> =>
    app.fetch(new Request("http://localhost/in", { method: "POST", body: '{"id":1}' }))
  expect([(await post()).status, (await post()).status]).toEqual([200, 200])
  await app.stop()
  expect(memory.records("t")).toHaveLength(1)
})

describe.each(["memory", "embedded"])("app.read of a connection that is %s", (kind) => {
  let app: Application
  const post = (n: number): Promise<Response> =>
    app.fetch(new Request("http://localhost/in", { method: "POST", body: `{"n":${n}}` }))
  const all = async (records: AsyncIterable<{ value: Uint8Array; offset: number }>): Promise<string[]> => {
    const found: string[] = []
    for await (const { value, offset } of records) found.push(`${offset} ${text(value)}`)
    return found
  }
  beforeEach(async () => {
    const directory = mkdtempSync(join(folder.path, "log-"))
    app = new Application(quiet)
    app.registerConnection("log", kind === "memory" ? memoryConnection() : embeddedConnection({ directory }))
    app.addPipeline(pipeline([validator()]))
    for (const n of [0, 1, 2]) expect((await post(n)).status).toBe(200)
  })
  afterEach(() => app.stop())

  test("yields the records from the given beginning to the end", async () => {
    expect(await all(app.read("log", "t"))).toEqual(['0 {"n":0}', '1 {"n":1}', '2 {"n":2}'])
    expect(await all(app.read("log", "t", { from: 2 }))).toEqual(['2 {"n":2}'])
    expect(await all(app.read("log", "t", { from: "end" }))).toEqual([])
    await expect(all(app.read("log", "other"))).rejects.toMatchObject({ code: "no_topic" })
  })

  test("follows until its signal aborts", async () => {
    const end = new AbortController()
    const found: number[] = []
    for await (const { offset } of app.read("log", "t", { follow: true, signal: end.signal })) {
      found.push(offset)
      if (offset === 2) await post(3)
      if (offset === 3) end.abort()
    }
    expect(found).toEqual([0, 1, 2, 3])
  })
})

test("a connection that is not registered, or wrong, can't be read", async () => {
  const app = new Application(quiet)
  app.registerConnection("kafka", kafkaConnection({ bootstrapServers: ["nowhere"] }))
  await expect(app.read("kafak", "t").next()).rejects.toMatchObject({ code: "usage" })
  await expect(app.read("kafka", "t").next()).rejects.toThrow(
    'in code: connection "kafka", kafkaConnection, option bootstrapServers: "nowhere" is not host:port',
  )
})

test("rules between options are reported in the words of code", async () => {
  const app = new Application({ service: { logLevel: "silent", maxInFlightBytes: "1KiB" } })
  app.registerConnection(
    "kafka",
    kafkaConnection({
      bootstrapServers: ["localhost:9092"],
      saslUsername: "u",
      securityProtocol: "sasl_ssl",
      spoolMaxBytes: 1,
    }),
  )
  app.addPipeline(
    new Pipeline("p", {
      source: webHookSource({ tlsCertificate: "c.pem", rateBurst: 1 }),
      processors: [deduplicator({ key: "json:/id", storeCa: "ca.pem" })],
      sink: brokerSink({ topic: "t", deadLetterTopic: "t" }),
    }),
  )
  const { message } = (await app.start().catch((error: unknown) => error)) as Error
  expect(message.split("\n")).toEqual([
    'in code: connection "kafka", kafkaConnection, option saslMechanism: is required by securityProtocol: "sasl_ssl"',
    'in code: connection "kafka", kafkaConnection, option spoolMaxBytes: has no effect without spool; add spool: <a path>, or remove this',
    'in code: pipeline "p", webHookSource, option rateBurst: has no effect without rateLimit; add rateLimit: <a number from 0.001 to 1000000>, or remove this',
    'in code: pipeline "p", webHookSource, option tlsCertificate: has no effect without tlsKey; add tlsKey: <a path>, or remove this',
    'in code: pipeline "p", deduplicator, option storeCa: has no effect without a rediss:// store; remove it, or reach the store by TLS',
    'in code: pipeline "p", brokerSink, option deadLetterTopic: is the topic of accepted events; choose another',
    'in code: pipeline "p", brokerSink, option deadLetterTopic: requires verified senders, and this pipeline verifies none; add a Verifier in mode enforce, or tlsClientCa to the source',
    'in code: pipeline "p", webHookSource, option maxBodyBytes: is more than service.maxInFlightBytes, so that the largest bodies would never be accepted; lower it, or raise that',
  ])
})

test.each([[""], [[]], [["a-secret", ""]]])(
  "a secret of code that is empty, as that of an unset variable is, is called empty: %j",
  (secret) => {
    const app = new Application(quiet)
    app.registerConnection("memory", memoryConnection())
    app.addPipeline(pipeline([verifier({ provider: "stripe", secret })]))
    expect(() => app.plan()).toThrow(/option secret: is empty; expected a list/)
  },
)
