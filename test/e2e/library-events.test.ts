import { describe, expect, test } from "bun:test"
import {
  Application,
  brokerSink,
  decoder,
  deduplicator,
  filter,
  memoryConnection,
  Pipeline,
  router,
  testPipeline,
  validator,
  webHookSource,
  type Event,
  type PipelineParts,
  type Processor,
} from "../../src/index.ts"

const text = (value: Uint8Array | undefined): string | undefined => value && Buffer.from(value).toString()

const pipeline = (
  processors: PipelineParts["processors"],
  sink: Partial<Parameters<typeof brokerSink>[0]> = {},
): Pipeline =>
  new Pipeline("p", {
    source: webHookSource({ path: "/in" }),
    processors,
    sink: brokerSink({ topic: "t", ...sink }),
  })

const kind = (event: Event): string | undefined => event.json<{ kind?: string }>().kind

const number = (event: Event): never => event.json<{ n: never }>().n

test("a processor sets a record's key and headers, in addition to the sink's", async () => {
  const set: Processor = (event) => {
    event.key = kind(event)
    event.headers.set("tenant", "acme").set("raw", new Uint8Array([0, 255]))
    return event
  }
  const sink = { key: "json:/n", headers: ["kind=json:/kind"] }
  const { records } = await testPipeline(pipeline([set], sink), { kind: "paid", n: 1 })
  expect(
    records.map(({ key, headers }) => [text(key), headers?.map(([name, value]) => [name, [...value]])]),
  ).toEqual([
    [
      "paid",
      [
        ["kind", [...Buffer.from("paid")]],
        ["tenant", [...Buffer.from("acme")]],
        ["raw", [0, 255]],
      ],
    ],
  ])
  const unset = await testPipeline(pipeline([set], sink), { n: 1 })
  expect(text(unset.records[0]!.key)).toBe("1")
})

test.each<[string, Processor]>([
  ["key", (event) => Object.assign(event, { key: 7 })],
  ["headers", (event) => ((event.headers as Map<string, unknown>).set("a", 7), event)],
])("event.%s that is neither bytes nor text is a fault", async (_, wrong) => {
  const { status, records } = await testPipeline(pipeline([wrong]), {})
  expect([status, records]).toEqual([500, []])
})

test("processors share an event's state; the items of a split event begin with a copy of it", async () => {
  const seen: unknown[] = []
  const first: Processor = (event, { state }) => {
    state.set("tenant", "acme")
    return event.split(["1", "2"].map((n) => `{"n":${n}}`))
  }
  const second: Processor = (event, { state, log }) => {
    log.debug("seen")
    state.set("n", event.json<{ n: number }>().n)
    return event
  }
  const third: Processor = (event, { state, signal }) => {
    seen.push([...state.values(), signal.aborted])
    return event
  }
  const { status } = await testPipeline(pipeline([first, second, third]), {})
  expect([status, seen]).toEqual([
    200,
    [
      ["acme", 1, false],
      ["acme", 2, false],
    ],
  ])
})

test("items of a list that the Decoder splits share no state", async () => {
  const seen: unknown[] = []
  const counts: Processor = (event, { state }) => {
    state.set("n", Number(state.get("n") ?? 0) + 1)
    seen.push(state.get("n"))
    return event
  }
  const { status } = await testPipeline(pipeline([decoder({ lists: "split" }), counts]), '[{"a":1},{"a":2}]')
  expect([status, seen]).toEqual([200, [1, 1]])
})

test("functions name values: a sink's key, a Filter's, a Router's and a Deduplicator's", async () => {
  const memory = memoryConnection()
  const app = new Application({ service: { logLevel: "silent" } })
  const connection = app.registerConnection("memory", memory)
  app.registerConnection("other", memoryConnection())
  const processors = [
    validator(),
    filter({ when: kind, drop: ["ping"] }),
    deduplicator({ key: (event) => event.json<{ id?: string }>().id, store: "memory" }),
    router({ by: kind, routes: [["paid", "payments"]] }),
  ]
  app.addPipeline(pipeline(processors, { connection, key: (event) => new Uint8Array([event.body.length]) }))
  const post = async (body: object): Promise<number> =>
    (await app.fetch(new Request("http://localhost/in", { method: "POST", body: JSON.stringify(body) })))
      .status
  for (const body of [{ kind: "ping" }, { kind: "paid", id: "a" }, { kind: "paid", id: "a" }, { id: "" }])
    expect(await post(body)).toBe(200)
  const read: (string | undefined)[] = []
  for await (const { value, key } of app.read(connection, "payments"))
    read.push(text(value), String(key?.[0]))
  await app.stop()
  expect(read).toEqual(['{"kind":"paid","id":"a"}', "24"])
  expect(connection.records().map(({ topic }) => topic)).toEqual(["payments", "t"])
})

test.each<[string, PipelineParts["processors"], Parameters<typeof pipeline>[1]]>([
  ["a sink's key", [], { key: number }],
  ["a Filter's when", [filter({ when: number, drop: ["*"] })], {}],
  ["a Router's by", [router({ by: number, routes: [["*", "other"]] })], {}],
  ["a Deduplicator's key", [deduplicator({ key: number })], {}],
])(
  "%s by a function that returns neither bytes nor text is a fault; null is no value",
  async (_, processors, sink) => {
    const wrong = await testPipeline(pipeline(processors, sink), { n: 7 })
    expect([wrong.status, wrong.records]).toEqual([500, []])
    const none = await testPipeline(pipeline(processors, sink), { n: null })
    expect([none.status, none.records.map(({ topic, key }) => [topic, key])]).toEqual([
      200,
      [["t", undefined]],
    ])
  },
)

describe("app.fetch", () => {
  const allowing = (): Application => {
    const app = new Application({ service: { logLevel: "silent" } })
    const connection = app.registerConnection("memory", memoryConnection())
    const source = webHookSource({ path: "/in", allow: ["192.0.2.0/24"] })
    return app.addPipeline(
      new Pipeline("p", { source, processors: [], sink: brokerSink({ topic: "t", connection }) }),
    )
  }
  const request = (): Request => new Request("http://localhost/in", { method: "POST", body: "{}" })

  test.each([
    [{ remoteAddress: "192.0.2.7" }, 200],
    [{ remoteAddress: "198.51.100.1" }, 403],
    [{ remoteAddress: undefined }, 403],
    [{ requestIP: () => ({ address: "192.0.2.7" }) }, 200],
    [undefined, 403],
  ])("answers by the address of %j", async (from, status) => {
    const app = allowing()
    expect((await app.fetch(request(), from)).status).toBe(status)
    await app.stop()
  })

  test.each([{}, null, "192.0.2.7", { address: "192.0.2.7" }, { remoteAddress: 7 }])(
    "refuses %j as its second argument",
    async (from) => {
      const app = allowing()
      await expect(app.fetch(request(), from as never)).rejects.toMatchObject({
        code: "usage",
        message: expect.stringContaining("the second argument of fetch is { remoteAddress }"),
      })
      await app.stop()
    },
  )
})
