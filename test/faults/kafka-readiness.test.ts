import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { isFull } from "../support/fault-table.ts"
import { temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { canStartKafka, createTopic, freshTopic, partitionsOf } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { onKafka, serving, startService } from "../support/webhook-service.ts"
import { metricOf } from "../support/metric-of.ts"

/** With a spool the file has the last second of it. */
const DELIVERY_TIMEOUT_MS = 5000

interface Readiness {
  readonly code: number
  readonly status: string
  readonly connections: { readonly [id: string]: string }
  readonly impaired?: { readonly [id: string]: readonly string[] }
}

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("what /readyz says of three Kafka brokers", () => {
  let folder: ReturnType<typeof temporaryFolder>
  const kafka = kafkaOfTests({ brokers: 3 })
  let running: RunningHookline
  let topic: string
  let senders: NumberedSenders | undefined

  beforeEach(() => {
    folder = temporaryFolder()
    topic = freshTopic()
  })
  afterEach(async () => {
    await senders?.stop()
    senders = undefined
    await running.stop()
    folder[Symbol.dispose]()
  })

  async function start(
    layout: { partitions: number; replicas: number; insync?: number },
    more = "",
  ): Promise<void> {
    const { partitions, replicas, insync = 1 } = layout
    await createTopic(kafka, topic, {
      partitions,
      replicas,
      configs: { "min.insync.replicas": `${insync}` },
    })
    running = await startService({
      folder: folder.path,
      connection: `${onKafka(kafka)}\n${more}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    })
    await becomes("ready")
  }
  const readiness = async (): Promise<Readiness> => {
    const answer = await fetch(`${running.adminUrl}/readyz`)
    return { code: answer.status, ...((await answer.json()) as Omit<Readiness, "code">) }
  }
  const becomes = async (
    status: string,
    passes: (it: Readiness) => boolean = () => true,
  ): Promise<Readiness> => {
    let last: Readiness | undefined
    await until(`${status}`, async () => (last = await readiness()).status === status && passes(last))
    return last!
  }
  const gauge = async (name: string): Promise<number | undefined> =>
    (await metricOf(running, name)).get('connection="broker"')
  const gaugesAre = async (value: number): Promise<boolean> =>
    (await gauge("hookline_impaired_topics")) === value &&
    (await gauge("hookline_partitions_without_leader")) === value
  const leaderOf = async (partition: number): Promise<number> =>
    (await partitionsOf(kafka, topic))[partition]!.leader - 1

  test("a partition that has no leader makes it partly ready, by name, and it is ready when it has one again, without traffic", async () => {
    await start({ partitions: 3, replicas: 1 })
    const dead = await leaderOf(1)
    await kafka.nodes[dead]!.kill()
    const leaderless = `topic ${topic}: partition 1 has no leader`
    const told = await becomes("partly ready", ({ impaired }) => impaired?.["broker"]?.[0] === leaderless)
    expect(told).toMatchObject({ code: 200, connections: { broker: "ready" } })
    await until("one of each", () => gaugesAre(1))
    expect(await gauge("hookline_connection_ready")).toBe(1)
    const line = await running.logged(({ msg }) => msg === "topic partly unavailable")
    expect(line).toMatchObject({ level: "warn", topic, connection: "broker" })

    await kafka.nodes[dead]!.start()
    const again = await becomes("ready")
    expect([again.code, again.impaired]).toEqual([200, undefined])
    await running.logged((it) => it.msg === "topic available again" && it["topic"] === topic)
    await until("none", () => gaugesAre(0))
  })

  test.if(isFull)(
    "a topic none of whose partitions has a leader makes it not ready, when there is no other",
    async () => {
      await start({ partitions: 1, replicas: 1 })
      const dead = await leaderOf(0)
      await kafka.nodes[dead]!.kill()
      const told = await becomes("not ready", ({ connections }) =>
        connections["broker"]!.endsWith("has no leader"),
      )
      expect(told).toMatchObject({
        code: 503,
        connections: { broker: `topic ${topic}: partition 0 has no leader` },
      })
      expect(await gauge("hookline_connection_ready")).toBe(0)
      await kafka.nodes[dead]!.start()
      expect((await becomes("ready")).code).toBe(200)
    },
  )

  test("a topic whose events are all refused, while metadata is answered, makes it not ready, with the reason", async () => {
    await start({ partitions: 3, replicas: 3, insync: 3 })
    senders = new NumberedSenders(serving(running), { keys: 8 })
    await senders.many(50)
    const dead = await leaderOf(0)
    await kafka.nodes[dead]!.kill()
    const told = await becomes("not ready", ({ connections }) =>
      /NOT_ENOUGH_REPLICAS/.test(connections["broker"]!),
    )
    expect(told.code).toBe(503)
    const line = await running.logged(({ msg }) => msg === "topic unavailable")
    expect(line).toMatchObject({ level: "error", topic })
    if (isFull) {
      // a load balancer sends nothing any more
      await senders.stop()
      await becomes("ready")
      senders = new NumberedSenders(serving(running), { keys: 8 })
      await becomes("not ready")
    }
    await kafka.nodes[dead]!.start()
    expect((await becomes("ready")).code).toBe(200)
    await senders.many(50)
  })

  test("a spool whose events are not forwarded, though Kafka is up, makes it not ready until they are", async () => {
    await start({ partitions: 1, replicas: 3, insync: 3 }, `spool = ${join(folder.path, "spool.sqlite")}`)
    senders = new NumberedSenders(serving(running), { keys: 8 })
    await senders.many(50)
    const follower = ((await leaderOf(0)) + 1) % 3
    await kafka.nodes[follower]!.kill()
    // until the leader has given the follower up, it only answers late
    const told = await becomes("not ready", ({ connections }) =>
      /the spool is stuck.*NOT_ENOUGH_REPLICAS/.test(connections["broker"] ?? ""),
    )
    expect(told.code).toBe(503)
    expect(await gauge("hookline_spool_stuck_topics")).toBe(1)
    const line = await running.logged(({ msg }) => msg.startsWith("spool is stuck"))
    expect(line).toMatchObject({
      level: "error",
      topic,
      reason: expect.stringMatching(/NOT_ENOUGH_REPLICAS|REQUEST_TIMED_OUT|the broker acknowledges nothing/),
    })
    await senders.stop()
    expect(senders.posted.filter(({ answer }) => answer !== 200)).toEqual([])
    await kafka.nodes[follower]!.start()
    expect((await becomes("ready")).code).toBe(200)
    await running.logged(({ msg }) => msg === "spool is forwarding the topic's events again")
    expect(await gauge("hookline_spool_stuck_topics")).toBe(0)
  })
})
