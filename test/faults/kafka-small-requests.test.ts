import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { report } from "../support/fault-table.ts"
import { compare, expectKept } from "../support/findings.ts"
import { temporaryFolder, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { addressBehind, startKafkaBehind } from "../support/kafka-behind.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic, type OwnKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysOfEach } from "../support/keys.ts"
import { isAcknowledged, NumberedSenders } from "../support/numbered-senders.ts"
import { eventsInKafka, serving, startService } from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 5000
const PARTITIONS = 40
const ROUNDS = 3
/** Of each event; those of a round make up eight of the largest requests. */
const PAD_BYTES = 200_000
const PAYLOAD_BYTES = ROUNDS * PARTITIONS * PAD_BYTES
/** More than the broker takes in a request, less than it takes in a topic. */
const NEVER_BYTES = 1_200_000
const MAX_REQUEST_BYTES = 1_048_576

/** As Event Hubs does. */
const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a broker that closes connections on requests over 1 MiB", () => {
  const folder = temporaryFolder()
  const keys = keysOfEach(PARTITIONS)
  let kafka: OwnKafka
  let proxy: Proxy
  let running: RunningHookline
  let topic: string

  beforeAll(async () => {
    proxy = await openProxy()
    kafka = await startKafkaBehind([proxy], {
      properties: { "socket.request.max.bytes": `${MAX_REQUEST_BYTES}` },
    })
  }, 60_000)
  beforeEach(() => {
    proxy.target = addressBehind(kafka)
  })
  afterEach(() => running.stop())
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  async function start(
    connection: string,
    configs: { [key: string]: string } = {},
  ): Promise<NumberedSenders> {
    topic = freshTopic()
    await createTopic(kafka, topic, { partitions: PARTITIONS, configs })
    running = await startService({
      folder: folder.path,
      connection: `bootstrap_servers = ${proxy.address}\n${connection}`,
      topic,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      source: "max_body_bytes = 4MiB",
    })
    return new NumberedSenders(serving(running), { keys: 0 })
  }

  const complaints = (): LogLine[] => running.log.filter(({ level }) => level === "warn" || level === "error")

  test.each([
    ["requests stay below that by themselves: every event is acknowledged, and sent once", "", 1.1, 0],
    [
      "max_request_bytes over that is found to be too much, once: every event is acknowledged all the same",
      "max_request_bytes = 8MiB",
      3,
      1,
    ],
  ])(
    "%s",
    async (_name, setting, timesSent, warnings) => {
      await using senders = await start(setting)
      const before = proxy.sentBytes
      for (let round = 0; round < ROUNDS; round++) await senders.round(keys, PAD_BYTES)
      const sentBytes = proxy.sentBytes - before

      const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
      report(["broker closes on requests over 1 MiB", setting].filter(Boolean).join(", "), findings)
      expectKept(findings, DELIVERY_TIMEOUT_MS)
      expect(senders.posted.every(isAcknowledged)).toBe(true)
      expect(sentBytes).toBeLessThan(timesSent * PAYLOAD_BYTES)
      expect(complaints()).toHaveLength(warnings)
    },
    60_000,
  )

  test("a spool forwards everything", async () => {
    proxy.target = undefined
    await using senders = await start(`spool = ${join(folder.path, "forwarded")}\nmax_request_bytes = 8MiB`)
    const before = proxy.sentBytes
    for (let round = 0; round < ROUNDS; round++) await senders.round(keys, PAD_BYTES)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
    proxy.target = addressBehind(kafka)
    await until("all of it is forwarded", async () => {
      return (await eventsInKafka(kafka, topic)).length >= senders.posted.length
    })
    const sentBytes = proxy.sentBytes - before

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("spool: broker closes on requests over 1 MiB", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(sentBytes).toBeLessThan(3 * PAYLOAD_BYTES)
  }, 60_000)

  test("an event over that gets 413, and those beside it are acknowledged", async () => {
    await using senders = await start("", { "max.message.bytes": "3000000" })
    await senders.round(keys)
    const before = proxy.sentBytes
    const large = senders.round([keys[0]!], NEVER_BYTES)
    for (let round = 0; round < ROUNDS; round++) await senders.round(keys)
    await large
    const sentBytes = proxy.sentBytes - before

    const findings = compare(senders.posted, await eventsInKafka(kafka, topic))
    report("event over what the broker takes in a request", findings)
    expectKept(findings, DELIVERY_TIMEOUT_MS)
    expect(senders.posted.filter((it) => !isAcknowledged(it)).map(({ answer }) => answer)).toEqual([413])
    expect(sentBytes).toBeLessThan(10 * NEVER_BYTES)
  }, 60_000)

  test("a spool sets such an event aside, and those behind it move on", async () => {
    proxy.target = undefined
    await using senders = await start(`spool = ${join(folder.path, "aside")}`, {
      "max.message.bytes": "3000000",
    })
    await senders.round(keys)
    await senders.round([keys[0]!], NEVER_BYTES)
    for (let round = 0; round < ROUNDS; round++) await senders.round(keys)
    expect(senders.posted.every(isAcknowledged)).toBe(true)
    const before = proxy.sentBytes
    proxy.target = addressBehind(kafka)
    await until("those behind it are there", async () => {
      return (await eventsInKafka(kafka, topic)).length >= senders.posted.length - 1
    })
    await running.logged(({ msg }) => msg.startsWith("QUARANTINED"))
    const sentBytes = proxy.sentBytes - before

    expect(running.log).toContainEqual(expect.objectContaining({ level: "error", topic, records: 1 }))
    const { disordered, doubled } = compare(senders.posted, await eventsInKafka(kafka, topic))
    expect({ disordered, doubled }).toEqual({ disordered: 0, doubled: 0 })
    expect(sentBytes).toBeLessThan(10 * NEVER_BYTES)
  }, 60_000)
})
