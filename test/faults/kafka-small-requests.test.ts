import { beforeEach, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { fault, onNewTopic, type Destination } from "../support/fault.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { folderOfTests, type LogLine } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { addressBehind, kafkaOfTests } from "../support/kafka-behind.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { keysOfEach } from "../support/keys.ts"
import { isAcknowledged, type NumberedSenders } from "../support/numbered-senders.ts"

const PARTITIONS = 40
const ROUNDS = 3
/** Padding of each event; the events of a round make up eight of the largest requests. */
const PAD_BYTES = 200_000
const PAYLOAD_BYTES = ROUNDS * PARTITIONS * PAD_BYTES
/** More than the broker takes in a request, less than it takes in a topic. */
const NEVER_BYTES = 1_200_000
const MAX_REQUEST_BYTES = 1_048_576

const proxy = await openProxy()

/** As Event Hubs does. */
const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a broker that closes connections on requests over 1 MiB", () => {
  const folder = folderOfTests()
  const keys = keysOfEach(PARTITIONS)
  const kafka = kafkaOfTests({ properties: { "socket.request.max.bytes": `${MAX_REQUEST_BYTES}` } }, [proxy])
  beforeEach(() => {
    proxy.target = addressBehind(kafka)
  })
  const settings = {
    deliveryTimeoutMs: PATIENT_MS,
    source: "max_body_bytes = 4MiB",
    sending: { keys: 0 },
    events: [0, 0],
  } as const

  const behind = (connection: string, configs: { [key: string]: string } = {}): Promise<Destination> => {
    const to = `bootstrap_servers = ${proxy.address}\n${connection}`
    return onNewTopic(kafka, { partitions: PARTITIONS, configs }, to)
  }
  /** How many bytes of requests something makes Hookline send. */
  const sentBytes = async (work: () => Promise<unknown>): Promise<number> => {
    const before = proxy.sentBytes
    await work()
    return proxy.sentBytes - before
  }
  const rounds = async (senders: NumberedSenders, padBytes?: number): Promise<void> => {
    for (let round = 0; round < ROUNDS; round++) await senders.round(keys, padBytes)
  }
  /** Lets the broker be reached, and waits until that many events are in its log. */
  const forwarded = async ({ events }: Destination, count: number): Promise<void> => {
    proxy.target = addressBehind(kafka)
    await until("they are forwarded", async () => (await events(folder.path)).length >= count)
  }

  test.each([
    ["requests stay below 1 MiB by themselves: every event is acknowledged, and sent once", "", 1.1, 0],
    [
      "max_request_bytes over 1 MiB is found to be too much, once: every event is acknowledged all the same",
      "max_request_bytes = 8MiB",
      3,
      1,
    ],
  ])("%s", async (_name, setting, timesSent, warnings) => {
    const row = ["broker closes on requests over 1 MiB", setting].filter(Boolean).join(", ")
    await fault(row, await behind(setting), {
      ...settings,
      allAcked: true,
      async during({ senders, running }) {
        expect(await sentBytes(() => rounds(senders, PAD_BYTES))).toBeLessThan(timesSent * PAYLOAD_BYTES)
        const isFound = ({ msg }: LogLine): boolean => msg.endsWith("; sending smaller ones")
        expect(running.log.filter(isFound)).toHaveLength(warnings)
      },
    })
  })

  test("a spool forwards everything", async () => {
    proxy.target = undefined
    const to = await behind(`spool = ${join(folder.path, "forwarded")}\nmax_request_bytes = 8MiB`)
    await fault("spool: broker closes on requests over 1 MiB", to, {
      ...settings,
      async during({ senders }) {
        const bytes = await sentBytes(async () => {
          await rounds(senders, PAD_BYTES)
          expect(senders.posted.every(isAcknowledged)).toBe(true)
          await forwarded(to, senders.posted.length)
        })
        expect(bytes).toBeLessThan(3 * PAYLOAD_BYTES)
      },
    })
  })

  test("an event over 1 MiB gets 413, and the others are acknowledged", async () => {
    const to = await behind("", { "max.message.bytes": "3000000" })
    const { posted } = await fault("event over what the broker takes in a request", to, {
      ...settings,
      async during({ senders }) {
        await senders.round(keys)
        const bytes = await sentBytes(() =>
          Promise.all([senders.round([keys[0]!], NEVER_BYTES), rounds(senders)]),
        )
        expect(bytes).toBeLessThan(10 * NEVER_BYTES)
      },
    })
    expect(posted.filter((it) => !isAcknowledged(it)).map(({ answer }) => answer)).toEqual([413])
  })

  test("a spool quarantines such an event, and those after it move on", async () => {
    proxy.target = undefined
    const to = await behind(`spool = ${join(folder.path, "aside")}`, { "max.message.bytes": "3000000" })
    await fault(undefined, to, {
      ...settings,
      only: ({ number }) => number !== PARTITIONS,
      async during({ senders, running }) {
        await senders.round(keys)
        await senders.round([keys[0]!], NEVER_BYTES)
        await rounds(senders)
        expect(senders.posted.every(isAcknowledged)).toBe(true)
        const bytes = await sentBytes(async () => {
          await forwarded(to, senders.posted.length - 1)
          await running.logged(({ msg }) => msg.startsWith("QUARANTINED"))
        })
        expect(bytes).toBeLessThan(10 * NEVER_BYTES)
        expect(running.log).toContainEqual(
          expect.objectContaining({ level: "error", topic: to.topic, records: 1 }),
        )
      },
    })
  })
})
