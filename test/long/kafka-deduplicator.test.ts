import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const DELIVERY_TIMEOUT_MS = 1000
/** What an answer may be late by, and what a request takes on a busy machine beside it. */
const LATE_MS = 100 + 900

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a Deduplicator before Kafka", () => {
  const folder = folderOfTests()
  const kafka = kafkaOfTests()
  beforeAll(async () => {
    await createTopic(kafka, "doubled")
    await kafka.nodes[0]!.kill()
  }, 60_000)

  test("an event that could not be published leaves no mark; nor do its duplicates, which wait no longer", async () => {
    const configuration = `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers}
delivery_timeout = ${DELIVERY_TIMEOUT_MS}ms
[pipeline:doubled:WebHookSource]
[pipeline:doubled:Deduplicator]
key = json:/id
[pipeline:doubled:BrokerSink]
topic = doubled`
    const start = (): Promise<RunningHookline> => startHookline(configuration, { folder: folder.path })
    const post = async ({ urls }: RunningHookline, body: string): Promise<number> =>
      (await fetch(urls["doubled"]!, { method: "POST", body })).status

    await using first = await start()
    const began = performance.now()
    const refused = Array.from({ length: 10 }, () => post(first, '{"id":"evt_1"}'))
    expect(new Set(await Promise.all(refused))).toEqual(new Set([503]))
    expect(performance.now() - began).toBeLessThan(DELIVERY_TIMEOUT_MS + LATE_MS)

    await kafka.nodes[0]!.start()
    while ((await post(first, `{"id":"${crypto.randomUUID()}"}`)) !== 200);
    const taken = Array.from({ length: 10 }, () => post(first, '{"id":"evt_1"}'))
    expect(new Set(await Promise.all(taken))).toEqual(new Set([200]))
    await first.stop()

    // its marks lie beside the configuration file
    await using second = await start()
    while ((await post(second, '{"id":"evt_1"}')) !== 200);
    const values = (await readWithKcat(kafka, "doubled")).map(({ value }) => value.toString())
    expect(values.filter((value) => value.startsWith('{"id":"evt_1"'))).toHaveLength(1)
    expect(await Bun.file(join(folder.path, "hookline-data", "marks.sqlite")).exists()).toBe(true)
  }, 60_000)
})
