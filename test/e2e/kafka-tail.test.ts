import { beforeAll, describe } from "bun:test"
import { canBeRead } from "../support/can-be-read.ts"
import { createTopic, freshTopic, kafkaForTests } from "../support/kafka.ts"

const kafka = await kafkaForTests()
describe.skipIf(kafka === undefined)("a topic of Kafka", () => {
  const topic = freshTopic("tail")
  beforeAll(() => createTopic(kafka!, topic))
  canBeRead(() => ({ connection: `bootstrap_servers = ${kafka!.bootstrapServers}`, topic }))
})
