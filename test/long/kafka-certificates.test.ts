import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import { copyFileSync, renameSync } from "node:fs"
import { join } from "node:path"
import {
  AclOperations,
  AclPermissionTypes,
  ResourcePatternTypes,
  ResourceTypes,
} from "../../src/brokers/kafka/client-library.ts"
import type { KafkaOptions } from "../../src/brokers/kafka/options.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { PATIENT_MS } from "../support/hang.ts"
import { folderOfTests } from "../support/hookline.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { openTestBroker, until } from "../support/kafka-options.ts"
import { openProxy, type Proxy } from "../support/kafka-proxy.ts"
import {
  canStartKafka,
  createTopic,
  freshTopic,
  administer,
  startKafka,
  type OwnKafka,
} from "../support/kafka.ts"

describe.skipIf(!(await canStartKafka()))("a Kafka that wants client certificates", () => {
  let kafka: OwnKafka
  let proxy: Proxy
  const folder = folderOfTests()
  let certificates: Certificates
  let given: Partial<KafkaOptions>

  beforeAll(async () => {
    certificates = await makeCertificates(folder.path)
    const { server, ca } = certificates
    given = {
      security_protocol: "ssl",
      ssl_ca_location: join(folder.path, "used-ca.pem"),
      ssl_certificate_location: join(folder.path, "used.pem"),
      ssl_key_location: join(folder.path, "used.key"),
    }
    proxy = await openProxy()
    kafka = await startKafka({
      listeners: { MUTUAL: "SSL" },
      advertised: { MUTUAL: proxy.address },
      properties: {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": server.keystore,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": ca,
        "listener.name.mutual.ssl.client.auth": "required",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
      },
    })
    proxy.target = kafka.listener("MUTUAL")[0]
  })
  beforeEach(() => {
    replace(given.ssl_ca_location, certificates.ca)
    replace(given.ssl_certificate_location, certificates.client.certificate)
    replace(given.ssl_key_location, certificates.client.key)
  })
  afterAll(async () => {
    await kafka?.stop()
    await proxy?.[Symbol.asyncDispose]()
  })

  /** Replaces a file as a certificate manager does. */
  function replace(file: string | undefined, by: string): void {
    copyFileSync(by, `${file}.new`)
    renameSync(`${file}.new`, file!)
  }
  const open = () => openTestBroker({ bootstrapServers: [proxy.address] }, given)

  test("is published to without a refused event while the certificate is replaced, half of it first", async () => {
    const { client, elsewhere: next } = certificates
    const topic = freshTopic()
    await createTopic(kafka, topic)
    await using broker = open()
    let count = 0
    const stopping = new AbortController()
    const publishing = Array.from({ length: 8 }, async () => {
      while (!stopping.signal.aborted) {
        await broker.publish({ topic, value: Buffer.from("v") }, steadyMs() + PATIENT_MS)
        count++
      }
    })
    await until("published", () => count > 100)
    replace(given.ssl_certificate_location, next.certificate)
    await cutUntil("half is noticed", () =>
      broker.log.some(({ msg, reason }) => /not usable/.test(msg) && /does not match/.test(String(reason))),
    )
    replace(given.ssl_key_location, next.key)
    await cutUntil("it is used", () =>
      broker.log.some(({ msg }) => msg.startsWith("certificates read again")),
    )
    cutAll()
    await refuse("CN=client", topic)
    const before = count
    await until("published on", () => count > before + 100)
    stopping.abort()
    await Promise.all(publishing)
    // those who still show the certificate from before are refused
    replace(given.ssl_certificate_location, client.certificate)
    replace(given.ssl_key_location, client.key)
    await using other = open()
    await expect(
      other.publish({ topic, value: Buffer.from("v") }, steadyMs() + PATIENT_MS),
    ).rejects.toMatchObject({
      code: "refused",
    })
  })

  test("is connected to once the file of its CA has been replaced", async () => {
    replace(given.ssl_ca_location, certificates.otherCa)
    await using broker = open()
    await until("not trusted", () => /certificate/.test(String(broker.ready())))
    replace(given.ssl_ca_location, certificates.ca)
    await until("trusted", () => broker.ready() === true)
  })

  function cutAll(): void {
    proxy.loseAnswers()
    setTimeout(() => proxy.heal(), 50)
  }

  /** Again each second: no answer may have been on its way. */
  async function cutUntil(what: string, holds: () => boolean): Promise<void> {
    cutAll()
    const timer = setInterval(cutAll, 1000)
    await until(what, holds).finally(() => clearInterval(timer))
  }

  async function refuse(name: string, topic: string): Promise<void> {
    const entry = (principal: string, permissionType: 2 | 3) => ({
      resourceType: ResourceTypes.TOPIC,
      resourceName: topic,
      resourcePatternType: ResourcePatternTypes.LITERAL,
      principal,
      host: "*",
      operation: AclOperations.WRITE,
      permissionType,
    })
    const creations = [
      entry("User:*", AclPermissionTypes.ALLOW),
      entry(`User:${name}`, AclPermissionTypes.DENY),
    ]
    await administer(kafka, (admin) => admin.createAcls({ creations }))
  }
})
