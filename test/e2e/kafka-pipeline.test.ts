import { beforeAll, describe, expect } from "bun:test"
import { behavesAsAPipeline, readBack, type Published } from "../support/behaves-as-a-pipeline.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"

const kafka = await kafkaForTests()
describe.skipIf(kafka === undefined || !hasKcat())("a pipeline to Kafka", () => {
  const topic = freshTopic("pipeline")
  beforeAll(async () => {
    await createTopic(kafka!, topic)
    await createTopic(kafka!, `${topic}-keyed`, { partitions: 5 })
  })
  behavesAsAPipeline(() => ({
    connection: `bootstrap_servers = ${kafka!.bootstrapServers}`,
    topic,
    read: async (folder, topic) => {
      const published = (await readWithKcat(kafka!, topic)).map(({ value, key, headers }) => ({
        value: value.toString(),
        key: key?.toString() ?? null,
        headers: headers === "" ? [] : headers.split(",").map((header) => header.split("=")),
      }))
      // Between partitions there is no order.
      const byValue = (a: Published, b: Published): number => (a.value < b.value ? -1 : 1)
      expect((await readBack(folder, topic)).toSorted(byValue)).toEqual(published.toSorted(byValue))
      return published
    },
  }))
})
