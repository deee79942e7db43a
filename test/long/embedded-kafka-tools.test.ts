import { beforeAll, expect, test } from "bun:test"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { canStartKafka } from "../support/kafka.ts"
import { kafkaAddressOf, kafkaTool, readableLog } from "../support/kafka-clients.ts"

// each tool starts a virtual machine
const folder = temporaryFolder()
const configuration = readableLog("kafka_listen = 127.0.0.1:0\nretention = 7d")
const running = sharedByTests(() => startHookline(configuration, { folder: folder.path }), folder)
let address: string
beforeAll(async () => {
  address = await kafkaAddressOf(running)
  for (let n = 0; n < 3; n++) await fetch(running.urls["webhooks"]!, { method: "POST", body: `{"n":${n}}` })
})

test.skipIf(!(await canStartKafka()))(
  "the command line tools of Apache Kafka read the embedded log",
  async () => {
    const place = ["--topic", "webhooks", "--partition", "0", "--offset", "earliest"]
    const read = await kafkaTool("consumer.ConsoleConsumer", address, ...place, "--max-messages", "3")
    expect(read.stdout.match(/^\{"n":\d/gm)).toEqual(['{"n":0', '{"n":1', '{"n":2'])

    const topics = await kafkaTool("TopicCommand", address, "--describe")
    expect(topics.stdout).toMatch(/Topic: webhooks\tTopicId: \S{22}\tPartitionCount: 1/)
    expect(topics.stdout).toContain("retention.ms=604800000")

    const offsets = await kafkaTool("GetOffsetShell", address)
    expect(offsets.stdout.trim()).toBe("webhooks:0:3")

    const folders = await kafkaTool("LogDirsCommand", address, "--describe")
    expect(folders.stdout).toContain('"partition":"webhooks-0"')

    const created = await kafkaTool("TopicCommand", address, "--create", "--topic", "other")
    expect(created.status).toBe(1)
    expect(created.stdout).toContain("topics of the embedded log are created and configured by Hookline")

    const grown = await kafkaTool(
      "TopicCommand",
      address,
      "--alter",
      "--topic",
      "webhooks",
      "--partitions",
      "3",
    )
    expect(grown.stdout).toContain("raise partitions of the connection")

    const topic = ["--topic", "webhooks", "--group", "new", "--timeout-ms", "60000"]
    const protocol = ["--consumer-property", "group.protocol=consumer"]
    const joined = await kafkaTool("consumer.ConsoleConsumer", address, ...topic, ...protocol)
    expect(`${joined.stdout}${joined.stderr}`).toContain("Set group.protocol=classic")
  },
)

test.skipIf(!(await canStartKafka()))(
  "Java's consumer groups are served, listed, described and reset",
  async () => {
    const group = ["--group", "java"]
    const consume = (...more: string[]) =>
      kafkaTool("consumer.ConsoleConsumer", address, "--topic", "webhooks", ...group, ...more)
    const read = await consume("--from-beginning", "--max-messages", "3")
    expect(read.stdout.match(/^\{"n":\d/gm)).toEqual(['{"n":0', '{"n":1', '{"n":2'])

    const groups = (...args: string[]) => kafkaTool("consumer.group.ConsumerGroupCommand", address, ...args)
    expect((await groups("--list")).stdout.trim()).toBe("java")
    const described = (await groups("--describe", ...group)).stdout
    expect(described).toMatch(/java\s+webhooks\s+0\s+3\s+3\s+0/)
    expect((await groups("--describe", "--state", ...group)).stdout).toMatch(/Empty\s+0/)

    const reset = ["--reset-offsets", "--topic", "webhooks", "--to-offset", "1", "--execute"]
    expect((await groups(...reset, ...group)).stdout).toMatch(/java\s+webhooks\s+0\s+1/)
    const again = await consume("--max-messages", "2")
    expect(again.stdout.match(/^\{"n":\d/gm)).toEqual(['{"n":1', '{"n":2'])

    expect((await groups("--delete-offsets", "--topic", "webhooks", ...group)).stdout).toContain("Successful")
    expect((await groups("--delete", ...group)).stdout).toContain("successful")
    expect((await groups("--list")).stdout.trim()).toBe("")
  },
)
