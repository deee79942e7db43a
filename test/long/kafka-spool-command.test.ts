import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { hookline, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, deleteTopic } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const TOPIC = "webhooks"
const LARGE = `{"n":"large","pad":"${"x".repeat(5000)}"}`

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("hookline spool", () => {
  const folder = folderOfTests()
  const kafka = kafkaOfTests()
  beforeAll(async () => {
    await createTopic(kafka, TOPIC, { configs: { "max.message.bytes": "2000" } })
    kafka.nodes[0]!.pause()
  })

  const configuration = (): string => `[connection:kafka]
bootstrap_servers = ${kafka.bootstrapServers}
spool = spool.sqlite
delivery_timeout = 10s
[connection:log]
directory = log
[pipeline:webhooks:WebHookSource]
[pipeline:webhooks:BrokerSink]
connection = kafka
topic = ${TOPIC}
key = json:/n
[service]
drain_timeout = 1s`
  const spool = (...args: string[]): ReturnType<typeof hookline> =>
    hookline(["spool", ...args], { cwd: folder.path })
  const post = async (running: RunningHookline, body: string): Promise<number> =>
    (await fetch(running.urls["webhooks"]!, { method: "POST", body })).status
  const published = async (): Promise<string[]> =>
    (await readWithKcat(kafka, TOPIC)).map(({ key }) => key!.toString())

  /** While Hookline runs: `status` looks at it, `drain` is refused. */
  async function spoolsAll(): Promise<void> {
    await using running = await startHookline(configuration(), { folder: folder.path })
    expect(await spool("status")).toMatchObject({
      status: 0,
      stdout: `kafka: ${join(folder.path, "spool.sqlite")}\n0 to be forwarded, 0 of 1073741824 bytes\n`,
    })
    const bodies = [...Array.from({ length: 5 }, (_, n) => `{"n":"${n}"}`), LARGE]
    for (const body of bodies) expect(await post(running, body)).toBe(200)
    const { status, stdout } = await spool("status", "kafka")
    expect(status).toBe(0)
    expect(stdout).toMatch(/^6 to be forwarded, \d+ of 1073741824 bytes\nTOPIC +RECORDS +BYTES +OLDEST\n/m)
    expect(stdout).toMatch(/^webhooks +6 +5\d{3} +20\d\d-\d\d-\d\dT[\d:.]+Z$/m)
    const refused = await spool("drain")
    expect(refused.status).toBe(69)
    expect(refused.stderr).toContain(`is being written to by process ${running.pid}`)
    expect(await running.stop()).toBe(0)
  }

  async function givesUp(): Promise<void> {
    const { status, stdout } = await spool("drain", "--timeout", "2.5")
    expect(status).toBe(1)
    expect(stdout).toMatch(
      /^0 forwarded, 6 left, 0 quarantined\nKafka (?:is not connected yet|unavailable: [a-z ]+ \(127\.0\.0\.1:\d+\))\n$/,
    )
  }

  async function forwardsOrQuarantines(): Promise<void> {
    kafka.nodes[0]!.resume()
    const { status, stdout } = await spool("drain")
    expect([status, stdout]).toEqual([
      1,
      "5 forwarded, 0 left, 1 quarantined\nhookline spool status shows why events were quarantined\n",
    ])
    expect(await published()).toEqual(["0", "1", "2", "3", "4"])
    expect((await spool("status")).stdout).toMatch(
      /^1 quarantined, which Kafka refused for good:\nTOPIC.*\nwebhooks +1 +5\d{3} .* the record exceeds max\.message\.bytes of topic webhooks, \d+$/m,
    )
    expect(JSON.parse((await spool("status", "--json")).stdout)).toMatchObject([
      {
        connection: "kafka",
        records: 0,
        quarantined: [{ topic: TOPIC, records: 1, oldest: expect.any(String) }],
      },
    ])
    const [line] = (await spool("quarantine")).stdout.trimEnd().split("\n")
    const { key, value, reason, topic } = JSON.parse(line!) as { [field: string]: unknown }
    expect({ key, topic, reason }).toEqual({
      key: "large",
      topic: TOPIC,
      reason: expect.stringMatching(/^the record exceeds max\.message\.bytes of topic webhooks, \d+$/),
    })
    expect(value).toMatchObject({ n: "large", pad: expect.stringMatching(/^x+$/) })
  }

  async function triesAgain(): Promise<void> {
    await deleteTopic(kafka, TOPIC)
    await createTopic(kafka, TOPIC)
    const { status, stdout } = await spool("drain")
    expect([status, stdout]).toEqual([0, "1 forwarded, 0 left, 0 quarantined\n"])
    expect(await published()).toEqual(["large"])
    expect((await spool("drain")).stdout).toBe("0 forwarded, 0 left, 0 quarantined\n")
  }

  test("drain leaves all to a running Hookline, gives up without Kafka, forwards or quarantines, and tries again", async () => {
    for (const step of [spoolsAll, givesUp, forwardsOrQuarantines, triesAgain]) await step()
  })

  test("a connection without a spool is named, and those that have one", async () => {
    await Bun.write(join(folder.path, "pipelines.conf"), configuration())
    for (const command of ["status", "drain", "quarantine"]) {
      const { status, stderr } = await spool(command, "log")
      const said = "no connection log of the file has a spool; these have: kafka"
      expect([status, stderr]).toEqual([64, `${said}\n(see hookline spool ${command} --help)\n`])
    }
  })
})
