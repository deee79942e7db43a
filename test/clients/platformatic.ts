/** A consumer by @platformatic/kafka, with the settings of test/support/client-programs.ts. */
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { Consumer, type SASLOptions } from "@platformatic/kafka"
import type { ClientSettings } from "../support/client-programs.ts"

const { bootstrap, topic, group, instance, sinceMs, sasl, ca, sessionMs } = JSON.parse(
  process.argv[2]!,
) as ClientSettings
const say = (line: string): boolean => process.stdout.write(`${line}\n`)

const consumer = new Consumer({
  clientId: "platformatic",
  groupId: group ?? randomUUID(),
  bootstrapBrokers: [bootstrap],
  sessionTimeout: sessionMs,
  // the client wants it to be no shorter than the session
  rebalanceTimeout: sessionMs,
  heartbeatInterval: 200,
  // the broker may be away for a while
  retries: 100,
  retryDelay: 100,
  ...(instance !== undefined && { groupInstanceId: instance }),
  ...(ca !== undefined && { tls: { ca: readFileSync(ca, "utf8") } }),
  ...(sasl !== undefined && {
    sasl: {
      mechanism: sasl.mechanism as SASLOptions["mechanism"],
      username: sasl.user,
      password: sasl.password,
    },
  }),
})
consumer.on("consumer:group:join", ({ assignments }) => {
  if (assignments?.some(({ topic: of, partitions }) => of === topic && partitions.length > 0)) say("assigned")
})
const reading = { topics: [topic], autocommit: false }
let stream
if (sinceMs === undefined)
  stream = await consumer.consume({ ...reading, mode: "committed", fallbackMode: "earliest" })
else {
  const found = await consumer.listOffsets({ topics: [topic], timestamp: BigInt(sinceMs) })
  const offsets = [{ topic, partition: 0, offset: found.get(topic)![0]! }]
  stream = await consumer.consume({ ...reading, mode: "manual", offsets })
}
for await (const message of stream) {
  if (group !== undefined) await message.commit()
  say(`key ${message.key.toString()}`)
}
