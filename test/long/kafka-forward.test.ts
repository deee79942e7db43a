import { beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { folderOfTests, hookline } from "../support/hookline.ts"
import { openTestBroker } from "../support/kafka-options.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { administer, canStartKafka, createTopic, deleteTopic, freshTopic } from "../support/kafka.ts"
import { Receiver } from "../support/receiver.ts"
import { startCommand, type RunningCommand } from "../support/running-command.ts"

const available = await canStartKafka()
describe.skipIf(!available)("a forward of a Kafka topic", () => {
  const folder = folderOfTests()
  const kafka = kafkaOfTests({ properties: { "auto.create.topics.enable": "false" } })
  beforeAll(async () => {
    const servers = kafka.bootstrapServers.join(",")
    await Bun.write(
      join(folder.path, "pipelines.conf"),
      `[connection:kafka]\nbootstrap_servers = ${servers}\n[connection:log]\ndirectory = log\n`,
    )
  })

  let published = 0
  beforeEach(() => {
    published = 0
  })
  /** Publishes records of many keys, and returns how many there are of each partition. */
  async function publish(topic: string, count: number): Promise<void> {
    await using broker = openTestBroker(kafka)
    const all = Array.from({ length: count }, () => {
      const n = published++
      const record = { topic, key: Buffer.from(`k${n % 50}`), value: Buffer.from(`{"type":"t","n":${n}}`) }
      return broker.publish(record, steadyMs() + PATIENT_MS)
    })
    await Promise.all(all)
  }

  /** Resolves when each record has come. */
  async function all(receiver: Receiver, count: number): Promise<void> {
    const distinct = (): number =>
      new Set(receiver.all.map(({ partition, offset }) => `${partition}:${offset}`)).size
    while (distinct() < count) await receiver.count(receiver.all.length + 1)
  }

  test("delivers every partition's records in order, over kills, a broker's restart and added partitions", async () => {
    const topic = freshTopic()
    await using receiver = new Receiver()
    const start = (): RunningCommand => startCommand(["forward", `kafka/${topic}`, receiver.url], folder.path)
    {
      // a topic that is yet to come: all of it is new
      await using forwarding = start()
      await forwarding.printed(/waiting: /)
      await createTopic(kafka, topic, { partitions: 3 })
      await publish(topic, 200)
      await receiver.count(100)
      forwarding.signal("SIGKILL")
    }
    {
      await using forwarding = start()
      await all(receiver, 200)
      await kafka.nodes[0]!.kill()
      await forwarding.printed(/\nwaiting: /)
      await kafka.nodes[0]!.start()
      await forwarding.printed(/\ncontinuing\n/)
      await publish(topic, 200)
      await all(receiver, 300)
      forwarding.signal("SIGKILL")
    }
    await using forwarding = start()
    await all(receiver, 400)
    await administer(kafka, (admin) => admin.createPartitions({ topics: [{ name: topic, count: 5 }] }))
    await publish(topic, 200)
    await all(receiver, 600)

    const kills = 2
    expect(receiver.all.length).toBeLessThanOrEqual(600 + kills)
    const byPartition = Map.groupBy(receiver.all, ({ partition }) => partition)
    expect([...byPartition.keys()].toSorted()).toEqual([0, 1, 2, 3, 4])
    for (const posts of byPartition.values()) {
      const offsets = posts.map(({ offset }) => offset)
      const inOrder = offsets.filter((offset, at) => offset !== offsets[at - 1])
      expect(inOrder).toEqual(Array.from(inOrder, (_, n) => n))
    }
    const bodies = new Set(receiver.all.map(({ body }) => body.toString()))
    expect(bodies).toEqual(new Set(Array.from({ length: published }, (_, n) => `{"type":"t","n":${n}}`)))
    await forwarding.printed(/ t \S+\[4\]@\d+ 200 in \d+ ms\n/)
  })

  test("posts a refused record of Kafka again", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: 2 })
    await publish(topic, 20)
    await using receiver = new Receiver(
      ({ offset }) => new Response("", { status: offset === 2 ? 404 : 200 }),
    )
    await using forwarding = startCommand(
      ["forward", `kafka/${topic}`, receiver.url, "--begin", "beginning", "--retries", "0", "--name", "n"],
      folder.path,
    )
    await all(receiver, 20)
    await forwarding.printed(/404 in \d+ ms; refused\n[^]*404 in \d+ ms; refused\n/)
    receiver.answer = () => new Response()
    const { status, stdout } = await hookline(["forward", "retry", "n"], { cwd: folder.path })
    expect([status, stdout.split("\n").toSorted()]).toEqual([
      0,
      ["", `${topic}[0]@2 200`, `${topic}[1]@2 200`],
    ])
  })

  test("posts no record of a topic that was created again in place of a refused one", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await publish(topic, 1)
    await using receiver = new Receiver(() => new Response("", { status: 404 }))
    {
      const args = ["--begin", "beginning", "--retries", "0", "--name", "former"]
      await using forwarding = startCommand(["forward", `kafka/${topic}`, receiver.url, ...args], folder.path)
      await forwarding.printed(/404 in \d+ ms; refused\n/)
    }
    await deleteTopic(kafka, topic)
    await createTopic(kafka, topic)
    await publish(topic, 1)
    expect(await hookline(["forward", "retry", "former"], { cwd: folder.path })).toMatchObject({
      status: 64,
      stderr: expect.stringContaining(`topic ${topic} was created again`),
    })
    expect(receiver.all).toHaveLength(1)
  })
})
