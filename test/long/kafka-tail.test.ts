import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { canBeRead } from "../support/can-be-read.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { openTestBroker } from "../support/kafka-options.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { PROGRAM } from "../support/program.ts"

const kafka = await kafkaForTests()
describe.skipIf(kafka === undefined)("a topic of Kafka", () => {
  const topic = freshTopic("tail")
  beforeAll(() => createTopic(kafka!, topic))
  canBeRead(() => ({ connection: `bootstrap_servers = ${kafka!.bootstrapServers}`, topic }))
})

test.skipIf(kafka === undefined)(
  "tail --follow waits for a Kafka that is unavailable; what its topic had before is not new",
  async () => {
    const topic = freshTopic("tail")
    await createTopic(kafka!, topic)
    await using broker = openTestBroker(kafka!)
    for (const n of [1, 2, 3])
      await broker.publish({ topic, value: Buffer.from(`{"n":${n}}`) }, steadyMs() + PATIENT_MS)
    using folder = temporaryFolder()
    await using proxy = await openProxy()
    const conf = join(folder.path, "pipelines.conf")
    const pipeline = `[pipeline:a:WebHookSource]\n[pipeline:a:BrokerSink]\ntopic = ${topic}`
    await Bun.write(conf, `[connection:kafka]\nbootstrap_servers = ${proxy.address}\n${pipeline}`)
    const tail = Bun.spawn([...PROGRAM, "tail", topic, "-f", "-n", "1", "-c", conf], {
      cwd: join(import.meta.dir, "../.."),
      stdout: "pipe",
      stderr: "pipe",
    })
    const { value: note } = await tail.stderr.getReader().read()
    expect(Buffer.from(note!).toString()).toMatch(/^waiting: Kafka unavailable: .*\n$/)
    proxy.target = kafka!.bootstrapServers[0]
    const { value: printed } = await tail.stdout.getReader().read()
    expect(Buffer.from(printed!).toString()).toBe('{"n":3}\n')
    tail.kill("SIGINT")
    expect(await tail.exited).toBe(0)
  },
)
