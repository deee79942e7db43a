import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { startKafkaBehind } from "../support/kafka-behind.ts"
import { openInterceptor, type Interceptor } from "../support/kafka-interceptor.ts"
import type { KafkaNode } from "../support/kafka-node.ts"
import { until } from "../support/kafka-options.ts"
import { addPartitions, createPlacedTopic, takeProducerId } from "../support/kafka-placement.ts"
import { canStartKafka, freshTopic, partitionsOf, type OwnKafka, type TestKafka } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { keysOfEach } from "../support/keys.ts"
import { laggingBroker } from "../support/lagging-broker.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, serving, startService } from "../support/webhook-service.ts"

/** Longer than the controller takes to find that a broker is gone. */
const DELIVERY_TIMEOUT_MS = 8000
const FEW = 2
const MANY = 40
/** By when Hookline has asked the broker that lags, if it ever does. */
const ASKS_WITHIN_MS = 5000
/** Ids of the nodes. */
const [CONTROLLER, LAGGING, LEADER] = [1, 2, 3]

/**
 * The first node is the only controller, and Hookline asks it first. A broker that was paused while the cluster changed,
 * and goes on while the controller is paused, lags until the controller goes on.
 */
const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a broker that is cut off from the controller", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let interceptors: readonly Interceptor[]
  let topic: string
  let running: RunningHookline
  let senders: NumberedSenders

  beforeAll(async () => {
    interceptors = await Promise.all([openInterceptor(), openInterceptor(), openInterceptor()])
    kafka = await startKafkaBehind(interceptors, { brokers: 3, controllers: 1 })
  }, 60_000)
  beforeEach(() => {
    topic = freshTopic()
  })
  afterEach(async () => {
    await running.stop()
    await Promise.all(kafka.nodes.map((node) => node.restore()))
  }, 60_000)
  afterAll(async () => {
    await kafka?.stop()
    for (const interceptor of interceptors) await interceptor[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const node = (id: number): KafkaNode => kafka.nodes[id - 1]!
  const only = (id: number): TestKafka => ({ bootstrapServers: [kafka.bootstrapServers[id - 1]!] })

  /** Starts Hookline. It asks the brokers in the order of these ids. */
  async function start(order: readonly number[]): Promise<void> {
    const servers = order.map((id) => interceptors[id - 1]!.address)
    running = await startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${servers.join(", ")}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
    senders = new NumberedSenders(serving(running), { keys: 0 })
  }

  /** Pauses a broker; what the cluster does from now on it does not learn before the controller goes on. */
  async function beginToLag(): Promise<void> {
    node(LAGGING).pause()
    // The answer to its open question to the controller lies in its socket; another topic ends that question.
    await createPlacedTopic(kafka, freshTopic("other"), [[LEADER]])
  }

  /** The broker that lags loses its leadership without learning of it. */
  async function moveLeaders(): Promise<void> {
    await beginToLag()
    const moved = async (): Promise<boolean> =>
      (await partitionsOf(only(CONTROLLER), topic)).every(({ leader }) => leader === LEADER)
    await until("another leads", moved)
  }

  /** Lets the controller go on, and waits until the broker that lagged knows who leads: before that it would be read from. */
  async function catchUp(): Promise<void> {
    node(CONTROLLER).resume()
    const knows = async (): Promise<boolean> =>
      (await partitionsOf(only(LAGGING), topic)).every(({ leader }) => leader === LEADER)
    await until("the broker has caught up", knows)
  }

  async function roundsWhileAcknowledged(): Promise<void> {
    for (let n = 0; n < 60 && senders.posted.every(isAcknowledged); n++) await senders.round(keysOfEach(FEW))
  }

  test("it tells of fewer partitions until it catches up: nothing is lost, and none waits for it", async () => {
    const broker = laggingBroker(interceptors[LAGGING - 1]!)
    const round = (): Promise<void> => senders.round(keysOfEach(MANY))
    await createPlacedTopic(kafka, topic, times(FEW, [LEADER]))
    await start([CONTROLLER, LAGGING, LEADER])
    await round()
    await beginToLag()
    await addPartitions(kafka, topic, times(MANY - FEW, [LEADER]))
    await until("Hookline knows", async () => {
      await round()
      return (await readWithKcat(only(LEADER), topic)).some(({ partition }) => partition >= FEW)
    })
    await round()
    node(CONTROLLER).pause()
    node(LAGGING).resume()
    const told = broker.told(topic, ({ partitions }) => partitions.length === FEW)
    expect(await partitionsOf(only(LAGGING), topic)).toHaveLength(FEW)
    await Promise.race([told, Bun.sleep(ASKS_WITHIN_MS)])
    await round()
    const toldAgain = broker.told(topic, ({ partitions }) => partitions.length === MANY)
    node(CONTROLLER).resume()
    await Promise.race([toldAgain, Bun.sleep(ASKS_WITHIN_MS)])
    await round()
    await round()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("broker cut off from the controller, partitions added", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
  }, 60_000)

  test("it tells of leaders that are gone: events go to those that came after", async () => {
    const broker = laggingBroker(interceptors[LAGGING - 1]!)
    await createPlacedTopic(kafka, topic, times(FEW, [LAGGING, LEADER]))
    await start([CONTROLLER, LAGGING, LEADER])
    const round = (): Promise<void> => senders.round(keysOfEach(FEW))
    await round()
    await moveLeaders()
    await round()
    node(CONTROLLER).pause()
    node(LAGGING).resume()
    const told = broker.told(topic, ({ partitions }) => partitions[0]?.leaderId === LAGGING)
    await Promise.race([told, Bun.sleep(ASKS_WITHIN_MS)])
    await roundsWhileAcknowledged()
    await catchUp()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("broker cut off from the controller, leaders moved", findings)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 60_000)

  test("it is the first that Hookline asks, and tells of leaders that are gone: events go to those that came after", async () => {
    await createPlacedTopic(kafka, topic, times(FEW, [LAGGING, LEADER]))
    for (const id of [LAGGING, LEADER]) await takeProducerId(only(id))
    await moveLeaders()
    node(CONTROLLER).pause()
    node(LAGGING).resume()
    await start([LAGGING, LEADER, CONTROLLER])
    await roundsWhileAcknowledged()
    await catchUp()

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("broker cut off from the controller asked first", findings)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
  }, 60_000)
})

const times = (partitions: number, replicas: readonly number[]): (readonly number[])[] =>
  Array.from({ length: partitions }, () => replicas)
