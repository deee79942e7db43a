import { expect, test } from "bun:test"
import { join } from "node:path"
import {
  brokerSink,
  decoder,
  enricher,
  filter,
  Pipeline,
  router,
  testPipeline,
  validator,
  webHookSource,
} from "../../src/index.ts"
import type { TopicOverview } from "../../src/admin/api/shapes.ts"
import { PublishError } from "../../src/errors.ts"
import type { Publisher } from "../../src/pipeline/event.ts"
import type { Receipt, Record } from "../../src/pipeline/record.ts"
import { componentContext } from "../support/component-context.ts"
import { eventOf, IN_TIME } from "../support/event.ts"
import { deadLettered, send } from "../support/dead-lettered.ts"
import { reload, folderOfTests, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { valuesInLog } from "../support/log-values.ts"
import { published, reloadConf, statusOf } from "../support/reloaded.ts"
import { metricOf } from "../support/metric-of.ts"

const root = folderOfTests()

const FILTER = "[pipeline:webhooks:Filter]\nwhen = json:/type\ndrop = ping, *.test\n"
const LINES = `[pipeline:webhooks:Router]
by = json:/type
invoice.* = billing
customer.created: = crm
Order Created = crm
noise* = drop
`
const TEMPLATE =
  "[pipeline:webhooks:Router]\ntopic = events.{json:/type}\ntopics = events.*\nmax_topics = 2\n"
const ofType = (type: string): string => JSON.stringify({ type })

/** The values of a topic, without what the Enricher adds. */
async function typesIn(folder: string, topic: string): Promise<unknown[]> {
  const values = await valuesInLog(join(folder, "log"), topic)
  return values.map((value) => (JSON.parse(value) as { type: unknown }).type)
}

async function topicsOf({ adminUrl }: Started): Promise<string[]> {
  const topics = (await (await fetch(`${adminUrl}/api/topics`)).json()) as TopicOverview[]
  return topics.map(({ topic }) => topic).toSorted()
}

test("events go where the lines say; what Filter or Router drop is answered 200 and counted, and is nowhere", async () => {
  const folder = root.make("lines")
  const more = `${FILTER}${LINES}[service]\nlog_level = debug\n`
  await using running = await startInProcess(reloadConf({ more }), { folder })
  const url = running.urls["webhooks"]
  const sent = ["invoice.paid", "customer.created:", "Order Created", "ping", "a.test", "noise.1", "else"]
  for (const type of sent) expect(await statusOf(url, ofType(type))).toBe(200)
  expect(await statusOf(url, '{"type":null}')).toBe(200)
  expect(await statusOf(url, "{")).toBe(400)

  expect(await typesIn(folder, "billing")).toEqual(["invoice.paid"])
  expect(await typesIn(folder, "crm")).toEqual(["customer.created:", "Order Created"])
  expect(await typesIn(folder, "first")).toEqual(["else", null])
  expect(await topicsOf(running)).toEqual(["billing", "crm", "first"])

  const events = await metricOf(running, "hookline_events_total")
  expect(events.get('pipeline="webhooks",outcome="accepted",reason=""')).toBe(5)
  expect(events.get('pipeline="webhooks",outcome="dropped",reason="filtered"')).toBe(2)
  expect(events.get('pipeline="webhooks",outcome="dropped",reason="routed_to_drop"')).toBe(1)
  const unrouted = await metricOf(running, "hookline_unrouted_events_total")
  expect(Object.fromEntries(unrouted)).toEqual({
    'pipeline="webhooks",reason="no_rule"': 1,
    'pipeline="webhooks",reason="no_value"': 1,
  })
  const unfiltered = await metricOf(running, "hookline_unfiltered_events_total")
  expect(Object.fromEntries(unfiltered)).toEqual({ 'pipeline="webhooks"': 1 })
  const dropped = running.log.filter(({ msg }) => msg === "event dropped")
  expect(dropped.map(({ level, reason }) => [level, reason])).toEqual([
    ["debug", "filtered"],
    ["debug", "filtered"],
    ["debug", "routed_to_drop"],
  ])
})

test("topics of lines are prepared before their first event", async () => {
  const folder = root.make("prepared")
  await using running = await startInProcess(reloadConf({ more: LINES }), { folder })
  // committed behind the topics
  expect(await statusOf(running.urls["webhooks"])).toBe(200)
  expect(await topicsOf(running)).toEqual(["billing", "crm", "first"])
})

test("a template names topics as they come, up to max_topics, across reloads", async () => {
  const folder = root.make("template")
  const conf = (more: string): string => reloadConf({ more })
  await using running = await startInProcess(conf(TEMPLATE), { folder })
  const url = running.urls["webhooks"]
  for (const type of ["a", "b", "a", "no/topic"]) expect(await statusOf(url, ofType(type))).toBe(200)
  expect(await statusOf(url, ofType("c"))).toBe(200)
  await running.logged(({ msg, level }) => level === "error" && msg.startsWith("max_topics reached"))

  expect(await reload(running, folder, conf(`${TEMPLATE}${FILTER}`))).toBe("reloaded")
  expect(await statusOf(url, ofType("c"))).toBe(200)
  expect(await statusOf(url, ofType("b"))).toBe(200)
  expect(await reload(running, folder, conf(TEMPLATE.replace("= 2", "= 3")))).toBe("reloaded")
  expect(await statusOf(url, ofType("c"))).toBe(200)
  expect(await reload(running, folder, conf(LINES))).toBe("reloaded")
  expect(await statusOf(url, ofType("invoice.paid"))).toBe(200)

  expect(await typesIn(folder, "events.a")).toEqual(["a", "a"])
  expect(await typesIn(folder, "events.b")).toEqual(["b", "b"])
  expect(await typesIn(folder, "events.c")).toEqual(["c"])
  expect(await typesIn(folder, "first")).toEqual(["no/topic", "c", "c"])
  expect(await typesIn(folder, "billing")).toEqual(["invoice.paid"])
})

test("an event that a later step refuses is a dead letter; one that a line drops is none", async () => {
  const folder = root.make("letters")
  const lines = "[pipeline:pay:Router]\nby = json:/type\na = paid\nb = drop"
  await using running = await startInProcess(
    `[connection:log]\ndirectory = log\n[admin]\nlisten = off\n${deadLettered("pay")}${lines}`,
    { folder },
  )
  for (const body of [ofType("a"), ofType("b")])
    expect((await send(running.urls["pay"]!, body)).status).toBe(200)
  expect((await send(running.urls["pay"]!, "[1]")).status).toBe(400)
  expect([await published(folder, "paid"), await published(folder, "pay.dead")]).toEqual([1, 1])
})

test("Filter and Router in code", async () => {
  const pipeline = new Pipeline("hooks", {
    source: webHookSource({ path: "/hooks" }),
    processors: [
      validator(),
      filter({ when: "json:/type", keep: ["invoice.*"] }),
      enricher(),
      router({
        by: "json:/type",
        routes: [
          ["invoice.test", "drop"],
          ["*", "billing"],
        ],
      }),
    ],
    sink: brokerSink({ topic: "hooks" }),
  })
  const topicsOf = async (type: string): Promise<string[]> =>
    (await testPipeline(pipeline, { type })).records.map(({ topic }) => topic)
  expect(await topicsOf("invoice.paid")).toEqual(["billing"])
  expect(await topicsOf("invoice.test")).toEqual([])
  expect(await topicsOf("ping")).toEqual([])
  const template = new Pipeline("hooks", {
    ...pipeline,
    processors: [validator(), router({ topic: "{json:/type}.v1", topics: ["invoice.*"] })],
  })
  const { records } = await testPipeline(template, { type: "invoice.paid" })
  expect(records[0]!.topic).toBe("invoice.paid.v1")
})

test("items of a list are dropped and routed one by one; one beyond max_topics goes to the sink's topic", async () => {
  const pipeline = (topic: Parameters<typeof router>[0]): Pipeline =>
    new Pipeline("hooks", {
      source: webHookSource({ path: "/hooks" }),
      processors: [
        decoder({ lists: "split" }),
        validator(),
        filter({ when: "json:/type", drop: ["ping"] }),
        router(topic),
      ],
      sink: brokerSink({ topic: "hooks" }),
    })
  const list = ["a", "ping", "b", "c"].map((type) => ({ type }))
  const routes = [
    ["a", "first"],
    ["b", "drop"],
  ] as const
  const { status, records } = await testPipeline(pipeline({ by: "json:/type", routes }), list)
  expect([status, records.map(({ topic, value }) => [topic, Buffer.from(value).toString()])]).toEqual([
    200,
    [
      ["first", '{"type":"a"}'],
      ["hooks", '{"type":"c"}'],
    ],
  ])
  const template = { topic: "{json:/type}.v1", topics: ["*"], maxTopics: 2 }
  const routed = await testPipeline(pipeline(template), list)
  expect([routed.status, routed.records.map(({ topic }) => topic)]).toEqual([200, ["a.v1", "b.v1", "hooks"]])
})

const toSeveral = (sink: Partial<Parameters<typeof brokerSink>[0]> = {}): Pipeline =>
  new Pipeline("hooks", {
    source: webHookSource({ path: "/hooks/*" }),
    processors: [validator(), router({ by: "path:1", routes: [["team-*", "billing, audit"]] })],
    sink: brokerSink({ topic: "hooks", key: "json:/id", ...sink }),
  })

test("a line with several topics publishes to each of them, by a segment of the path", async () => {
  const { status, records } = await testPipeline(toSeveral(), { id: "1" }, { target: "/hooks/team-a/x" })
  expect(status).toBe(200)
  expect(
    records.map(({ topic, key, value }) => [topic, String(Buffer.from(key!)), String(Buffer.from(value))]),
  ).toEqual([
    ["billing", "1", '{"id":"1"}'],
    ["audit", "1", '{"id":"1"}'],
  ])
  await expect(
    testPipeline(toSeveral({ valueFormat: "json-schema", registryUrl: "https://registry.example.com" }), {}),
  ).rejects.toThrow("has a line with several topics, whose values would name one schema")
})

test("an event is refused with 503 unless all of its topics acknowledge it, and its dedupe key goes with no single record", async () => {
  const given: Record[] = []
  const publish = (record: Record): Promise<Receipt> => {
    given.push(record)
    return record.topic === "audit"
      ? Promise.reject(new PublishError("unavailable", "no leader"))
      : Promise.resolve({ partition: 0, offset: 0 })
  }
  const connection = { broker: { publish }, prepare() {}, deliveryTimeoutMs: 5000 } as never
  const sink = brokerSink({ topic: "hooks" }).component
  const values = { topic: "hooks", trace_headers: "off", cloudevents: "off", value_format: "json" } as never
  const step = sink.create(values, componentContext({ connection: () => connection })) as Publisher
  const event = eventOf("{}")
  event.topic = "billing"
  event.otherTopics = ["audit", "crm"]
  event.dedupeKey = { key: "k" } as never
  expect(await step(event, IN_TIME)).toMatchObject({ kind: "rejected", status: 503 })
  expect(given.map(({ topic, dedupeKey }) => [topic, dedupeKey])).toEqual([
    ["billing", undefined],
    ["audit", undefined],
    ["crm", undefined],
  ])
})
