import { beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Binary } from "../support/binary.ts"
import { folderOfTests } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { createTopic, freshTopic, kafkaForTests, startKafka } from "../support/kafka.ts"

const kafka = await kafkaForTests()

describe.skipIf(kafka === undefined)("the compiled command line publishes to Kafka", () => {
  const folder = folderOfTests()
  let binary: Binary
  beforeAll(() => {
    binary = Binary.build(folder.path)
  })

  const connection = (more: string): string =>
    `[connection:kafka]\nbootstrap_servers = ${kafka!.bootstrapServers.join(", ")}\n${more}`

  test.each(["none", "gzip", "snappy", "lz4", "zstd"])("with compression_type = %s", async (compression) => {
    const read = await binary.publishAndRead(connection(`compression_type = ${compression}`), freshTopic())
    expect(read.toSorted()).toEqual([1, 2, 3])
  })

  test("over TLS, whose CA is a file", async () => {
    const { ca, server } = await makeCertificates(join(folder.path, "certificates"))
    await using tls = await startKafka({
      listeners: { TLS: "SSL" },
      properties: { "ssl.keystore.type": "PEM", "ssl.keystore.location": server.keystore },
    })
    const topic = freshTopic()
    await createTopic(tls, topic)
    const overTls = `[connection:kafka]
bootstrap_servers = ${tls.listener("TLS").join(", ")}
security_protocol = ssl
ssl_ca_location = ${ca}`
    expect(await binary.publishAndRead(overTls, topic)).toEqual([1, 2, 3])
  })
})
