import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { randomUUID } from "node:crypto"
import {
  buildFranzGo,
  CLIENT_PROGRAMS,
  startFranzGo,
  type ClientSettings,
} from "../support/client-programs.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { canStartKafka, administer, startKafka, type OwnKafka } from "../support/kafka.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import type { RunningConsumer } from "../support/kafka-clients.ts"
import { freePorts } from "../support/ports.ts"
import { skipsFor } from "../support/tools.ts"

/** The logs: with no users, with several partitions, with users, and by TLS too. */
const LOGS = ["open", "parts", "users", "tls"] as const
/** Or a real Kafka. */
type Log = (typeof LOGS)[number] | "kafka"
const hasKafka = await canStartKafka()
const PASSWORD = "obviously-fake:1"
const SASL = { user: "billing", password: PASSWORD }

const folder = temporaryFolder()
let certificates: Certificates
let kafka: OwnKafka | undefined
let addresses: { readonly [log in Log]: string }
let running: RunningHookline
let posted = 0

const pipeline = (log: Log, connection: string): string => `[connection:${log}]
${connection}
[pipeline:${log}:WebHookSource]
path = /${log}
[pipeline:${log}:BrokerSink]
connection = ${log}
topic = webhooks
key = json:/id
`

const embedded = (log: Log, more = ""): string =>
  pipeline(log, `directory = ${log}\nkafka_listen = ${addresses[log]}\n${more}`)

/** Posts an event, and resolves with its key. */
async function post(log: Log): Promise<string> {
  const id = `n${++posted}.`
  const { status } = await fetch(running.urls[log]!, { method: "POST", body: JSON.stringify({ id }) })
  expect(status).toBe(200)
  return id
}

beforeAll(async () => {
  certificates = await makeCertificates(folder.make("certificates"))
  const ports = await freePorts(LOGS.length)
  const [open, parts, users, tls] = ports.map((port) => `127.0.0.1:${port}`) as [
    string,
    string,
    string,
    string,
  ]
  // sessions as short as the listener allows them
  if (hasKafka) kafka = await startKafka({ properties: { "group.min.session.timeout.ms": "1000" } })
  addresses = { open, parts, users, tls, kafka: kafka?.bootstrapServers[0] ?? "" }
  const { certificate, key } = certificates.server
  const known = `kafka_users = billing:${PASSWORD}`
  const configuration = `${kafka === undefined ? "" : pipeline("kafka", `bootstrap_servers = ${addresses.kafka}`)}
${embedded("open")}${embedded("parts", "partitions = 2")}${embedded("users", known)}
${embedded("tls", `${known}\nkafka_tls_certificate = ${certificate}\nkafka_tls_key = ${key}`)}`
  // its listeners are open when it has started
  running = await startHookline(configuration, { folder: folder.path })
})
afterAll(async () => {
  await running.stop()
  await kafka?.stop()
  folder[Symbol.dispose]()
})

const settings = (log: Log, more: Partial<ClientSettings> = {}): ClientSettings => ({
  bootstrap: addresses[log],
  topic: "webhooks",
  sessionMs: 3000,
  ...more,
})
/** As kcat says it of the eager and of the cooperative protocol, and the others. */
const ASSIGNED = /(?:assigned|assignment of 1 .*): webhooks \[0\]|^assigned$/m
const key = (id: string): RegExp => new RegExp(`^key ${id.replace(".", "\\.")}$`, "m")
const keysOf = (consumer: RunningConsumer): string[] =>
  [...consumer.output().matchAll(/^key (.*)$/gm)].map(([, id]) => id!)

/** Resolves once a group has that many members with assignments. */
const hasMembers = (group: string, count: number, log: Log = "open"): Promise<void> =>
  administer({ bootstrapServers: [addresses[log]] }, async (admin) => {
    for (;;) {
      const found = (await admin.describeGroups({ groups: [group] })).get(group)
      if (found?.state.toUpperCase() === "STABLE" && found.members.size === count) return
      await Bun.sleep(50)
    }
  })

const prepared = await Promise.all(CLIENT_PROGRAMS.map((client) => client.prepare()))
for (const [at, client] of CLIENT_PROGRAMS.entries()) {
  const missing = prepared[at]
  if (missing !== undefined) skipsFor(missing)

  describe.skipIf(missing !== undefined)(client.name, () => {
    test("read", async () => {
      const ids = [await post("open"), await post("open"), await post("open")]
      await using consumer = client.start(settings("open"))
      await consumer.said(key(ids[2]!))
      ids.push(await post("open"))
      await consumer.said(key(ids[3]!))
      expect(keysOf(consumer).slice(-4)).toEqual(ids)
    })

    test("seek by time", async () => {
      await post("open")
      await Bun.sleep(5)
      const sinceMs = Date.now()
      const [first, second] = [await post("open"), await post("open")]
      await using consumer = client.start(settings("open", { sinceMs }))
      await consumer.said(key(second))
      expect(keysOf(consumer)).toEqual([first, second])
    })

    test("group", async () => {
      const id = await post("open")
      await using consumer = client.start(settings("open", { group: randomUUID() }))
      await consumer.said(ASSIGNED)
      await consumer.said(key(id))
    })

    test("rebalance", async () => {
      const group = randomUUID()
      await using first = client.start(settings("open", { group }))
      await first.said(ASSIGNED)
      await using second = client.start(settings("open", { group }))
      await hasMembers(group, 2)
      const early = await post("open")
      const [owner, other] = await Promise.race([
        first.said(key(early)).then(() => [first, second] as const),
        second.said(key(early)).then(() => [second, first] as const),
      ])
      await owner.end("SIGKILL")
      const late = await post("open")
      await other.said(key(late))
    })

    test("partitions", async () => {
      const group = randomUUID()
      await post("parts")
      await using first = client.start(settings("parts", { group }))
      await hasMembers(group, 1, "parts")
      await using second = client.start(settings("parts", { group }))
      await hasMembers(group, 2, "parts")
      const ids: string[] = []
      while (ids.length < 20) ids.push(await post("parts"))
      for (const id of ids) await Promise.race([first.said(key(id)), second.said(key(id))])
      const read = [first, second].map((one) => keysOf(one).filter((id) => ids.includes(id)))
      // each has some; one that was read while the partition changed hands may be at both
      for (const keys of read) expect(keys.length).toBeWithin(1, ids.length)
      expect([...new Set(read.flat())].toSorted()).toEqual(ids.toSorted())
    })

    test("commit", async () => {
      const group = randomUUID()
      const before = await post("open")
      {
        await using consumer = client.start(settings("open", { group }))
        await consumer.said(key(before))
        if (client.leavesToCommit) await consumer.end("SIGTERM")
      }
      const after = await post("open")
      await using consumer = client.start(settings("open", { group }))
      await consumer.said(key(after))
      expect(keysOf(consumer)).toEqual([after])
    })

    // its program and settings stay, but for the bootstrap address
    test.skipIf(!hasKafka)("from Kafka and back", async () => {
      const group = randomUUID()
      const all = { open: [] as string[], kafka: [] as string[] }
      const read = async (where: "open" | "kafka"): Promise<void> => {
        const id = await post(where)
        await using consumer = client.start(settings(where, { group }))
        await consumer.said(key(id))
        if (client.leavesToCommit) await consumer.end("SIGTERM")
        all[where].push(...keysOf(consumer))
      }
      for (const where of ["kafka", "kafka", "open", "open", "kafka"] as const) await read(where)
      // every record once, in each place
      for (const keys of Object.values(all)) expect(keys).toEqual([...new Set(keys)])
      expect(all.kafka.length).toBeGreaterThanOrEqual(3)
    })

    if (client.hasStaticMembers)
      test("static member", async () => {
        // far longer than the test may take: a member that is not taken for the one before would wait for its end
        const member = settings("open", { group: randomUUID(), instance: "one", sessionMs: 300_000 })
        {
          await using consumer = client.start(member)
          await consumer.said(ASSIGNED)
        }
        await using consumer = client.start(member)
        await consumer.said(ASSIGNED)
        await consumer.said(key(await post("open")))
      })

    test("SASL", async () => {
      const id = await post("users")
      for (const mechanism of ["SCRAM-SHA-256", "SCRAM-SHA-512"]) {
        await using consumer = client.start(settings("users", { sasl: { ...SASL, mechanism } }))
        await consumer.said(key(id))
      }
    })

    test("TLS", async () => {
      const id = await post("tls")
      const sasl = { ...SASL, mechanism: "PLAIN" }
      await using consumer = client.start(settings("tls", { sasl, ca: certificates.ca }))
      await consumer.said(key(id))
    })
  })
}

describe.skipIf((await buildFranzGo()) !== undefined)("franz-go", () => {
  test("reads, alone and in a group, as a client of each release of Kafka since 0.11", async () => {
    const ids = [await post("open"), await post("open")]
    expect(ids).toHaveLength(2)
    await using consumer = startFranzGo({ ...settings("open"), generations: 2 })
    await consumer.said(/^all generations$/m)
    const generations = [...consumer.output().matchAll(/^generation (v.*)$/gm)].map(([, release]) => release)
    expect(generations).toContain("v0.11.0")
    expect(generations).toContain("v4.1")
    expect(generations.length).toBeGreaterThan(20)
  })
})
