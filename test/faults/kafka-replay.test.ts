import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import type { LogReader } from "../../src/brokers/broker.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { HooklineError } from "../../src/errors.ts"
import type { Record } from "../../src/pipeline/record.ts"
import { lengthOf } from "../../src/replay/range.ts"
import { fillLog, recordsInLog } from "../support/embedded-log.ts"
import { isFull, report } from "../support/fault-table.ts"
import { folderOfTests } from "../support/hookline.ts"
import { kafkaOptions } from "../support/kafka-options.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { startCommand } from "../support/running-command.ts"

const COUNT = isFull ? 100_000 : 20_000
const PARTITIONS = 4
const KILLS = 2
/** How long one takes that is to be killed in its middle, also where a busy machine is slow to look how far it is. */
const SECONDS = 10
/** Records that a replay has sent and not yet saved as acknowledged. */
const WINDOW = 1000

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)(`a replay of ${COUNT} records`, () => {
  const folder = folderOfTests()
  const records = numberedRecords(COUNT)
  const kafka = kafkaOfTests()
  beforeAll(async () => {
    const connections = `[connection:log]\ndirectory = log\n[connection:back]\ndirectory = back\n[connection:kafka]\nbootstrap_servers = ${kafka.bootstrapServers.join(",")}\n`
    await Bun.write(join(folder.path, "pipelines.conf"), connections)
    await fillLog(join(folder.path, "log"), "in", records)
  })

  const start = (from: string, to: string, ...more: string[]) =>
    startCommand(["replay", "--from", from, "--to", to, ...more], folder.path)

  /** Resolves when a topic has that many records. */
  async function filled(open: () => LogReader, topic: string, count: number): Promise<void> {
    for (;;) {
      try {
        const reader = open()
        const ranges = await reader.ranges(topic).finally(() => reader.close())
        if (lengthOf(ranges) >= count) return
      } catch (error) {
        if (!(error instanceof HooklineError)) throw error
      }
      await Bun.sleep(5)
    }
  }

  /** Replays, and kills it with SIGKILL when the target has a third and two thirds. */
  async function replayKilled(from: string, to: string, open: () => LogReader): Promise<void> {
    const [, topic] = to.split("/") as [string, string]
    for (let kill = 1; kill <= KILLS; kill++) {
      await using running = start(from, to, "--rate", `${COUNT / SECONDS}`)
      await filled(open, topic, (COUNT * kill) / (KILLS + 1))
      running.signal("SIGKILL")
      expect(await running.exited).toBe("SIGKILL")
    }
    await using last = start(from, to)
    expect(await last.exited).toBe(0)
    expect(last.output()).toMatch(new RegExp(`^resuming [^]*\n${COUNT} records replayed, in `))
  }

  test(`from the embedded log to Kafka and back, killed ${KILLS} times with kill -9 each way: all arrive, in order, each byte the same`, async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: PARTITIONS })
    await replayKilled("log/in", `kafka/${topic}`, () =>
      openKafkaReader(kafkaOptions(kafka.bootstrapServers)),
    )
    const there = (await readWithKcat(kafka, topic)).map(toMoved)
    const findings = compareMoved(records, there)
    report(`Replay from an embedded log to Kafka killed ${KILLS} times`, findings)
    expect(findings).toMatchObject({ lost: 0, changed: 0, disordered: 0 })
    expect(findings.doubled).toBeLessThanOrEqual(KILLS * WINDOW)
    expect(findings.restarts).toBeLessThanOrEqual(KILLS * PARTITIONS)

    const clean = freshTopic()
    await createTopic(kafka, clean, { partitions: PARTITIONS })
    await using whole = start("log/in", `kafka/${clean}`)
    expect(await whole.exited).toBe(0)
    expect(compareMoved(records, (await readWithKcat(kafka, clean)).map(toMoved)).doubled).toBe(0)
    await replayKilled(`kafka/${clean}`, "back/in", () => openEmbeddedReader(join(folder.path, "back")))
    const back = (await recordsInLog(join(folder.path, "back"), "in")).map(toMoved)
    const returned = compareMoved(records, back)
    report(`Replay from Kafka to an embedded log killed ${KILLS} times`, returned)
    // partitions are merged by time, which rises with each record
    expect(returned).toMatchObject({ lost: 0, changed: 0, disordered: 0 })
    expect(returned.doubled).toBeLessThanOrEqual(KILLS * WINDOW)
  })

  test("to a Kafka that is killed and started again: all arrive, in order, none is doubled", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic, { partitions: PARTITIONS })
    await using running = start("log/in", `kafka/${topic}`)
    await filled(() => openKafkaReader(kafkaOptions(kafka.bootstrapServers)), topic, COUNT / 3)
    await kafka.nodes[0]!.kill()
    await running.printed(/waiting: /)
    await kafka.nodes[0]!.start()
    expect(await running.exited).toBe(0)
    const findings = compareMoved(records, (await readWithKcat(kafka, topic)).map(toMoved))
    report("Replay to a Kafka that is killed and started again", findings)
    expect(findings).toMatchObject({ lost: 0, doubled: 0, changed: 0, disordered: 0 })
  })
})

/** A record as it is compared: bytes as text of latin1, so that they can be compared at once. */
interface Moved {
  readonly partition: number
  readonly timestampMs: number
  readonly key: string | undefined
  readonly value: string
  /** As kcat writes them: `name=value,name=value`. */
  readonly headers: string
}

/** An hour ago: among records older than a day a restarted broker recognises no duplicates, docs/reliability.md. */
const START_MS = Date.now() - 3_600_000
const KEYS = 97

/** Records of many keys, every fifth without one, with values of any bytes and numbered by a header. */
const numberedRecords = (count: number): Omit<Record, "topic">[] =>
  Array.from({ length: count }, (_, n) => ({
    key: n % 5 === 0 ? undefined : Buffer.from(`k${n % KEYS}`),
    value: Buffer.from(`{"n":${n},"raw":"${"\u0000\nü".slice(0, n % 4)}${"x".repeat(n % 200)}"}`),
    headers: [
      ["n", Buffer.from(`${n}`)],
      ["n", Buffer.from("again")],
    ],
    timestampMs: START_MS + n,
  }))

const toMoved = (record: {
  readonly partition?: number
  readonly timestampMs?: number | undefined
  readonly key?: Uint8Array | undefined
  readonly value: Uint8Array
  readonly headers?: string | readonly (readonly [string, Uint8Array])[] | undefined
}): Moved => {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")
  const { partition = 0, timestampMs = -1, key, value, headers = [] } = record
  return {
    partition,
    timestampMs,
    key: key === undefined ? undefined : text(key),
    value: text(value),
    headers:
      typeof headers === "string" ? headers : headers.map(([name, of]) => `${name}=${text(of)}`).join(","),
  }
}

/** What became of records that were replayed, in the terms of the table of faults. */
interface MovedFindings {
  readonly sent: number
  readonly acknowledged: number
  readonly found: number
  readonly lost: number
  readonly doubled: number
  readonly longestWaitMs: undefined
  /** In the target with another key, value, header or time. */
  readonly changed: number
  /** In a partition where they came first, behind one that was after it in the source. */
  readonly disordered: number
  /** How often the records of a partition begin again before what it has. */
  readonly restarts: number
}

/** @param target by offset within each partition */
function compareMoved(source: readonly Omit<Record, "topic">[], target: readonly Moved[]): MovedFindings {
  const seen = new Set<number>()
  const last = new Map<number, { first: number; any: number }>()
  let [changed, disordered, restarts] = [0, 0, 0]
  for (const record of target) {
    const n = Number(/^n=(\d+),/.exec(record.headers)?.[1])
    const original = source[n]
    if (
      original === undefined ||
      !Bun.deepEquals({ ...toMoved(original), partition: record.partition }, record)
    )
      changed++
    const before = last.get(record.partition) ?? { first: -1, any: -1 }
    if (n <= before.any) restarts++
    if (!seen.has(n) && n < before.first) disordered++
    last.set(record.partition, { first: seen.has(n) ? before.first : n, any: n })
    seen.add(n)
  }
  return {
    sent: source.length,
    acknowledged: source.length,
    found: seen.size,
    lost: source.length - seen.size,
    doubled: target.length - seen.size,
    longestWaitMs: undefined,
    changed,
    disordered,
    restarts,
  }
}
