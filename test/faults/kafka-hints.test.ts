import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer, type AddressInfo, type Server } from "node:net"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { reachKafka } from "../../src/brokers/kafka/reach.ts"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { kafkaOptions, openTestBroker, until } from "../support/kafka-options.ts"
import { canStartKafka, createTopic, startKafka, type OwnKafka } from "../support/kafka.ts"

const PASSWORD = "not-a-real-password"
const NOWHERE = "no-such-host.invalid:9092"
const PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"

describe.skipIf(!(await canStartKafka()))("a connection that does not fit the listener", () => {
  const folder = temporaryFolder()
  let kafka: OwnKafka
  let web: Server
  let silent: Server
  let ca: string

  beforeAll(async () => {
    const { server, ca: file } = await makeCertificates(folder.path)
    ca = file
    const sasl = (listener: string): { [key: string]: string } => ({
      [`listener.name.${listener}.sasl.enabled.mechanisms`]: "PLAIN",
      [`listener.name.${listener}.plain.sasl.jaas.config`]: `${PLAIN} user_alice="${PASSWORD}";`,
    })
    kafka = await startKafka({
      listeners: { TLS: "SSL", SASL: "SASL_PLAINTEXT", BOTH: "SASL_SSL", ASTRAY: "PLAINTEXT" },
      advertised: { ASTRAY: NOWHERE },
      properties: {
        ...sasl("sasl"),
        ...sasl("both"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": server.keystore,
      },
    })
    web = createServer((socket) => {
      socket.on("error", () => socket.destroy())
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
    })
    silent = createServer((socket) => {
      socket.on("error", () => socket.destroy())
      socket.once("data", () => socket.end())
    })
    for (const server of [web, silent])
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  })
  afterAll(async () => {
    web?.close()
    silent?.close()
    await kafka?.stop()
    folder[Symbol.dispose]()
  })

  const serversOf = (listener: string): readonly string[] => {
    const other = { WEB: web, SILENT: silent }[listener]
    if (other !== undefined) return [`127.0.0.1:${(other.address() as AddressInfo).port}`]
    return listener === "PLAINTEXT" ? kafka.bootstrapServers : kafka.listener(listener)
  }
  const optionsOf = (protocol: KafkaOptions["security_protocol"]): Partial<KafkaOptions> => ({
    security_protocol: protocol,
    ...(protocol.endsWith("ssl") && { ssl_ca_location: ca }),
    ...(protocol.startsWith("sasl") && {
      sasl_mechanism: "PLAIN",
      sasl_username: "alice",
      sasl_password: PASSWORD,
    }),
  })

  const MISFITS: readonly (readonly [
    protocol: KafkaOptions["security_protocol"],
    listener: string,
    reason: string,
    hint: string,
    more?: Partial<KafkaOptions>,
  ])[] = [
    ["plaintext", "TLS", "the broker requires TLS", "set security_protocol = ssl"],
    ["plaintext", "BOTH", "the broker requires TLS", "set security_protocol = ssl"],
    [
      "plaintext",
      "SASL",
      "connection (reset|closed)",
      "may require SASL (security_protocol = sasl_plaintext)",
    ],
    ["ssl", "PLAINTEXT", "connection (reset|closed)", "may not use TLS: try security_protocol = plaintext"],
    ["ssl", "SASL", "connection (reset|closed)", "may not use TLS: try security_protocol = plaintext"],
    ["ssl", "WEB", "the answer is not TLS", "may not use TLS: try security_protocol = plaintext"],
    [
      "ssl",
      "BOTH",
      "connection (reset|closed)",
      "may require SASL (security_protocol = sasl_ssl), or a client certificate",
    ],
    [
      "sasl_plaintext",
      "PLAINTEXT",
      "authentication failed",
      "does not use SASL: set security_protocol = plaintext",
    ],
    ["sasl_plaintext", "TLS", "the broker requires TLS", "set security_protocol = sasl_ssl"],
    ["sasl_plaintext", "BOTH", "the broker requires TLS", "set security_protocol = sasl_ssl"],
    [
      "sasl_plaintext",
      "SILENT",
      "connection (reset|closed)",
      "may require TLS: try security_protocol = sasl_ssl",
    ],
    ["sasl_ssl", "TLS", "authentication failed", "does not use SASL: set security_protocol = ssl"],
    [
      "sasl_ssl",
      "SASL",
      "connection (reset|closed)",
      "may not use TLS: try security_protocol = sasl_plaintext",
    ],
    [
      "sasl_plaintext",
      "SASL",
      "authentication failed",
      "does not offer SCRAM-SHA-256: set sasl_mechanism to one of PLAIN",
      { sasl_mechanism: "SCRAM-SHA-256" },
    ],
    [
      "sasl_plaintext",
      "SASL",
      "authentication failed",
      "check sasl_username and sasl_password",
      { sasl_password: "wrong-one" },
    ],
  ]

  test.each(MISFITS)("%s to %s: %s, %s", async (...[protocol, listener, reason, hint, more]) => {
    const bootstrapServers = serversOf(listener)
    const options = { ...optionsOf(protocol), ...more }
    await using broker = openTestBroker({ bootstrapServers }, options)
    await until("it is logged", () => broker.log.length > 0)
    const [line] = broker.log
    const problem = `Kafka unavailable: ${line!["reason"]} (${bootstrapServers[0]}); ${line!["hint"]}`
    const answer = `${bootstrapServers[0]} can't be used: ${line!["reason"]}; ${line!["hint"]}`
    expect(broker.log).toMatchObject([
      {
        level: "error",
        msg: "Kafka unavailable; retrying",
        reason: expect.stringMatching(new RegExp(reason)),
        broker: bootstrapServers[0],
        hint: expect.stringContaining(hint),
      },
    ])
    expect(broker.ready()).toBe(problem)
    const reader = openKafkaReader(kafkaOptions(bootstrapServers, options))
    // the error itself holds sockets, which a failing comparison would print
    expect(await reader.topics().catch((error: Error) => error.message)).toBe(problem)
    await reader.close()
    const reached = await reachKafka(kafkaOptions(bootstrapServers, options), [])
    expect(reached).toEqual({ isUsable: false, answers: [answer] })
    expect(JSON.stringify([broker.log, reached])).not.toContain(PASSWORD)
  })

  test("an advertised address that can't be reached is named, and whose it is", async () => {
    await createTopic(kafka, "astray")
    await using broker = openTestBroker({ bootstrapServers: kafka.listener("ASTRAY") })
    const lost = broker.publish({ topic: "astray", value: Buffer.from("v") }, steadyMs() + 5000)
    await expect(lost).rejects.toMatchObject({ code: "deadline" })
    await until("it is logged", () => broker.log.some(({ level }) => level === "error"))
    expect(broker.log.filter(({ level }) => level === "error")).toMatchObject([
      {
        broker: NOWHERE,
        reason: "host name not found",
        hint: expect.stringContaining("advertised.listeners"),
      },
    ])
    expect(broker.ready()).toContain(`host name not found (${NOWHERE})`)
    const { answers } = await reachKafka(kafkaOptions(kafka.listener("ASTRAY")), ["astray"])
    expect(answers[1]).toMatch(
      `advertised as ${NOWHERE}, can't be used: host name not found; the brokers give clients this address (advertised.listeners)`,
    )
  })

  test("a connection that a broker closes once one has answered gives no hint", async () => {
    await using broker = openTestBroker(kafka)
    await until("it is ready", () => broker.ready() === true)
    await kafka.stop()
    await until("it is lost", () => broker.ready() !== true)
    expect(broker.log.filter(({ level }) => level === "error")).toMatchObject([
      { broker: kafka.bootstrapServers[0] },
    ])
    expect(broker.log.some((line) => "hint" in line)).toBe(false)
  })
})
