import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { pino } from "pino"
import type { StoredRecord } from "../../src/brokers/broker.ts"
import { KAFKA } from "../../src/brokers/kafka/kind.ts"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { NO_VALUE, type Record } from "../../src/pipeline/record.ts"
import { BrokerTarget } from "../../src/replay/broker-target.ts"
import { ReplayJob } from "../../src/replay/job.ts"
import type { ReplayProgress } from "../../src/replay/progress.ts"
import { selectRecords } from "../../src/replay/range.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { AdminApi } from "../support/admin-api.ts"
import { kafkaOptions, openTestBroker } from "../support/kafka-options.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"

const kafka = await kafkaForTests()
const DAY_MS = 86_400_000

describe.skipIf(kafka === undefined)("replaying a Kafka topic", () => {
  /** Publishes records in batches as they come, and returns them as they are read. */
  async function fill(topic: string, records: readonly Omit<Record, "topic">[]): Promise<StoredRecord[]> {
    await using broker = openTestBroker(kafka!)
    await Promise.all(records.map((one) => broker.publish({ topic, ...one }, steadyMs() + PATIENT_MS)))
    return read(topic)
  }

  async function read(topic: string): Promise<StoredRecord[]> {
    const reader = openKafkaReader(kafkaOptions(kafka!.bootstrapServers))
    const { signal } = new AbortController()
    try {
      return await Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
    } finally {
      await reader.close()
    }
  }

  async function replay(
    from: string,
    to: string,
    onRefusal: "stop" | "skip" = "stop",
  ): Promise<ReplayProgress> {
    const values = {
      ...kafkaOptions(kafka!.bootstrapServers),
      delivery_timeout: 1,
      spool: "off",
      spool_max_bytes: 1,
    } as const
    const reader = openKafkaReader(values)
    const broker = await KAFKA.open(values, pino({ level: "silent" }))
    const selection = await selectRecords(reader, from, {})
    const target = new BrokerTarget({ broker, topic: to, partitions: selection.partitions })
    const job = new ReplayJob({ reader, selection, target, onRefusal })
    await job.start()
    await Promise.all([reader.close(), broker.close()])
    expect(job.progress()).toMatchObject({ state: "done", problem: undefined })
    return job.progress()
  }

  /** By partition, everything but the topic and the offset. */
  const contents = (records: readonly StoredRecord[]) =>
    Object.fromEntries(
      Map.groupBy(records, ({ partition }) => partition)
        .entries()
        .map(([partition, all]) => [
          partition,
          all.map(({ timestampMs, key, value, headers }) => ({ timestampMs, key, value, headers })),
        ]),
    )

  const records = Array.from({ length: 3000 }, (_, i): Omit<Record, "topic"> => {
    const key = i % 5 === 0 ? undefined : Buffer.from(`key ${i % 17}`)
    return {
      key,
      value: i % 50 === 1 ? NO_VALUE : Buffer.from(i % 70 === 2 ? "" : `{"n":${i},"raw":"\u0000ü"}`),
      headers: [
        ["n", Buffer.from([i & 255, 0, 255])],
        ["n", i % 3 === 0 ? NO_VALUE : Buffer.alloc(0)],
      ],
      // far apart, so that a batch has more than a year between its records
      timestampMs: 1_700_000_000_000 - i * DAY_MS,
      // so that records without a key are spread, too
      sourcePartition: { number: i % 3, of: 3 },
    }
  })

  test("keeps partitions, values, keys, headers and times where both topics have as many", async () => {
    const [from, to] = [freshTopic(), freshTopic()]
    await createTopic(kafka!, from, { partitions: 3 })
    await createTopic(kafka!, to, { partitions: 3 })
    const filled = await fill(from, records)
    expect(filled).toHaveLength(3000)
    expect(filled.filter(({ value }) => value === NO_VALUE)).toHaveLength(60)
    await replay(from, to)
    expect(contents(await read(to))).toEqual(contents(filled))
  })

  test("continues after records that are larger than the target takes, with all others in order", async () => {
    const [from, to] = [freshTopic(), freshTopic()]
    await createTopic(kafka!, from)
    await createTopic(kafka!, to, { configs: { "max.message.bytes": "20000" } })
    const large = [0, 7, 8, 499]
    const filled = await fill(
      from,
      Array.from({ length: 500 }, (_, n) => ({ value: Buffer.alloc(large.includes(n) ? 30_000 : 300, n) })),
    )
    const { failed, failures, replayed } = await replay(from, to, "skip")
    expect([failed, replayed]).toEqual([4, 496])
    expect(failures.map(({ offset, code }) => [offset, code])).toEqual(
      large.map((offset) => [offset, "record_too_large"]),
    )
    const kept = filled.filter(({ offset }) => !large.includes(offset))
    expect(contents(await read(to))).toEqual(contents(kept))
  })

  test("goes by the key where the partitions are others, and keeps the order of each key and of what has none", async () => {
    const [from, to] = [freshTopic(), freshTopic()]
    await createTopic(kafka!, from, { partitions: 3 })
    await createTopic(kafka!, to, { partitions: 2 })
    const filled = await fill(from, records)
    await replay(from, to)
    const replayed = await read(to)
    const sequenceOf = (all: readonly StoredRecord[], key: string) =>
      all.filter((one) => `${one.key}` === key).map(({ timestampMs }) => timestampMs)
    for (let i = 0; i < 17; i++)
      expect(sequenceOf(replayed, `key ${i}`)).toEqual(sequenceOf(filled, `key ${i}`))
    const unkeyed = (all: readonly StoredRecord[], partition: number) =>
      all
        .filter((one) => one.key === undefined && one.partition === partition)
        .map(({ timestampMs }) => timestampMs)
    // the second goes to the second; the others, merged by time, to the first
    expect(unkeyed(replayed, 1)).toEqual(unkeyed(filled, 1))
    expect(unkeyed(replayed, 0).toSorted()).toEqual([...unkeyed(filled, 0), ...unkeyed(filled, 2)].toSorted())
    // as every producer does it
    const again = freshTopic()
    await createTopic(kafka!, again, { partitions: 2 })
    const keyed = filled.filter(({ key }) => key !== undefined)
    const plain = await fill(
      again,
      keyed.map(({ key, value }) => ({ key, value })),
    )
    const placeOf = (all: readonly StoredRecord[]) =>
      new Map(all.flatMap(({ key, partition }) => (key === undefined ? [] : [[`${key}`, partition]])))
    expect(placeOf(replayed)).toEqual(placeOf(plain))
  })

  test("to itself is refused, under whatever name its cluster is configured", async () => {
    const [from, to] = [freshTopic("itself"), freshTopic("itself-other")]
    await Promise.all([createTopic(kafka!, from), createTopic(kafka!, to)])
    const [server = ""] = kafka!.bootstrapServers
    using folder = temporaryFolder()
    await Bun.write(
      join(folder.path, "pipelines.conf"),
      `[connection:a]\nbootstrap_servers = ${server}\n[connection:b]\nbootstrap_servers = ${server.replace("127.0.0.1", "localhost")}\n`,
    )
    expect(server).toStartWith("127.0.0.1:")
    const run = (target: string) =>
      hookline(["replay", "--from", `a/${from}`, "--to", target], { cwd: folder.path })
    expect(await run(`b/${from}`)).toMatchObject({
      status: 64,
      stderr: "--from and --to are the same topic\n(see hookline replay --help)\n",
    })
    expect(await run(`b/${to}`)).toMatchObject({ status: 0, stderr: "" })
  })
})

test.skipIf(kafka === undefined || !hasKcat())(
  "acts through the admin API are records of audit_topic on Kafka, in their order, also those before a stop",
  async () => {
    const [topic, audit] = [freshTopic("acted"), freshTopic("audit")]
    await Promise.all([topic, audit].map((name) => createTopic(kafka!, name, { partitions: 3 })))
    const configuration = `[connection:kafka]
bootstrap_servers = ${kafka!.bootstrapServers.join(",")}
[pipeline:a:WebHookSource]
host = 127.0.0.1
port = ${await freePort()}
[pipeline:a:BrokerSink]
topic = ${topic}
[admin]
listen = 127.0.0.1:0
audit_topic = kafka/${audit}
`
    {
      await using it = await AdminApi.start(configuration)
      for (const n of [1, 2, 3, 4]) await it.post("send", { pipeline: "a", body: `{"n":${n}}` })
      await it.post("log-level", { level: "debug" }, "PUT")
    }
    const recorded = await readWithKcat(kafka!, audit)
    expect(new Set(recorded.map(({ key }) => String(key)))).toEqual(new Set(["admin"]))
    const actions = recorded.map(({ value }) => (JSON.parse(value.toString()) as { action: string }).action)
    expect(actions).toEqual([...Array.from({ length: 4 }, () => "POST /api/send"), "PUT /api/log-level"])
  },
)
