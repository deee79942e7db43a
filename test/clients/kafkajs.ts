/** A consumer by kafkajs, with the settings of test/support/client-programs.ts. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { Kafka, logLevel, type KafkaConfig, type SASLOptions } from "kafkajs"
import type { ClientSettings } from "../support/client-programs.ts"

const { bootstrap, topic, group, sinceMs, sasl, ca, sessionMs } = JSON.parse(
  process.argv[2]!,
) as ClientSettings
const say = (line: string): boolean => process.stdout.write(`${line}\n`)

const configuration: KafkaConfig = {
  brokers: [bootstrap],
  logLevel: logLevel.ERROR,
  ...(ca !== undefined && { ssl: { ca: readFileSync(ca, "utf8") } }),
  ...(sasl !== undefined && {
    sasl: {
      mechanism: sasl.mechanism.toLowerCase(),
      username: sasl.user,
      password: sasl.password,
    } as SASLOptions,
  }),
}
const kafka = new Kafka(configuration)
// it reads in groups only
const consumer = kafka.consumer({
  groupId: group ?? randomUUID(),
  sessionTimeout: sessionMs,
  heartbeatInterval: 200,
  // heartbeats are sent between fetches
  maxWaitTimeInMs: 200,
})
consumer.on("consumer.group_join", ({ payload }) => {
  if ((payload.memberAssignment[topic] ?? []).length > 0) say("assigned")
})
await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
let since: string | undefined
if (sinceMs !== undefined) {
  const admin = kafka.admin()
  await admin.connect()
  const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, sinceMs)
  since = offsets[0]!.offset
  await admin.disconnect()
}
await consumer.run({
  autoCommit: false,
  eachMessage: async ({ partition, message: { key, offset } }) => {
    if (since !== undefined && Number(offset) < Number(since)) return
    if (group !== undefined)
      await consumer.commitOffsets([{ topic, partition, offset: `${Number(offset) + 1}` }])
    say(`key ${key!.toString()}`)
  },
})
if (since !== undefined) consumer.seek({ topic, partition: 0, offset: since })
