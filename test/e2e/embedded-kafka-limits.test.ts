import { expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { readdirSync, readFileSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { join } from "node:path"
import { LIMITS } from "../../src/kafka-listener/limits.ts"
import { ApiVersions } from "../../src/kafka-protocol/messages.ts"
import { HANG_MS } from "../support/hang.ts"
import { startHookline, folderOfTests, type LogLine, type RunningHookline } from "../support/hookline.ts"
import { makeCertificates } from "../support/kafka-certificates.ts"
import { isListening, kafkaAddressOf, RawKafkaClient, readableLog } from "../support/kafka-clients.ts"
import { freePort } from "../support/ports.ts"

const folder = folderOfTests()

const configuration = (address: string): string => readableLog(`kafka_listen = ${address}`)
const versions = async (client: RawKafkaClient): Promise<Buffer | undefined> => {
  client.request({ key: ApiVersions.key, version: 0 }, 1, Buffer.alloc(0))
  return client.response()
}
const isDisconnected = ({ msg }: LogLine): boolean => msg.startsWith("Kafka client disconnected")

test(`no more than ${LIMITS.connections} clients are connected; one that leaves makes room`, async () => {
  await using running = await startHookline(configuration("127.0.0.1:0"), { folder: folder.make("many") })
  const address = await kafkaAddressOf(running)
  const connectKnown = async () => {
    const client = await RawKafkaClient.connect(address)
    await versions(client)
    return client
  }
  const clients = await Promise.all(Array.from({ length: LIMITS.connections }, connectKnown))
  expect(await versions(clients.at(-1)!)).toBeDefined()
  // it is reset as soon as it is accepted
  const refused = await RawKafkaClient.connect(address).catch(() => undefined)
  expect(await refused?.response()).toBeUndefined()
  const { msg } = await running.logged(isDisconnected)
  expect(msg).toBe(`Kafka client disconnected: there are ${LIMITS.connections} connections`)
  for (const client of clients) await client[Symbol.asyncDispose]()
  for (;;) {
    await using again = await RawKafkaClient.connect(address).catch(() => undefined)
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

/** Connections that send the beginning of something, over and over, until they are ended. */
function holdOpen(port: number, count: number, beginning: Uint8Array | string): Disposable {
  const sockets = new Set<Socket>()
  let hasEnded = false
  const open = (): void => {
    if (hasEnded) return
    const socket = connect(port, "127.0.0.1", () => socket.write(beginning))
    sockets.add(socket)
    socket
      .on("error", () => {})
      .on("close", () => {
        sockets.delete(socket)
        setTimeout(open, 500)
      })
  }
  for (let n = 0; n < count; n++) open()
  return {
    [Symbol.dispose]() {
      hasEnded = true
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The first bytes of a TLS record. */
const HALF_A_HANDSHAKE = Buffer.from("16030100c80100", "hex")
const DESCRIPTORS = 512

async function startWithTls(own: string): Promise<{ running: RunningHookline; ca: string }> {
  const { server, ca } = await makeCertificates(own)
  const files = `kafka_tls_certificate = ${server.certificate}\nkafka_tls_key = ${server.key}`
  const running = await startHookline(
    configuration(`127.0.0.1:0\n${files}`).replace("listen = off", "listen = 127.0.0.1:0"),
    { folder: own, descriptors: DESCRIPTORS },
  )
  return { running, ca: readFileSync(ca, "utf8") }
}

const statusOf = async (url: string, init: RequestInit = {}): Promise<number> =>
  (await fetch(url, { ...init, keepalive: false, signal: AbortSignal.timeout(HANG_MS) })).status

const descriptorsOf = ({ pid }: RunningHookline): number => readdirSync(`/proc/${pid}/fd`).length

test("connections that do not finish the TLS handshake leave half of the descriptors to webhooks and probes, and room for a client that does", async () => {
  const { running, ca } = await startWithTls(folder.make("handshakes"))
  await using _ = running
  const address = await kafkaAddressOf(running)
  {
    using __ = holdOpen(Number(address.split(":")[1]), 1000, HALF_A_HANDSHAKE)
    await running.logged(({ msg }) => msg.includes("another needs its place"))
    for (let n = 0; n < 20; n++) {
      expect(await statusOf(`${running.adminUrl}/healthz`)).toBe(200)
      expect(await statusOf(running.urls["webhooks"]!, { method: "POST", body: "{}" })).toBe(200)
      expect(descriptorsOf(running)).toBeLessThan(DESCRIPTORS / 2 + 50)
    }
  }
  await using client = await RawKafkaClient.connect(address, ca)
  expect(await versions(client)).toBeDefined()
})

test("a connection that does not finish the TLS handshake is ended", async () => {
  const { running } = await startWithTls(folder.make("handshake"))
  await using _ = running
  const address = await kafkaAddressOf(running)
  await using client = await RawKafkaClient.connect(address)
  client.send(HALF_A_HANDSHAKE)
  const { msg } = await running.logged(isDisconnected)
  expect(msg).toBe("Kafka client disconnected: it does not finish the TLS handshake")
  expect(await client.response()).toBeUndefined()
})

test("connections that send half a header section to the admin port leave descriptors to webhooks, and the port answers", async () => {
  const { running } = await startWithTls(folder.make("admin"))
  await using _ = running
  const { host, port } = new URL(running.adminUrl!)
  using __ = holdOpen(Number(port), 1000, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nX-A: `)
  await running.logged(({ msg }) => msg.startsWith("admin connections closed"))
  for (let answered = 0; answered < 20;) {
    expect(await statusOf(running.urls["webhooks"]!, { method: "POST", body: "{}" }).catch(() => 0)).toBe(200)
    if ((await statusOf(`${running.adminUrl}/healthz`).catch(() => 0)) === 200) answered++
  }
})
