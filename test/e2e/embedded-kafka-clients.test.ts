import { beforeAll, describe, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { join } from "node:path"
import { Writable } from "node:stream"
import { Admin } from "../../src/brokers/kafka/client-library.ts"
import { pino } from "pino"
import { openEmbedded } from "../../src/brokers/embedded/broker.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { ByteWriter } from "../../src/kafka-protocol/byte-writer.ts"
import { Fetch, Metadata } from "../../src/kafka-protocol/messages.ts"
import { steadyMs } from "../../src/clock/clock.ts"
import { withPemFiles } from "../support/certificate.ts"
import { sharedByTests, hookline, reload, startHookline, folderOfTests } from "../support/hookline.ts"
import { kafkaAddressOf, kcat, RawKafkaClient, readableLog } from "../support/kafka-clients.ts"
import { writeRequest } from "../support/kafka-messages.ts"
import { hasKcat, readWithKcat } from "../support/kcat.ts"
import { freePort, freePorts } from "../support/ports.ts"
import { HANG_MS } from "../support/hang.ts"

const folder = folderOfTests()

const configuration = (keys: string): string =>
  readableLog(keys, { source: "max_body_bytes = 4MiB", sink: "key = json:/id\nheaders = path=path" })

/** To everybody. */
const OPEN = { advertised: undefined, tls: undefined, users: undefined }

const running = sharedByTests(() =>
  startHookline(configuration("kafka_listen = 127.0.0.1:0"), { folder: folder.path }),
)
let address: string

async function post(id: string, filler = ""): Promise<void> {
  const body = JSON.stringify({ id, filler })
  const { status } = await fetch(running.urls["webhooks"]!, { method: "POST", body })
  expect(status).toBe(200)
}

async function asAdmin<T>(at: string, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({ clientId: "test", bootstrapBrokers: [at] })
  try {
    return await ask(admin)
  } finally {
    await admin.close()
  }
}

beforeAll(async () => {
  address = await kafkaAddressOf(running)
  for (let n = 0; n < 5; n++) await post(`é${n}`)
})

describe.skipIf(!hasKcat())("kcat", () => {
  const keys = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await kcat(address, "-C", "-t", "webhooks", "-e", "-f", "%k ", ...args)
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    return stdout.trim()
  }

  test("reads records as they are in the log", async () => {
    const read = await readWithKcat({ bootstrapServers: [address] }, "webhooks")
    const reader = openEmbeddedReader(join(folder.path, "log"))
    const options = { from: "beginning", follow: false, signal: new AbortController().signal } as const
    const stored = await Array.fromAsync(readTopic(reader, "webhooks", options))
    await reader.close()
    expect(read.length).toBeGreaterThanOrEqual(5)
    expect(read).toEqual(
      stored.map(({ partition, offset, timestampMs, key, value, headers }) => ({
        partition,
        offset,
        timestampMs,
        key: key && Buffer.from(key),
        value: Buffer.from(value),
        headers: headers.map(([name, it]) => `${name}=${Buffer.from(it).toString()}`).join(","),
      })),
    )
    expect(read[0]!.headers).toBe("path=/webhooks")
  })

  test("reads from an offset, from the end, and a number of records", async () => {
    expect(await keys("-o", "3", "-c", "2")).toBe("é3 é4")
    expect(await keys("-o", "beginning", "-c", "1")).toBe("é0")
    expect(await keys("-o", "end")).toBe("")
    expect(await keys("-o", "-1", "-c", "1")).not.toBe("")
  })

  test("that follows gets each record while many are committed", async () => {
    const [count, first] = [6000, (await readWithKcat({ bootstrapServers: [address] }, "webhooks")).length]
    const range = ["-o", `${first}`, "-c", `${count}`, "-X", "topic.auto.offset.reset=error"]
    const following = kcat(address, "-C", "-t", "webhooks", "-f", "%o ", ...range)
    let sent = 0
    const sender = async (): Promise<void> => {
      while (sent < count) await post(`${sent++}`)
    }
    await Promise.all(Array.from({ length: 64 }, sender))
    const { status, stdout, stderr } = await following
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
    expect(stdout.trim().split(" ").map(Number)).toEqual(Array.from({ length: count }, (_, n) => first + n))
  })

  test("reads from a time, and finds the offset of one", async () => {
    const [, , third] = await readWithKcat({ bootstrapServers: [address] }, "webhooks")
    const at = third!.timestampMs
    expect((await keys("-o", `s@${at}`, "-c", "1")).split(" ")[0]).toBe("é2")
    const query = async (time: number): Promise<string> =>
      (await kcat(address, "-Q", "-t", `webhooks:0:${time}`)).stdout.trim()
    expect(await query(at)).toBe("webhooks [0] offset 2")
    expect(await query(-2)).toBe("webhooks [0] offset 0")
    expect(await query(Date.now() + 60_000)).toBe("webhooks [0] offset -1")
  })

  test("lists the broker and the topics, and learns that another does not exist", async () => {
    const { stdout } = await kcat(address, "-L")
    expect(stdout).toContain(`broker 1 at ${address} (controller)`)
    expect(stdout).toContain('topic "webhooks" with 1 partitions:')
    const other = await kcat(address, "-C", "-t", "others", "-e")
    expect(other.status).toBe(1)
    expect(other.stderr).toContain("Unknown topic or partition")
  })

  test("gets a record that is larger than it asks for, and those after it", async () => {
    await post("large", "x".repeat(3_000_000))
    await post("small")
    const limits = ["-X", "fetch.message.max.bytes=1000", "-X", "fetch.max.bytes=10000000"]
    const { stdout } = await kcat(address, "-C", "-t", "webhooks", "-e", "-f", "%k %S\n", ...limits)
    const sizes = stdout.trim().split("\n").slice(-2)
    expect(sizes[0]).toMatch(/^large 3000\d\d\d$/)
    expect(sizes[1]).toMatch(/^small \d\d$/)
  })

  test("is refused as a producer", async () => {
    const producing = Bun.spawn(["kcat", "-P", "-b", address, "-t", "webhooks"], {
      stdin: new Blob(["no\n"]),
      stderr: "pipe",
    })
    const complaint = await producing.stderr.text()
    expect(await producing.exited).toBe(1)
    expect(complaint).toContain("Topic authorization failed")
  })
})

test.skipIf(!hasKcat())("an offset that retention has deleted is out of range", async () => {
  const directory = folder.make("retained")
  const broker = openEmbedded(
    { directory, retention_bytes: 50 },
    { log: pino({ enabled: false }), metrics: { batch() {} }, roundMs: 10 },
  )
  const [port] = await freePorts(1)
  const { listening } = broker.listen({ listen: { host: "127.0.0.1", port: port! }, ...OPEN })
  await listening
  for (let n = 0; n < 20; n++) {
    const value = Buffer.from(`0123456789${n}`)
    await broker.publish({ topic: "t", key: undefined, value }, steadyMs() + HANG_MS)
  }
  const at = `127.0.0.1:${port}`
  const firstOf = async (): Promise<number> => {
    const { stdout } = await kcat(at, "-Q", "-t", "t:0:-2")
    return Number(stdout.trim().split(" ").at(-1))
  }
  while ((await firstOf()) < 10);
  const read = (reset: string): ReturnType<typeof kcat> =>
    kcat(at, "-C", "-t", "t", "-o", "0", "-e", "-X", `auto.offset.reset=${reset}`)
  const refused = await read("error")
  expect(refused.stderr).toContain("Broker: Offset out of range")
  const last = await broker.publish(
    { topic: "t", key: undefined, value: Buffer.from("last") },
    steadyMs() + HANG_MS,
  )
  const { stdout } = await kcat(at, "-C", "-t", "t", "-o", `${last.offset}`, "-c", "1")
  expect(stdout).toBe("last\n")
  await broker.close()
})

test("requests are answered after the log's file was recovered, those too that came before", async () => {
  const directory = folder.make("recovered")
  const broker = openEmbedded({ directory }, { log: pino({ enabled: false }), metrics: { batch() {} } })
  const [port] = await freePorts(1)
  const { listening } = broker.listen({ listen: { host: "127.0.0.1", port: port! }, ...OPEN })
  await listening
  const publish = (value: string): Promise<unknown> =>
    broker.publish({ topic: "t", key: undefined, value: Buffer.from(value) }, steadyMs() + HANG_MS)
  await publish("before")
  await using client = await RawKafkaClient.connect(`127.0.0.1:${port}`)
  const ask = async (id: number): Promise<string> => {
    client.request({ key: Metadata.key, version: 1 }, id, Buffer.from([255, 255, 255, 255]))
    return String(await client.response())
  }
  expect(await ask(1)).toContain("127.0.0.1")

  const other = new Database(join(directory, "log.sqlite"))
  other.run("ALTER TABLE records_1 RENAME TO gone")
  await publish("lost").catch(() => {})
  // the write of another program, then what a recovery meets
  expect(broker.ready()).toMatch(/changed by another program|no such table/)
  const answer = ask(2)
  other.run("ALTER TABLE gone RENAME TO records_1")
  other.close()
  expect(await answer).toContain("127.0.0.1")
  while (broker.ready() !== true) await Bun.sleep(20)
  await publish("after")
  expect(await ask(3)).toContain("127.0.0.1")
  await broker.close()
})

test("of many clients that are no Kafka clients a few are logged, and then their number", async () => {
  const logged: string[] = []
  const lines = new Writable({
    write(line, _encoding, done) {
      logged.push((JSON.parse(String(line)) as { msg: string }).msg)
      done()
    },
  })
  const directory = folder.make("flooded")
  const broker = openEmbedded({ directory }, { log: pino(lines), metrics: { batch() {} } })
  const [port] = await freePorts(1)
  await broker.listen({ listen: { host: "127.0.0.1", port: port! }, ...OPEN }).listening
  const knocks = Array.from({ length: 100 }, async () => {
    await using client = await RawKafkaClient.connect(`127.0.0.1:${port}`)
    client.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"))
    await client.response()
  })
  await Promise.all(knocks)
  await broker.close()
  const refused = logged.filter((msg) => msg.startsWith("Kafka client disconnected"))
  expect(refused.length).toBeLessThan(50)
  expect(refused.at(-1)).toEndWith("further lines suppressed")
})

describe("requests", () => {
  test("that wait for records are answered as soon as one is committed", async () => {
    await using client = await RawKafkaClient.connect(address)
    let fetchOffset = await asAdmin(address, async (admin) => {
      const partitions = [{ partitionIndex: 0, timestamp: -1n }]
      const [listed] = await admin.listOffsets({ topics: [{ name: "webhooks", partitions }] })
      return Number(listed!.partitions[0]!.offset)
    })
    for (let n = 0; n < 5; n++) {
      const partitions = [{ partition: 0, fetchOffset: fetchOffset++, partitionMaxBytes: 100_000 }]
      const body = new ByteWriter()
      const waiting = {
        maxWaitMs: 2 * HANG_MS,
        minBytes: 1,
        topics: [{ topic: "webhooks", partitions }],
      }
      writeRequest(Fetch, 4, waiting, body)
      client.request({ key: Fetch.key, version: 4 }, n, body.written())
      await post(`live-${n}`)
      expect(String(await client.response())).toContain(`"live-${n}"`)
    }
  })

  test.each([
    ["an API that nobody knows", { key: 999, version: 0 }],
    ["an API that is not served", { key: 24, version: 2 }],
    ["a version to come", { key: 12, version: 99 }],
  ])("with %s are answered UNSUPPORTED_VERSION, and the connection stays open", async (_, header) => {
    await using client = await RawKafkaClient.connect(address)
    client.request(header, 7, Buffer.alloc(20))
    const response = await client.response()
    expect(response?.readInt32BE(0)).toBe(7)
    if (header.key !== 12) expect(response?.readInt16BE(4)).toBe(35)
    client.request({ key: 18, version: 0 }, 8, Buffer.alloc(0))
    expect((await client.response())?.readInt32BE(0)).toBe(8)
  })

  test("ApiVersions in a version to come is answered in version 0, with what is served", async () => {
    await using client = await RawKafkaClient.connect(address)
    client.request({ key: 18, version: 99, flexible: true }, 1, Buffer.from([0]))
    const response = await client.response()
    expect(response?.readInt16BE(4)).toBe(35)
    expect(response?.readInt32BE(6)).toBeGreaterThan(5)
  })

  test("that come at once are answered in order", async () => {
    await using client = await RawKafkaClient.connect(address)
    for (let id = 0; id < 100; id++) client.request({ key: 18, version: 0 }, id, Buffer.alloc(0))
    for (let id = 0; id < 100; id++) expect((await client.response())?.readInt32BE(0)).toBe(id)
  })

  test("that are none end the connection, and the log says why", async () => {
    await using client = await RawKafkaClient.connect(address)
    client.send(Buffer.from("GET / HTTP/1.1\r\n\r\n"))
    expect(await client.response()).toBeUndefined()
    const { msg } = await running.logged(({ msg }) => msg.startsWith("Kafka client disconnected"))
    expect(msg).toContain("does not speak the Kafka protocol")
  })
})

describe("kafka_listen", () => {
  test("on a port in use does not keep the service from starting, and opens once it is free", async () => {
    const own = folder.make("used")
    const port = await freePort()
    const text = configuration(`kafka_listen = 127.0.0.1:${port}`)
    const problem = `can't listen on 127.0.0.1:${port}: the port is in use`
    const other = Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } })
    await using started = await startHookline(text, { folder: own })
    const { reason } = await started.logged(({ msg }) => msg.startsWith("Kafka clients can't connect"))
    expect(reason).toStartWith(problem)
    const { status: answer } = await fetch(started.urls["webhooks"]!, { method: "POST", body: '{"id":"a"}' })
    expect(answer).toBe(200)
    expect(await reload(started, own, text)).toBe("reloaded")
    other.stop(true)
    expect(await kafkaAddressOf(started)).toBe(`127.0.0.1:${port}`)
    const open = await started.logged(({ msg }) => msg.startsWith("kafka_listen: every user of this machine"))
    expect(open).toMatchObject({ level: "warn", address: `127.0.0.1:${port}` })
    await using client = await RawKafkaClient.connect(`127.0.0.1:${port}`)
    client.request({ key: 18, version: 0 }, 1, Buffer.alloc(0))
    expect((await client.response())?.readInt32BE(0)).toBe(1)
  })

  test("on an address of another machine is said by a start", async () => {
    const own = folder.make("elsewhere")
    const file = join(own, "pipelines.conf")
    const tls =
      "kafka_tls_certificate = cert.pem\nkafka_tls_key = key.pem\nkafka_users = billing:obviously-fake"
    const text = configuration(`kafka_listen = 192.0.2.1:9092\n${tls}`)
    await Bun.write(file, text)
    withPemFiles(text, own)
    const { status, stderr } = await hookline(["run", "-c", file])
    expect(stderr).toContain("[connection:log] kafka_listen: can't listen on 192.0.2.1:9092: the host is not")
    expect(status).toBe(69)
  })
})
