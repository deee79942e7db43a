import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { runToEnd } from "../support/child.ts"
import { hookline, reload, startHookline, folderOfTests, type RunningHookline } from "../support/hookline.ts"
import { makeCertificates, type Certificates } from "../support/kafka-certificates.ts"
import { kafkaAddressOf, kcat, RawKafkaClient, readableLog } from "../support/kafka-clients.ts"
import { hasKcat } from "../support/kcat.ts"
import { freePort } from "../support/ports.ts"

const folder = folderOfTests()
let certificates: Certificates
let running: RunningHookline
let address: string

const configuration = (keys: string): string => readableLog(keys, { sink: "" })
const PASSWORD = "obviously-fake:1"
const tls = ({ certificate, key } = certificates.server): string =>
  `kafka_tls_certificate = ${certificate}\nkafka_tls_key = ${key}`

beforeAll(async () => {
  certificates = await makeCertificates(folder.make("certificates"))
  address = `127.0.0.1:${await freePort()}`
  const keys = `kafka_listen = ${address}\nkafka_users = billing:${PASSWORD}, audit:obviously-fake-2\n${tls()}`
  running = await startHookline(configuration(keys), { folder: folder.path })
  await kafkaAddressOf(running)
  await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}" })
})
afterAll(async () => {
  await running.stop()
})

/** What kcat reads of the topic, or complains of. */
async function read(
  mechanism: string,
  { user = "billing", password = PASSWORD, protocol = "sasl_ssl" } = {},
): Promise<string> {
  const settings = {
    "security.protocol": protocol,
    "sasl.mechanism": mechanism,
    "sasl.username": user,
    "sasl.password": password,
    "ssl.ca.location": certificates.ca,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => ["-X", `${name}=${value}`])
  // -q has it say nothing of why it can't connect
  const { stdout, stderr } = await runToEnd([
    "kcat",
    "-b",
    address,
    "-C",
    "-t",
    "webhooks",
    "-e",
    // the answer to a wrong password is delayed
    "-m",
    "4",
    ...args,
  ])
  return stdout === "" ? stderr : stdout
}

describe.skipIf(!hasKcat())("by TLS", () => {
  const MECHANISMS = [["PLAIN"], ["SCRAM-SHA-256"], ["SCRAM-SHA-512"]] as const

  test.each(MECHANISMS)("users read by %s", async (mechanism) => {
    expect(await read(mechanism)).toStartWith('{"received_at"')
    expect(await read(mechanism, { user: "audit", password: "obviously-fake-2" })).toStartWith("{")
  })

  test.each(MECHANISMS)("a wrong password, or a user that nobody is, is refused by %s", async (mechanism) => {
    expect(await read(mechanism, { password: "obviously-fake-2" })).toContain("Authentication failed")
    expect(await read(mechanism, { user: "nobody" })).toContain("Authentication failed")
  })

  test("the log has no password, and says which client was refused", async () => {
    expect(await read("PLAIN")).toStartWith("{")
    expect(await read("PLAIN", { password: "obviously-fake-2" })).toContain("Authentication failed")
    await running.logged(({ msg }) =>
      msg.includes("Kafka client disconnected: its user or password is wrong"),
    )
    expect(JSON.stringify(running.log)).not.toContain("obviously-fake")
  })

  test("without a user nothing is read, and another mechanism is refused", async () => {
    expect(await read("PLAIN", { protocol: "ssl" })).not.toContain("received_at")
    expect(await read("GSSAPI")).not.toContain("received_at")
  })

  test("a reload replaces the users, and a connected client continues", async () => {
    const other = folder.make("reloaded")
    const at = `127.0.0.1:${await freePort()}`
    const keys = (user: string): string =>
      configuration(`kafka_listen = ${at}\nkafka_users = ${user}:${PASSWORD}`)
    await using hooks = await startHookline(keys("billing"), { folder: other })
    await kafkaAddressOf(hooks)
    const list = (user: string) =>
      kcat(
        at,
        "-L",
        "-m",
        "2",
        ...[
          "security.protocol=sasl_plaintext",
          "sasl.mechanism=SCRAM-SHA-256",
          `sasl.username=${user}`,
          `sasl.password=${PASSWORD}`,
        ].flatMap((it) => ["-X", it]),
      )
    expect((await list("billing")).status).toBe(0)
    expect(await reload(hooks, other, keys("later"))).toBe("reloaded")
    expect((await list("later")).status).toBe(0)
    expect((await list("billing")).status).toBe(1)
  })
})

test("a client that is not authenticated gets ILLEGAL_SASL_STATE, and no large request through", async () => {
  const other = folder.make("plaintext")
  const keys = `kafka_listen = 127.0.0.1:0\nkafka_users = billing:${PASSWORD}`
  await using hooks = await startHookline(configuration(keys), { folder: other })
  await using client = await RawKafkaClient.connect(await kafkaAddressOf(hooks))
  client.request({ key: 16, version: 0 }, 1, Buffer.alloc(0))
  expect((await client.response())?.readInt16BE(4)).toBe(34)
  client.request({ key: 18, version: 0 }, 2, Buffer.alloc(0))
  expect((await client.response())?.readInt16BE(4)).toBe(0)
  client.request({ key: 3, version: 1 }, 3, Buffer.alloc(100_000))
  expect(await client.response()).toBeUndefined()
})

test("an address that others reach takes TLS and users", async () => {
  const own = folder.make("open")
  const file = join(own, "pipelines.conf")
  const listen = `kafka_listen = 0.0.0.0:${await freePort()}`
  for (const beside of ["", tls(), `kafka_users = a:${PASSWORD}`]) {
    await Bun.write(file, configuration(`${listen}\n${beside}`))
    const { status, stderr } = await hookline(["check", "-c", file])
    expect(status).toBe(78)
    expect(stderr).toContain(
      "kafka_listen: is not a loopback address, where Kafka clients need TLS and users",
    )
  }
  await Bun.write(file, configuration(`${listen}\n${tls()}\nkafka_users = a:${PASSWORD}`))
  expect(await hookline(["check", "-c", file])).toMatchObject({ status: 0 })
  await Bun.write(
    file,
    configuration(`${listen}\n${tls()}\nkafka_users = a:${PASSWORD}\nkafka_groups = b=billing`),
  )
  expect((await hookline(["check", "-c", file])).stderr).toContain(
    "kafka_groups: b is not a user of kafka_users",
  )
  const mismatched = tls({ ...certificates.server, key: certificates.client.key })
  await Bun.write(file, configuration(`${listen}\n${mismatched}\nkafka_users = a:short`))
  const { stderr } = await hookline(["check", "-c", file])
  expect(stderr).toContain("kafka_users")
  expect(stderr).not.toContain("a:short")
})

test("a port that can't be opened with a changed certificate is tried again until it can", async () => {
  const lines: string[] = []
  let logged = Promise.withResolvers<void>()
  const write = (line: string): void => {
    lines.push(line)
    logged.resolve()
    logged = Promise.withResolvers()
  }
  const said = async (text: string, times = 1): Promise<void> => {
    while (lines.filter((line) => line.includes(text)).length < times) await logged.promise
  }
  const { certificate, key } = certificates.server
  const good = { cert: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") }
  const beside = { advertised: undefined, users: undefined }
  const port = await freePort()
  const log = pino({ level: "info" }, { write })
  const broker = openEmbedded({ directory: folder.make("reopened") }, { log, metrics: { batch() {} } })
  const kafka = broker.listen({ listen: { host: "127.0.0.1", port }, tls: good, ...beside })
  await kafka.listening
  kafka.change({ tls: { ...good, key: "none" }, ...beside })
  await said("Kafka clients can't connect")
  const other = Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } })
  kafka.change({ tls: good, ...beside })
  await said("the port is in use")
  other.stop(true)
  await said("listening for Kafka clients", 2)
  const ca = readFileSync(certificates.ca, "utf8")
  await using client = await RawKafkaClient.connect(`127.0.0.1:${port}`, ca)
  client.request({ key: 18, version: 0 }, 1, Buffer.alloc(0))
  expect((await client.response())?.readInt32BE(0)).toBe(1)
  await broker.close()
})
