import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { Binary } from "../support/binary.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { freshTopic, kafkaForTests } from "../support/kafka.ts"

// The first test that wants a Kafka waits for its start.
setDefaultTimeout(60_000)

const kafka = await kafkaForTests()

describe.skipIf(kafka === undefined)("the compiled command line publishes to Kafka", () => {
  const folder = temporaryFolder()
  let binary: Binary
  beforeAll(() => {
    binary = Binary.build(folder.path)
  })
  afterAll(() => folder[Symbol.dispose]())

  const connection = (more: string): string =>
    `[connection:kafka]\nbootstrap_servers = ${kafka!.bootstrapServers.join(", ")}\n${more}`

  test.each(["none", "gzip", "snappy", "lz4", "zstd"])("with compression_type = %s", async (compression) => {
    const read = await binary.publishAndRead(connection(`compression_type = ${compression}`), freshTopic())
    expect(read.toSorted()).toEqual([1, 2, 3])
  })

  test("from two workers", async () => {
    const read = await binary.publishAndRead(connection(""), freshTopic(), "[service]\nworkers = 2")
    expect(read.toSorted()).toEqual([1, 2, 3])
  })
})
