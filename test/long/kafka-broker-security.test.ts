import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import {
  AclOperations,
  AclPermissionTypes,
  ResourcePatternTypes,
  ResourceTypes,
} from "../../src/brokers/kafka/client-library.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { openKafkaReader } from "../../src/brokers/kafka/reader.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { folderOfTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { Receiver } from "../support/receiver.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { kafkaOptions, openTestBroker, until } from "../support/kafka-options.ts"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  administer,
  startKafka,
  type OwnKafka,
} from "../support/kafka.ts"

const PASSWORD = "not-a-real-password"
/** Authenticated again after 0.8 of it: the rest is what a busy machine may be late by. */
const REAUTHENTICATE_MS = 8000
const plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"

describe.skipIf(!(await canStartKafka()) || !hasKcat())("a Kafka that wants to know its clients", () => {
  let kafka: OwnKafka
  const folder = folderOfTests()
  let certificates: Certificates

  beforeAll(async () => {
    certificates = await makeCertificates(folder.path)
    const sasl = (listener: string): { [key: string]: string } => ({
      [`listener.name.${listener}.sasl.enabled.mechanisms`]: "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
      [`listener.name.${listener}.plain.sasl.jaas.config`]: `${plain} user_alice="${PASSWORD}" user_bob="${PASSWORD}";`,
      [`listener.name.${listener}.scram-sha-256.sasl.jaas.config`]: scram,
      [`listener.name.${listener}.scram-sha-512.sasl.jaas.config`]: scram,
    })
    kafka = await startKafka({
      listeners: { TLS: "SSL", MUTUAL: "SSL", SASL: "SASL_PLAINTEXT", BOTH: "SASL_SSL", ELSEWHERE: "SSL" },
      scram: ["SCRAM-SHA-256", "SCRAM-SHA-512"].map(
        (mechanism) => `${mechanism}=[name=alice,password=${PASSWORD}]`,
      ),
      properties: {
        ...sasl("sasl"),
        ...sasl("both"),
        "listener.name.sasl.scram-sha-512.connections.max.reauth.ms": `${REAUTHENTICATE_MS}`,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": certificates.server.keystore,
        "listener.name.elsewhere.ssl.keystore.type": "PEM",
        "listener.name.elsewhere.ssl.keystore.location": certificates.elsewhere.keystore,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": certificates.ca,
        "listener.name.mutual.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
      },
    })
  })
  afterAll(async () => {
    await kafka?.stop()
  })

  const tls = (): Partial<KafkaOptions> => ({ security_protocol: "ssl", ssl_ca_location: certificates.ca })
  const mutual = (): Partial<KafkaOptions> => ({
    ...tls(),
    ssl_certificate_location: certificates.client.certificate,
    ssl_key_location: certificates.client.key,
  })
  const alice = (
    sasl_mechanism: KafkaOptions["sasl_mechanism"],
    sasl_password = PASSWORD,
  ): Partial<KafkaOptions> => ({
    security_protocol: "sasl_plaintext",
    sasl_mechanism,
    sasl_username: "alice",
    sasl_password,
  })
  const WAYS: readonly (readonly [string, string, () => Partial<KafkaOptions>])[] = [
    ["TLS", "TLS", tls],
    ["TLS with a client certificate", "MUTUAL", mutual],
    ["SASL PLAIN", "SASL", () => alice("PLAIN")],
    ["SCRAM-SHA-256", "SASL", () => alice("SCRAM-SHA-256")],
    ["SCRAM-SHA-512", "SASL", () => alice("SCRAM-SHA-512")],
    [
      "SCRAM-SHA-512 over TLS",
      "BOTH",
      () => ({ ...alice("SCRAM-SHA-512"), ...tls(), security_protocol: "sasl_ssl" }),
    ],
  ]

  test.each(WAYS)("is published to and read over %s", async (_, listener, options) => {
    const bootstrapServers = kafka.listener(listener)
    await using broker = openTestBroker({ bootstrapServers }, options())
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + PATIENT_MS)
    expect(broker.ready()).toBe(true)
    expect(await readWithKcat(kafka, topic)).toHaveLength(1)
    const reader = openKafkaReader(kafkaOptions(bootstrapServers, options()))
    const { signal } = new AbortController()
    const read = await Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
    expect(read.map(({ value }) => Buffer.from(value).toString())).toEqual(["v"])
    await reader.close()
  })

  const REFUSED: readonly (readonly [string, string, () => Partial<KafkaOptions>, RegExp])[] = [
    ["a wrong PLAIN password", "SASL", () => alice("PLAIN", "wrong-one"), /: authentication failed \(/],
    [
      "a wrong SCRAM password",
      "SASL",
      () => alice("SCRAM-SHA-256", "wrong-one"),
      /: authentication failed \(/,
    ],
    [
      "a CA that did not sign the broker's certificate",
      "TLS",
      () => ({ ...tls(), ssl_ca_location: certificates.otherCa }),
      /: its certificate is (self-signed, and|from a CA that is) not trusted \(.*; set ssl_ca_location to its CA/,
    ],
    ["a broker's certificate for another host", "ELSEWHERE", tls, /: its certificate is for another host \(/],
    [
      "no client certificate where one is wanted",
      "MUTUAL",
      tls,
      /: the broker requires a client certificate that it trusts \(/,
    ],
    ["plain text to a TLS listener", "TLS", () => ({}), /requires TLS/],
  ]

  test.each(REFUSED)(
    "is not ready with %s, and the log says so once, without secrets",
    async (_, listener, options, reason) => {
      await using broker = openTestBroker({ bootstrapServers: kafka.listener(listener) }, options())
      await until(
        "a reason",
        () => broker.ready() !== true && broker.ready() !== "Kafka is not connected yet",
      )
      expect(broker.ready()).toMatch(reason)
      const refused = broker.publish({ topic: freshTopic(), value: Buffer.from("v") }, steadyMs() + 1200)
      await expect(refused).rejects.toMatchObject({ code: "deadline" })
      expect(broker.log.map(({ level }) => level)).toEqual(["error"])
      const said = JSON.stringify(broker.log) + String(broker.ready())
      expect(said).not.toContain("wrong-one")
      expect(said).not.toContain(PASSWORD)
    },
  )

  test("is published to without a gap while the client has to prove itself again and again", async () => {
    await using broker = openTestBroker({ bootstrapServers: kafka.listener("SASL") }, alice("SCRAM-SHA-512"))
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const end = steadyMs() + 2.5 * REAUTHENTICATE_MS
    let count = 0
    const publishAll = async (): Promise<void> => {
      while (steadyMs() < end) {
        await broker.publish({ topic, value: Buffer.from(`${count++}`) }, steadyMs() + PATIENT_MS)
      }
    }
    await Promise.all(Array.from({ length: 8 }, publishAll))
    const texts = (await readWithKcat(kafka, topic)).map(({ value }) => value.toString())
    expect(texts).toHaveLength(count)
    expect(new Set(texts).size).toBe(count)
  })

  /** Allows a user something, and by that nobody else. */
  const allowOf =
    (resourceType: 2 | 3, resourceName: string) =>
    (name: string, operation: 3 | 4 | 8): Promise<void> => {
      const entry = {
        resourceType,
        resourceName,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal: `User:${name}`,
        host: "*",
        operation,
        permissionType: AclPermissionTypes.ALLOW,
      }
      return administer(kafka, (admin) => admin.createAcls({ creations: [entry] }))
    }

  const forwarding = (id: string, topic: string, listener: string, url: string): string => `[connection:kafka]
bootstrap_servers = ${kafka.listener(listener).join(",")}
security_protocol = ${listener === "BOTH" ? "sasl_ssl" : "sasl_plaintext"}
sasl_mechanism = SCRAM-SHA-512
sasl_username = alice
sasl_password = ${PASSWORD}
${listener === "BOTH" ? `ssl_ca_location = ${certificates.ca}` : ""}
[pipeline:hooks:WebHookSource]
path = /hooks
[pipeline:hooks:BrokerSink]
topic = ${topic}
[forward:${id}]
from = kafka/${topic}
url = ${url}
begin = beginning
`

  test("lets a forward into its group over SASL_SSL once its user may read it, and until then the overview says why not", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    const allow = allowOf(ResourceTypes.GROUP, `hookline-forward-${topic}`)
    await allow("bob", AclOperations.READ)
    using home = temporaryFolder()
    await using receiver = new Receiver()
    await using service = await startHookline(forwarding(topic, topic, "BOTH", receiver.url), {
      folder: home.path,
    })
    const problem = async (): Promise<string | null> => {
      const response = await fetch(`${service.adminUrl}/api/overview`)
      return ((await response.json()) as { forwards: [{ problem: string | null }] }).forwards[0].problem
    }
    const post = async (): Promise<void> => {
      const { status } = await fetch(service.urls["hooks"]!, { method: "POST", body: "{}" })
      expect(status).toBe(200)
    }
    await post()
    await until("a problem", async () => (await problem()) !== null)
    expect(await problem()).toBe(
      `the user of the Kafka connection lacks READ on the group hookline-forward-${topic}`,
    )
    expect(receiver.all).toHaveLength(0)
    await allow("alice", AclOperations.READ)
    await receiver.count(1)
    await post()
    await receiver.count(2)
    expect(receiver.offsets).toEqual([0, 1])
    await until("no problem", async () => (await problem()) === null)
    expect(JSON.stringify(service.log)).not.toContain(PASSWORD)
  })

  test("keeps a forward in its group while its user has to prove itself again and again", async () => {
    const topic = freshTopic()
    await createTopic(kafka, topic)
    using home = temporaryFolder()
    await using receiver = new Receiver()
    await using service = await startHookline(forwarding(topic, topic, "SASL", receiver.url), {
      folder: home.path,
    })
    const end = steadyMs() + 2.5 * REAUTHENTICATE_MS
    let count = 0
    for (; steadyMs() < end; count++) {
      await fetch(service.urls["hooks"]!, { method: "POST", body: "{}" })
      await receiver.count(count + 1)
    }
    expect(receiver.offsets).toEqual([...Array(count).keys()])
    expect(service.log.filter(({ msg }) => msg === "partitions assigned")).toHaveLength(1)
  })

  test("refuses records for a topic that the client may not write to, and takes them once it may", async () => {
    const topic = freshTopic("guarded")
    await createTopic(kafka, topic)
    const allow = allowOf(ResourceTypes.TOPIC, topic)
    await allow("bob", AclOperations.WRITE)
    await using broker = openTestBroker({ bootstrapServers: kafka.listener("SASL") }, alice("PLAIN"))
    const publish = (): Promise<unknown> =>
      broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + PATIENT_MS)
    const isRefused = async (): Promise<boolean> =>
      (await Promise.allSettled([publish()]))[0].status === "rejected"
    // an ACL holds a moment after it is made
    await until("refused", isRefused)
    await expect(publish()).rejects.toMatchObject({ code: "refused" })
    const reader = openKafkaReader(kafkaOptions(kafka.listener("SASL"), alice("PLAIN")))
    const { signal } = new AbortController()
    const read = Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
    await expect(read).rejects.toMatchObject({ code: "refused", message: expect.stringContaining(topic) })
    await reader.close()
    await allow("alice", AclOperations.DESCRIBE)
    await until("seen", isRefused)
    await expect(publish()).rejects.toMatchObject({ code: "refused" })
    await allow("alice", AclOperations.WRITE)
    await until("taken", async () => !(await isRefused()))
  })

  test("a certificate file that is not there is said at once, with its key", () => {
    const missing = { ...tls(), ssl_ca_location: join(folder.path, "missing.pem") }
    expect(() => openTestBroker({ bootstrapServers: kafka.listener("TLS") }, missing)).toThrow(
      /^ssl_ca_location: .*missing\.pem/,
    )
  })
})
