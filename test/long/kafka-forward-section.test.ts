import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  hookline,
  startHookline,
  temporaryFolder,
  type LogLine,
  type RunningHookline,
} from "../support/hookline.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, deleteTopic, freshTopic } from "../support/kafka.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import type { ConsumerGroups } from "../../src/admin/api/shapes.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { Receiver } from "../support/receiver.ts"

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

  test("a topic that is created again is posted from its beginning, also where it has more records than the position", async () => {
    const topic = freshTopic()
    using folder = temporaryFolder()
    await using receiver = new Receiver()
    const text = configuration(topic, receiver.url)
    const fill = async (count: number): Promise<void> => {
      await using broker = openTestBroker(kafka)
      for (let n = 0; n < count; n++)
        await broker.publish({ topic, value: Buffer.from("{}") }, steadyMs() + PATIENT_MS)
    }
    const again = async (count: number): Promise<void> => {
      receiver.all.length = 0
      await deleteTopic(kafka, topic)
      await createTopic(kafka, topic)
      await fill(count)
    }
    const all = async (count: number): Promise<void> => {
      while (new Set(receiver.offsets).size < count) await receiver.count(receiver.all.length + 1)
    }
    await createTopic(kafka, topic)
    {
      await using service = await startHookline(text, { folder: folder.path })
      await service.logged(({ msg }) => msg === "partitions assigned")
      await post(service.urls["hooks"]!, 5)
      await all(5)
      await service.stop()
    }
    await again(10)
    await using service = await startHookline(text, { folder: folder.path })
    await service.logged(({ msg }) => msg.startsWith(`topic ${topic} was created again`))
    await all(10)
    await again(20)
    await all(20)
  })

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
    await until("the group of the forward has caught up", async () => {
      const { groups, problems } = (await (await fetch(`${a.adminUrl}/api/groups`)).json()) as ConsumerGroups
      expect(problems).toEqual([])
      const [own] = groups.filter((it) => it.topic === topic)
      return own?.state === "Stable" && own.members === 1 && own.lag === 0 && own.positions.length === 4
    })
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

  test.each([{ "retention.bytes": "20000" }, { "retention.ms": "10000" }])(
    "waiting records are warned of before the topic's %p deletes them",
    async (configs) => {
      const topic = freshTopic()
      await createTopic(kafka, topic, { partitions: 1, configs })
      using folder = temporaryFolder()
      await using receiver = new Receiver(() => new Response("", { status: 503 }))
      await using service = await startHookline(configuration(topic, receiver.url), { folder: folder.path })
      await service.logged(({ msg }) => msg === "partitions assigned")
      const body = JSON.stringify({ k: "k", text: "x".repeat(9000) })
      for (let n = 0; n < 2; n++)
        expect((await fetch(service.urls["hooks"]!, { method: "POST", body })).status).toBe(200)
      await service.logged(
        ({ msg }) => msg === `retention will soon delete waiting records, starting at ${topic}[0]@0`,
      )
    },
  )

  test("a pause applies to all replicas, outlasts them, and is ended from a machine without one", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 2 })
    using folders = new DisposableStack()
    await using receiver = new Receiver()
    const start = () =>
      startHookline(configuration(topic, receiver.url), { folder: folders.use(temporaryFolder()).path })
    const act = async ({ adminUrl }: RunningHookline, action: string): Promise<number> =>
      (await fetch(`${adminUrl}/api/forwards/app/${action}`, { method: "POST" })).status
    const isPaused = ({ msg }: LogLine): boolean => msg === "forwarding paused"
    posted = 0
    {
      await using a = await start()
      await using b = await start()
      await b.logged(({ partitions }) => (partitions as number[] | undefined)?.length === 1)
      await a.logged(({ partitions }) => (partitions as number[] | undefined)?.length === 1)
      await post(a.urls["hooks"]!, 20)
      await receiver.count(20)
      expect(await act(b, "pause")).toBe(204)
      await Promise.all([a.logged(isPaused), b.logged(isPaused)])
    }
    await using c = await start()
    await c.logged(isPaused)
    await post(c.urls["hooks"]!, 20)
    const elsewhere = folders.use(temporaryFolder()).path
    await Bun.write(join(elsewhere, "pipelines.conf"), configuration(topic, receiver.url))
    expect(receiver.all).toHaveLength(20)
    expect(await hookline(["forward", "resume", "app"], { cwd: elsewhere })).toMatchObject({
      status: 0,
      stdout: "app resumed\n",
    })
    await receiver.count(40)
    expect(new Set(placesOf(receiver)).size).toBe(40)
  })
})
