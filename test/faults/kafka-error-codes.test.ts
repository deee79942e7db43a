import { protocolErrors } from "../../src/brokers/kafka/client-library.ts"
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { steadyMs } from "../../src/clock/clock.ts"
import { folderOfTests, startHookline, type RunningHookline } from "../support/hookline.ts"
import { addressBehind, kafkaOfTests } from "../support/kafka-behind.ts"
import {
  PRODUCE,
  readProduce,
  readProduceAnswer,
  refusedPartition,
  writeProduce,
  writeProduceAnswer,
} from "../support/kafka-frames.ts"
import { LATE_MS } from "../support/findings.ts"
import { until } from "../support/kafka-options.ts"
import { openInterceptor, type Interceptor, type Handling } from "../support/kafka-interceptor.ts"
import { administer, canStartKafka, freshTopic, type TestKafka } from "../support/kafka.ts"
import { keysOfEach } from "../support/keys.ts"
import { withheldMs } from "../support/starvation.ts"

const DELIVERY_TIMEOUT_MS = 10_000
/** Whom no error concerns waits less than this. */
const UNHINDERED_MS = DELIVERY_TIMEOUT_MS / 2

interface Case {
  readonly name: string
  readonly code: number
  /** Whether Kafka itself calls it one that goes away: a spool may wait for that. */
  readonly mayWait: boolean
}

/** Codes that mean that the batch is in the log. */
const STORED = [0, 46]
const CASES: readonly Case[] = [
  ...Object.values(protocolErrors).map(({ id, code, canRetry }) => ({ name: id, code, mayWait: canRetry })),
  { name: "UNHEARD_OF", code: 999, mayWait: false },
].filter(({ code }) => !STORED.includes(code))

/** Events of the first key meet the error, those of the second do not. */
const [REFUSED, TAKEN] = keysOfEach(2) as [string, string]

const interceptor = await openInterceptor()

const available = await canStartKafka()
describe.skipIf(!available)(`each of ${CASES.length} error codes that a broker may answer`, () => {
  const folder = folderOfTests()
  const unhindered = "unhindered"
  const pipelines = [...CASES.map(({ name }) => name.toLowerCase()), unhindered]
  const kafka = kafkaOfTests(
    { properties: { "auto.create.topics.enable": "false", "message.max.bytes": "10000000" } },
    [interceptor],
  )
  let prefix: string
  let running: RunningHookline

  beforeEach(async () => {
    prefix = freshTopic()
    const topics = pipelines.map(topicOf)
    await administer(kafka, (admin) => admin.createTopics({ topics, partitions: 2, replicas: 1 }))
    const codes = new Map(CASES.map(({ name, code }) => [topicOf(name), code]))
    answerWithCodes(interceptor, (topic, partition) => (partition === 0 ? (codes.get(topic) ?? 0) : 0))
  })
  afterEach(() => running.stop())

  const topicOf = (name: string): string => `${prefix}-${name.toLowerCase()}`

  async function start(connection: string): Promise<void> {
    const sections = pipelines.map(
      (name) => `
[pipeline:${name}:WebHookSource]
[pipeline:${name}:BrokerSink]
topic = ${topicOf(name)}
key = json:/k`,
    )
    const head = `[connection:broker]
bootstrap_servers = ${interceptor.address}
delivery_timeout = ${DELIVERY_TIMEOUT_MS}ms
${connection}`
    running = await startHookline([head, ...sections].join("\n"), { folder: folder.path })
  }

  interface Answered {
    readonly name: string
    readonly status: number
    /** Less the time for which the machine let neither the sender nor Hookline run. */
    readonly waitMs: number
  }

  async function post(name: string, key: string, n: number): Promise<Answered> {
    const ownMs = (): number => steadyMs() - withheldMs(process.pid) - withheldMs(running.pid)
    const fromMs = ownMs()
    const response = await fetch(running.urls[name]!, {
      method: "POST",
      body: JSON.stringify({ n, k: key }),
    })
    await response.text()
    return { name, status: response.status, waitMs: ownMs() - fromMs }
  }

  /** Posts one event to each pipeline of a list. */
  const postAll = (names: readonly string[], key: string, n: number): Promise<Answered[]> =>
    Promise.all(names.map((name) => post(name, key, n)))

  const cases = pipelines.filter((name) => name !== unhindered)
  const wrong = (answers: readonly Answered[], isRight: (answer: Answered) => boolean): Answered[] =>
    answers.filter((answer) => !isRight(answer))
  const isQuick = ({ status, waitMs }: Answered): boolean => status === 200 && waitMs < UNHINDERED_MS

  test("is answered in time, holds up nobody else, and what comes after it is acknowledged", async () => {
    interceptor.target = addressBehind(kafka)
    await start("")
    expect(wrong(await postAll(pipelines, TAKEN, 0), ({ status }) => status === 200)).toEqual([])
    const refused = postAll(cases, REFUSED, 1)
    const open = new Set([refused])
    void refused.finally(() => open.clear())
    const others: Answered[] = []
    for (let n = 2; open.size > 0; n++) {
      others.push(...(await postAll([unhindered], TAKEN, n)))
      others.push(...(await postAll(cases.slice((n * 7) % 100, ((n * 7) % 100) + 7), TAKEN, n)))
    }
    const answers = await refused
    expect(wrong(others, isQuick)).toEqual([])
    const inTime = ({ status, waitMs }: Answered): boolean =>
      status >= 400 && waitMs < DELIVERY_TIMEOUT_MS + LATE_MS
    expect(wrong(answers, inTime)).toEqual([])
    interceptor.handle = () => "pass"
    expect(wrong(await postAll(cases, REFUSED, 100), ({ status }) => status === 200)).toEqual([])
  })

  test("makes a spool wait where it goes away by itself, else the event is quarantined, and those after it move on", async () => {
    interceptor.target = undefined
    await start(`spool = ${join(folder.path, "spool")}`)
    for (const [n, key] of [REFUSED, TAKEN].entries())
      expect(wrong(await postAll(pipelines, key, n), ({ status }) => status === 200)).toEqual([])
    interceptor.target = addressBehind(kafka)
    const isQuarantined = (name: string): boolean =>
      running.log.some(({ msg, topic }) => msg.startsWith("QUARANTINED") && topic === topicOf(name))
    const final = CASES.filter(({ mayWait }) => !mayWait).map(({ name }) => name)
    await until("what is not taken is quarantined", async () => {
      expect(wrong([await post(unhindered, TAKEN, 2)], ({ status }) => status === 200)).toEqual([])
      return final.every(isQuarantined)
    })
    const unheardOf = running.log.find(
      ({ msg, topic }) => msg.startsWith("QUARANTINED") && topic === topicOf("UNHEARD_OF"),
    )
    expect(unheardOf).toMatchObject({ level: "error", records: 1, reason: expect.stringContaining("999") })

    interceptor.handle = () => "pass"
    const missing = async (): Promise<string[]> => {
      const counts = await recordsOf(kafka, pipelines.map(topicOf))
      return pipelines.filter((name) => {
        const [refused, taken] = counts.get(topicOf(name))!
        return taken! < 1 || (refused! < 1 && !isQuarantined(name))
      })
    }
    await until("the others are there", async () => (await missing()).length === 0)
  })
})

/** How many records each partition of some topics has, by the topic's name. */
async function recordsOf(kafka: TestKafka, topics: readonly string[]): Promise<Map<string, number[]>> {
  const asked = [0, 1].map((partitionIndex) => ({ partitionIndex, timestamp: -1n }))
  const of = topics.map((name) => ({ name, partitions: asked }))
  const listed = await administer(kafka, (admin) => admin.listOffsets({ topics: of }))
  return new Map(
    listed.map(({ name, partitions }) => {
      const inOrder = partitions.toSorted((a, b) => a.partitionIndex - b.partitionIndex)
      return [name, inOrder.map(({ offset }) => Number(offset))]
    }),
  )
}

/**
 * Has a broker answer the batches of some partitions with error codes. Those are not appended; the other batches of the
 * same requests are.
 *
 * @param codeOf the code that a partition gets; 0: none, its batches pass
 */
function answerWithCodes(
  interceptor: Interceptor,
  codeOf: (topic: string, partition: number) => number,
): void {
  interceptor.handle = ({ apiKey, body }): Handling => {
    if (apiKey !== PRODUCE) return "pass"
    const request = readProduce(body)
    const refused = request.topics.map(({ name, partitions }) => ({
      name,
      partitionResponses: partitions.flatMap(({ index }) => {
        const code = codeOf(name, index)
        return code === 0 ? [] : refusedPartition(index, code)
      }),
    }))
    const topics = request.topics
      .map(({ name, partitions }) => ({
        name,
        partitions: partitions.filter(({ index }) => codeOf(name, index) === 0),
      }))
      .filter(({ partitions }) => partitions.length > 0)
    if (topics.length === 0) {
      return { answer: writeProduceAnswer({ responses: refused, throttleTimeMs: 0, nodeEndpoints: [] }) }
    }
    if (refused.every(({ partitionResponses }) => partitionResponses.length === 0)) return "pass"
    return {
      body: writeProduce({ ...request, topics }),
      change: (bytes) => {
        const answer = readProduceAnswer(bytes)
        const responses = refused.map(({ name, partitionResponses }) => {
          const taken = answer.responses.find((topic) => topic.name === name)?.partitionResponses ?? []
          return { name, partitionResponses: [...partitionResponses, ...taken] }
        })
        return writeProduceAnswer({ ...answer, responses })
      },
    }
  }
}
