import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { Receiver } from "../support/receiver.ts"

setDefaultTimeout(120_000)

const available = await canStartKafka()
describe.skipIf(!available)("[forward:…] on Kafka", () => {
  const kafka = kafkaOfTests()

  const configuration = (topic: string, url: string, more = ""): string => `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers.join(",")}
[pipeline:hooks:WebHookSource]
path = /hooks
[pipeline:hooks:BrokerSink]
topic = ${topic}
key = json:/k
[forward:app]
from = kafka/${topic}
url = ${url}
concurrency = 4
${more}`

  let posted = 0
  async function post(url: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++, posted++) {
      const body = JSON.stringify({ k: `k${posted % 20}`, n: posted })
      expect((await fetch(url, { method: "POST", body })).status).toBe(200)
    }
  }

  const placesOf = (receiver: Receiver): string[] =>
    receiver.all.map(({ partition, offset }) => `${partition}:${offset}`)
  const partitionsOf = (receiver: Receiver, from: number): number[] =>
    [...new Set(receiver.all.slice(from).map(({ partition }) => partition))].toSorted()

  test("replicas share the partitions, take over what another leaves or dies with, and lose no position with their folders", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 4 })
    using folders = new DisposableStack()
    await using first = new Receiver()
    await using second = new Receiver()
    const start = (receiver: Receiver) =>
      startHookline(configuration(topic, receiver.url), { folder: folders.use(temporaryFolder()).path })
    const distinct = (): number => new Set([...placesOf(first), ...placesOf(second)]).size
    const all = async (): Promise<void> => {
      while (distinct() < posted)
        await Promise.race([first.count(first.all.length + 1), second.count(second.all.length + 1)])
    }
    posted = 0
    await using a = await startHookline(configuration(topic, first.url), {
      folder: folders.use(temporaryFolder()).path,
    })
    await a.logged(({ msg }) => msg === "partitions assigned")
    await post(a.urls["hooks"]!, 60)
    await all()
    expect(partitionsOf(first, 0)).toEqual([0, 1, 2, 3])
    {
      await using b = await start(second)
      await b.logged(({ partitions }) => (partitions as number[] | undefined)?.length === 2)
      await a.logged(({ partitions }) => (partitions as number[] | undefined)?.length === 2)
      const from = first.all.length
      await post(a.urls["hooks"]!, 60)
      await all()
      expect([...partitionsOf(first, from), ...partitionsOf(second, 0)].toSorted()).toEqual([0, 1, 2, 3])
      // without leaving
      b.signal("SIGKILL")
      await b.exited
    }
    await post(a.urls["hooks"]!, 60)
    await all()
    await a.stop()
    // of a replica with an empty folder, while none ran before it
    await using c = await start(second)
    const before = second.all.length
    await post(c.urls["hooks"]!, 20)
    await all()
    expect(second.all.length - before).toBe(20)
  })
})
