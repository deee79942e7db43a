import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, startStrictKafka, type OwnKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { hasOtlpReceiver, startOtlpReceiver, type OtlpReceiver } from "../support/otlp-receiver.ts"

const available = (await canStartKafka()) && hasKcat() && (await hasOtlpReceiver())
describe.skipIf(!available)("traces of events that go to Kafka", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let receiver: OtlpReceiver
  let running: RunningHookline
  const send = async (pipeline: string, traceparent: string): Promise<number> =>
    (await fetch(running.urls[pipeline]!, { method: "POST", body: "{}", headers: { traceparent } })).status
  beforeAll(async () => {
    kafka = await startStrictKafka(["events", "ready"])
    receiver = await startOtlpReceiver()
    const pipeline = (id: string): string => `[pipeline:${id}:WebHookSource]
[pipeline:${id}:BrokerSink]
topic = ${id}
trace_headers = on
`
    running = await startHookline(
      `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers.join(",")}
[traces]
endpoint = ${receiver.endpoint}
${pipeline("events")}${pipeline("ready")}`,
      { folder: folder.path },
    )
    while ((await send("ready", `00-${"1".repeat(32)}-${"2".repeat(16)}-00`)) !== 200);
  })
  afterAll(async () => {
    await running.stop()
    await receiver[Symbol.asyncDispose]()
    await kafka.stop()
    folder[Symbol.dispose]()
  })

  test("a record names the span that published it, and the span where the record is", async () => {
    const traceIds = [..."abcdef"].map((digit) => digit.repeat(32))
    for (const traceId of traceIds)
      expect(await send("events", `00-${traceId}-${"2".repeat(16)}-01`)).toBe(200)
    await receiver.received((spans) => spans.length === 2 * traceIds.length)
    const published = receiver.spans().filter(({ kind }) => kind === "PRODUCER")
    const records = await readWithKcat(kafka, "events")
    const positions = published.map(({ traceId, spanId, attributes }) => [
      `traceparent=00-${traceId}-${spanId}-01`,
      attributes["messaging.destination.partition.id"],
      attributes["messaging.kafka.offset"],
      attributes["messaging.system"],
    ])
    expect(positions.toSorted()).toEqual(
      records.map(({ headers, partition, offset }) => [headers, `${partition}`, offset, "kafka"]).toSorted(),
    )
    expect(published.map(({ traceId }) => traceId)).toEqual(traceIds)
  })
})
