import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { isFull, report } from "../support/fault-table.ts"
import { compare, expectKept, type Findings, type Logged } from "../support/findings.ts"
import { temporaryFolder, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { freePorts } from "../support/kafka-node.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { childrenOf } from "../support/worker-processes.ts"
import { eventsInKafka, eventsInLog, onKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 2000
const KILLS = isFull ? 20 : 4
const STOPS = isFull ? 20 : 4
/** Each waits longer for the next one's start, see back-off.ts. */
const WORKER_KILLS = isFull ? 8 : 4

interface Service {
  readonly connection: string
  readonly topic: string
  readonly read: () => Promise<Logged[]>
}

/** Two workers under load of which one is killed again and again, as soon as both take webhooks. */
async function killWorkers(times: number, { connection, topic, read }: Service): Promise<Findings> {
  using folder = temporaryFolder()
  const [port] = await freePorts(1)
  const running = await startService({
    folder: folder.path,
    connection,
    topic,
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    port: port!,
    workers: 2,
  })
  const isBack = ({ msg }: LogLine): boolean => msg === "the worker takes webhooks again"
  const senders = new NumberedSenders(serving(running), { pauseMs: 1 })
  for (let time = 1; time <= times; time++) {
    await senders.many(50 + Math.floor(Math.random() * 100))
    // in turn, so that neither is taken for one that ends again and again before the other
    process.kill(childrenOf(running.pid)[0]!, "SIGKILL")
    await running.logged(() => running.log.filter(isBack).length === time)
  }
  await senders.many(50)
  await senders.stop()
  expect(await running.stop()).toBe(0)
  return compare(senders.posted, await read())
}

/** A Hookline under load that is ended again and again, each time at another moment of its work, and started anew. */
async function endAgainAndAgain(
  times: number,
  end: (running: RunningHookline) => Promise<void>,
  { connection, topic, read }: Service,
): Promise<Findings> {
  using folder = temporaryFolder()
  const [port] = await freePorts(1)
  const start = (): Promise<RunningHookline> =>
    startService({
      folder: folder.path,
      connection,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      port: port!,
    })
  let running = await start()
  const senders = new NumberedSenders(serving(running), { pauseMs: 1 })
  for (let time = 0; time < times; time++) {
    await senders.many(50 + Math.floor(Math.random() * 100))
    await end(running)
    running = await start()
    senders.pid = running.pid
  }
  await senders.many(50)
  await senders.stop()
  await running.stop()
  return compare(senders.posted, await read())
}

async function kill(running: RunningHookline): Promise<void> {
  running.signal("SIGKILL")
  await running.exited
}

async function stop(running: RunningHookline): Promise<void> {
  expect(await running.stop()).toBe(0)
}

const kafka = hasKcat() ? await kafkaForTests() : undefined
describe.skipIf(kafka === undefined)("Hookline on Kafka", () => {
  let topic: string
  const broker = () => ({
    connection: onKafka(kafka!),
    topic,
    read: () => eventsInKafka(kafka!, topic),
  })

  test(`killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const findings = await endAgainAndAgain(KILLS, kill, broker())
    report(`Hookline on Kafka killed ${KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)

  test(`one of two workers killed, ${WORKER_KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const findings = await killWorkers(WORKER_KILLS, broker())
    report(`One of two workers on Kafka killed ${WORKER_KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)

  test(`stopped ${STOPS} times under load: whoever sends is answered`, async () => {
    topic = freshTopic()
    await createTopic(kafka!, topic, { partitions: 3 })
    const findings = await endAgainAndAgain(STOPS, stop, broker())
    report(`Hookline on Kafka, SIGTERM ${STOPS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(findings.unansweredAndFound).toBe(0)
    expect(findings.found).toBe(findings.acknowledged)
    // The 32 senders are told 503, but for those whose request comes at the very moment that connections are closed.
    expect(findings.unanswered).toBeLessThan(8 * STOPS)
  }, 120_000)
})

describe("Hookline on an embedded log", () => {
  const folder = temporaryFolder()
  const topic = "webhooks"
  let directory: string
  const broker = () => ({
    connection: `directory = ${directory}`,
    topic,
    read: () => eventsInLog(directory, topic),
  })
  beforeAll(() => {
    directory = join(folder.path, "log")
  })
  afterAll(() => folder[Symbol.dispose]())

  test(`killed ${KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    const findings = await endAgainAndAgain(KILLS, kill, broker())
    report(`Hookline on its log killed ${KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)

  test(`one of two workers killed, ${WORKER_KILLS} times under load: nothing acknowledged is lost, nothing is doubled`, async () => {
    directory = join(folder.path, "log-of-workers")
    const findings = await killWorkers(WORKER_KILLS, broker())
    report(`One of two workers on a log killed ${WORKER_KILLS} times`, findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 120_000)
})
