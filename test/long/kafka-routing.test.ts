import { describe, expect, test } from "bun:test"
import { sharedByTests, startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, createTopic, startStrictKafka } from "../support/kafka.ts"
import { until } from "../support/kafka-options.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const PIPELINE = `
[pipeline:hooks:WebHookSource]
[pipeline:hooks:Router]
by = json:/type
invoice.* = billing
customer.* = crm
order.* = orders
[pipeline:events:WebHookSource]
[pipeline:events:Router]
topic = events.{json:/type}
topics = events.*
[pipeline:hooks:BrokerSink]
topic = hooks
[pipeline:events:BrokerSink]
topic = hooks
`

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("routing on a Kafka that creates no topics", () => {
  const folder = temporaryFolder()
  const topics = ["hooks", "billing", "orders", "events.a", "events.c"]
  const kafka = sharedByTests(() => startStrictKafka(topics), folder)
  let running: RunningHookline

  const start = async (name: string, connection: string): Promise<string> => {
    const own = folder.make(name)
    running = await startHookline(`[connection:kafka]\n${connection}${PIPELINE}`, { folder: own })
    return own
  }
  const post = async (pipeline: string, type: string): Promise<number> => {
    const url = running.urls[pipeline]!
    return (await fetch(url, { method: "POST", body: JSON.stringify({ type }) })).status
  }
  const readiness = async (): Promise<string> => (await fetch(`${running.adminUrl}/readyz`)).text()
  const typesIn = async (topic: string): Promise<unknown[]> =>
    (await readWithKcat(kafka, topic)).map(
      ({ value }) => (JSON.parse(value.toString()) as { type: unknown }).type,
    )

  test("a topic that is missing is named by /readyz from the start, or from its first event, until it exists", async () => {
    await start("missing", `bootstrap_servers = ${kafka.bootstrapServers}\ndelivery_timeout = 10s`)
    try {
      const before = await typesIn("hooks")
      await until("crm is reported", async () => (await readiness()).includes("crm"))
      expect(await readiness()).toContain('"partly ready"')
      expect(await readiness()).not.toContain("billing")
      expect([await post("hooks", "invoice.paid"), await post("hooks", "else")]).toEqual([200, 200])
      expect(await post("hooks", "customer.created")).toBe(503)

      expect(await readiness()).not.toContain("events.b")
      expect([await post("events", "a"), await post("events", "b")]).toEqual([200, 503])
      await until("events.b is reported", async () => (await readiness()).includes("events.b"))

      for (const topic of ["crm", "events.b"]) await createTopic(kafka, topic)
      await until("crm is published to", async () => (await post("hooks", "customer.created")) === 200)
      await until("events.b is published to", async () => (await post("events", "b")) === 200)
      await until("all is well", async () => (await readiness()).includes('"ready"'))
      expect(await typesIn("billing")).toEqual(["invoice.paid"])
      expect(await typesIn("events.a")).toEqual(["a"])
      expect(await typesIn("crm")).toContain("customer.created")
      expect(await typesIn("hooks")).toEqual([...before, "else"])
    } finally {
      await running.stop()
    }
  })
})
