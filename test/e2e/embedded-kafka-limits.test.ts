import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import { Database } from "bun:sqlite"
import { join } from "node:path"
import { LIMITS } from "../../src/brokers/embedded/listener/limits.ts"
import { ApiVersions } from "../../src/brokers/embedded/listener/protocol/messages.ts"
import { startHookline, temporaryFolder, type LogLine } from "../support/hookline.ts"
import { isListening, kafkaAddressOf, RawKafkaClient } from "../support/kafka-clients.ts"
import { freePort } from "../support/ports.ts"

setDefaultTimeout(60_000)

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())

const configuration = (address: string): string => `[connection:log]
directory = log
kafka_listen = ${address}
[admin]
listen = off
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
path = /webhooks
[pipeline:webhooks:BrokerSink]
topic = webhooks
`
const versions = async (client: RawKafkaClient): Promise<Buffer | undefined> => {
  client.request({ key: ApiVersions.key, version: 0 }, 1, Buffer.alloc(0))
  return client.response()
}
const isDisconnected = ({ msg }: LogLine): boolean => msg.startsWith("Kafka client disconnected")

test(`no more than ${LIMITS.connections} clients are connected; one that leaves makes room`, async () => {
  await using running = await startHookline(configuration("127.0.0.1:0"), { folder: folder.make("many") })
  const address = await kafkaAddressOf(running)
  const connect = () => RawKafkaClient.connect(address)
  const clients = await Promise.all(Array.from({ length: LIMITS.connections }, connect))
  expect(await versions(clients.at(-1)!)).toBeDefined()
  // it is reset as soon as it is accepted
  const refused = await connect().catch(() => undefined)
  expect(await refused?.response()).toBeUndefined()
  const { msg } = await running.logged(isDisconnected)
  expect(msg).toBe(`Kafka client disconnected: there are ${LIMITS.connections} connections`)
  for (const client of clients) await client[Symbol.asyncDispose]()
  for (;;) {
    await using again = await connect().catch(() => undefined)
    if (again !== undefined && (await versions(again)) !== undefined) break
  }
})

test("a thread that crashes is started again, and serves the same port", async () => {
  const own = folder.make("crash")
  const address = `127.0.0.1:${await freePort()}`
  {
    await using first = await startHookline(configuration(address), { folder: own })
    await kafkaAddressOf(first)
  }
  // a row that Hookline does not write
  const member = (memberId: string, sessionTimeoutMs: number): object => ({ memberId, sessionTimeoutMs })
  const members = [member("a", 1), { ...member("b", 1e9), instanceId: "b" }]
  const state = { generation: 1, protocolType: "consumer", protocol: "range", leader: "a", members }
  const groups = new Database(join(own, "log/groups.sqlite"))
  groups.run("INSERT INTO groups VALUES ('broken', ?)", [JSON.stringify(state)])
  await using running = await startHookline(configuration(address), { folder: own })
  const { reason } = await running.logged(({ msg }) =>
    msg.startsWith("the listener for Kafka clients failed"),
  )
  expect(reason).toBeString()
  groups.run("DELETE FROM groups")
  groups.close()
  for (;;) {
    const before = running.log.filter(isListening).length
    await using client = await RawKafkaClient.connect(address).catch(() => undefined)
    if (client !== undefined && before > 1 && (await versions(client)) !== undefined) break
    await Bun.sleep(50)
  }
})
