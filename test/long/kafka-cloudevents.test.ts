import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("CloudEvents on Kafka", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let running: RunningHookline
  const send = async (pipeline: string, body: string): Promise<number> =>
    (await fetch(running.urls[pipeline]!, { method: "POST", body, headers: { "X-Token": "fake" } })).status
  beforeAll(async () => {
    kafka = await startStrictKafka(["events", "ready"])
    const pipeline = (id: string, sink: string): string => `[pipeline:${id}:WebHookSource]
[pipeline:${id}:BrokerSink]
topic = ${id}
${sink}
`
    running = await startHookline(
      `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers.join(",")}
[provider:acme]
scheme = token
header = X-Token
lists = split
event_id = json:/id
event_type = json:/kind
event_time = json:/at
[pipeline:events:Verifier]
provider = acme
secret = fake
${pipeline("events", "key = event:id\ncloudevents = binary")}${pipeline("ready", "")}`,
      { folder: folder.path },
    )
    while ((await send("ready", "{}")) !== 200);
  }, 60_000)
  afterAll(async () => {
    await running.stop()
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  test("kcat reads each item of a list with its attributes as headers, and its value as it was", async () => {
    const items = [1790000000, 1790000001].map((at, i) => `{"id": "e${i}", "kind":"order.paid","at":${at}}`)
    expect(await send("events", `[${items.join(",")}]`)).toBe(200)
    const records = await readWithKcat(kafka, "events")
    const byKey = records.toSorted((a, b) => String(a.key).localeCompare(String(b.key)))
    expect(byKey.map(({ key, headers }) => [String(key), headers])).toEqual(
      ["2026-09-21T14:13:20.000Z", "2026-09-21T14:13:21.000Z"].map((time, i) => [
        `e${i}`,
        `ce_specversion=1.0,ce_id=e${i},ce_source=/pipelines/events,ce_type=order.paid,ce_time=${time},content-type=application/json`,
      ]),
    )
    for (const [i, { value }] of byKey.entries()) expect(value.toString()).toStartWith(items[i]!.slice(0, -1))
  }, 30_000)
})
