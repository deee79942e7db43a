import { beforeEach, describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { inspectSpool } from "../../src/brokers/spool/reader.ts"
import { compare, firstsOf } from "../support/findings.ts"
import { folderOfTests, reload, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { kafkaOfTests } from "../support/kafka-behind.ts"
import { openProxy } from "../support/kafka-proxy.ts"
import { canStartKafka, createTopic, freshTopic } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePorts } from "../support/ports.ts"
import {
  configurationOf,
  eventsInKafka,
  onKafka,
  serving,
  startService,
  type ServiceSettings,
} from "../support/webhook-service.ts"

const DELIVERY_TIMEOUT_MS = 10_000
const isSpooling = ({ msg }: LogLine): boolean => msg.includes("spooling them")
const isDirect = ({ msg }: LogLine): boolean => msg.includes("publishing to the broker again")

const proxy = await openProxy()

const available = (await canStartKafka()) && hasKcat()
describe.skipIf(!available)("a reload that changes a connection with a spool", () => {
  const root = folderOfTests()
  const users = `user_alice="obviously-fake-a" user_bob="obviously-fake-b"`
  const kafka = kafkaOfTests(
    {
      listeners: { SASL: "SASL_PLAINTEXT" },
      properties: {
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": `org.apache.kafka.common.security.plain.PlainLoginModule required ${users};`,
      },
    },
    [proxy],
  )
  let folder: string
  let topic: string
  let nobody: string
  let running: RunningHookline

  beforeEach(async () => {
    topic = freshTopic()
    folder = join(root.path, topic)
    nobody = `bootstrap_servers = 127.0.0.1:${(await freePorts(1))[0]}`
    await createTopic(kafka, topic, { partitions: 3 })
  })

  const settings = (connection: string, spool = "spool = spool.sqlite"): ServiceSettings => ({
    folder,
    connection: `${connection}\n${spool}`,
    topic,
    deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
  })
  const start = async (connection: string): Promise<NumberedSenders> => {
    running = await startService(settings(connection))
    return new NumberedSenders(serving(running), { keys: 16, keyless: 4, pauseMs: 1 })
  }
  const change = (connection: string, spool?: string): Promise<"reloaded" | "not"> =>
    reload(running, folder, configurationOf(settings(connection, spool)))
  /** What the last reload that failed says of it. */
  const whyNot = (): string => {
    const { log } = running
    return log[log.findLastIndex(({ msg }) => msg.startsWith("reload failed")) - 1]!.msg
  }
  const sasl = (user: "alice" | "bob", password: string): string =>
    `bootstrap_servers = ${kafka.listener("SASL").join()}
security_protocol = sasl_plaintext
sasl_mechanism = PLAIN
sasl_username = ${user}
sasl_password = ${password}`
  const file = (name = "spool.sqlite"): string => join(folder, name)
  const spooled = async (): Promise<number> => {
    const { topics } = await inspectSpool(file())
    return topics.reduce((sum, { records }) => sum + records, 0)
  }
  /** Resolves when each change-over to the file has led back, which under no load is the end of it. */
  const allDirect = (): Promise<LogLine> =>
    running.logged(() => running.log.filter(isSpooling).length === running.log.filter(isDirect).length)
  /** Ends the load and Hookline: all was acknowledged and is in the log, in order per key. */
  const judge = async (senders: NumberedSenders): Promise<void> => {
    await senders.stop()
    expect(await running.stop()).toBe(0)
    const logged = await eventsInKafka(kafka, topic)
    const findings = compare(senders.posted, firstsOf(logged))
    console.log(`${findings.sent} events, ${logged.length - findings.found} of them doubled`)
    expect(findings).toMatchObject({ lost: 0, disordered: 0, refusedAndFound: 0, unanswered: 0 })
    expect(findings.acknowledged).toBe(findings.sent)
    expect(await spooled()).toBe(0)
  }

  test("from an address where nobody is to Kafka's: what was spooled and what comes later is published", async () => {
    await using senders = await start(nobody)
    await senders.many(1000)
    expect(await change(onKafka(kafka))).toBe("reloaded")
    const reloaded = running.log.findLast(({ msg }) => msg === "reloaded")
    expect(reloaded).toMatchObject({ connections_changed: ["broker"] })
    expect(reloaded).not.toHaveProperty("pipelines_changed")
    await running.logged(isDirect)
    await senders.many(300)
    await judge(senders)
  })

  test("other credentials and another compression, again and again under load", async () => {
    await using senders = await start(sasl("alice", "obviously-fake-a"))
    for (const connection of [
      sasl("bob", "obviously-fake-b"),
      `${sasl("bob", "obviously-fake-b")}\ncompression_type = gzip`,
      sasl("bob", "obviously-wrong"),
      sasl("alice", "obviously-fake-a"),
      `${onKafka(kafka)}\ncompression_type = zstd`,
    ]) {
      await senders.many(300)
      expect(await change(connection)).toBe("reloaded")
    }
    await senders.many(300)
    await judge(senders)
    expect(running.output()).not.toContain("obviously-")
  })

  test("away from a broker that takes everything and answers nothing", async () => {
    await using senders = await start(`bootstrap_servers = ${proxy.address}`)
    await senders.many(300)
    proxy.holdAnswers()
    try {
      expect(await change(onKafka(kafka))).toBe("reloaded")
      await senders.acknowledged()
      await running.logged(isDirect)
      await senders.many(300)
    } finally {
      proxy.heal()
    }
    await judge(senders)
  })

  test("to another file, to none, or to no connection is refused while the spool holds events", async () => {
    await using senders = await start(nobody)
    await senders.many(20)
    const other = file("other.sqlite")
    for (const [connection, spool] of [
      [onKafka(kafka), `spool = ${other}`],
      [onKafka(kafka), "spool = off"],
      ["directory = log", ""],
    ] as const) {
      expect(await change(connection, spool)).toBe("not")
      expect(whyNot()).toStartWith(`[connection:broker] spool: ${file()} holds events`)
    }
    const moved = configurationOf(settings(onKafka(kafka))).replace(
      "[connection:broker]",
      "[connection:moved]",
    )
    expect(await reload(running, folder, moved)).toBe("not")
    expect(whyNot()).toContain("is the spool of connection broker")
    expect(existsSync(other)).toBe(false)

    expect(await change(onKafka(kafka))).toBe("reloaded")
    await senders.stop()
    await allDirect()
    expect(await change(onKafka(kafka), `spool = ${other}`)).toBe("reloaded")
    await using more = new NumberedSenders(serving(running), { keys: 4 })
    await more.many(20)
    while (existsSync(`${file()}.pid`)) await Bun.sleep(5)
    await more.stop()
    await allDirect()
    expect(await change(onKafka(kafka), "spool = off")).toBe("reloaded")
    await using last = new NumberedSenders(serving(running), { keys: 4 })
    await last.many(20)
    await last.stop()
    expect([...more.posted, ...last.posted].filter(({ answer }) => answer !== 200)).toEqual([])
    expect(await running.stop()).toBe(0)
  })

  test("and that fails leaves the spool and its broker as they were", async () => {
    using taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
    await using senders = await start(onKafka(kafka))
    await senders.many(100)
    const wrong = configurationOf(settings(`${nobody}\nspool_max_bytes = 1`))
    const more = `\n[pipeline:more:WebHookSource]\nport = ${taken.port}\n[pipeline:more:BrokerSink]\ntopic = more`
    const seen = running.log.length
    expect(await reload(running, folder, wrong + more)).toBe("not")
    await senders.many(300)
    expect(running.log.slice(seen).filter(({ msg }) => msg.includes("spooling them"))).toEqual([])
    await judge(senders)
  })
})
