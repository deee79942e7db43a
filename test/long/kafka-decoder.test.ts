import { beforeAll, describe, expect, test } from "bun:test"
import { startHookline, folderOfTests } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const TOO_LARGE = 1_200_000

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a list that is split before Kafka", () => {
  const folder = folderOfTests()
  const kafka = kafkaOfTests()
  beforeAll(async () => {
    await createTopic(kafka, "items", { partitions: 3 })
    await kafka.nodes[0]!.kill()
  })

  test("is refused while Kafka is down; its retry is published in the order of the list within each key", async () => {
    await using running = await startHookline(
      `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers}
delivery_timeout = 5s
[pipeline:items:WebHookSource]
max_body_bytes = 4MiB
[pipeline:items:Decoder]
lists = split
[pipeline:items:Deduplicator]
key = json:/id
store = memory
[pipeline:items:BrokerSink]
topic = items
key = json:/k`,
      { folder: folder.path },
    )
    const post = (body: unknown): Promise<Response> =>
      fetch(running.urls["items"]!, { method: "POST", body: JSON.stringify(body) })
    const list = Array.from({ length: 300 }, (_, id) => ({ id, k: `key-${id % 7}` }))
    const refused = await post(list)
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"])

    await kafka.nodes[0]!.start()
    while ((await post(list)).status !== 200);
    // all are known now
    expect((await post(list)).status).toBe(200)
    const large = { id: "large", k: "key-0", text: "x".repeat(TOO_LARGE) }
    const tooLarge = await post([{ id: "before", k: "key-0" }, large, { id: "after", k: "key-0" }])
    expect([tooLarge.status, await tooLarge.json()]).toEqual([
      413,
      expect.objectContaining({ detail: "Item 1 of the list: The event is too large to be stored." }),
    ])

    const records = (await readWithKcat(kafka, "items")).map(
      ({ value }) => JSON.parse(value.toString()) as { id: number | string; k: string },
    )
    // what a refused list left in the log comes before its retry
    const lastIds = (k: string) =>
      [...new Set(records.flatMap((it) => (it.k === k ? it.id : [])).toReversed())].toReversed()
    for (let key = 0; key < 7; key++) {
      const k = `key-${key}`
      const expected: (number | string)[] = list.filter((it) => it.k === k).map(({ id }) => id)
      expect(lastIds(k)).toEqual(key === 0 ? [...expected, "before", "after"] : expected)
    }
  })
})
