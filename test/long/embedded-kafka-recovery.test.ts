import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { CLIENT_PROGRAMS, type ClientProgram } from "../support/client-programs.ts"
import { startHookline, temporaryFolder, type RunningHookline } from "../support/hookline.ts"
import { isListening, kafkaAddressOf, readableLog, type RunningConsumer } from "../support/kafka-clients.ts"
import { freePorts } from "../support/ports.ts"
import { CLI } from "../support/program.ts"

const KILLS = 3
const CRASHES = 2
const PRELOAD = join(import.meta.dir, "../support/crashing-thread.ts")

const folder = temporaryFolder()
let ports: { readonly http: number; readonly kafka: number }
let running: RunningHookline
let accepted: string[]

async function start(options: Partial<Parameters<typeof startHookline>[1]> = {}): Promise<void> {
  const configuration = readableLog(`kafka_listen = 127.0.0.1:${ports.kafka}`, {
    source: `port = ${ports.http}`,
  })
  running = await startHookline(configuration, { folder: folder.path, ...options })
  await kafkaAddressOf(running)
}

beforeEach(async () => {
  const [http, kafka] = (await freePorts(2)) as [number, number]
  ports = { http, kafka }
  accepted = []
})
afterEach(async () => {
  await running.stop()
  folder[Symbol.dispose]()
})

/** Posts an event until it is accepted. */
async function post(): Promise<string> {
  const id = `n${accepted.length}.`
  for (;;) {
    const body = JSON.stringify({ id })
    const answer = await fetch(`http://127.0.0.1:${ports.http}/webhooks`, { method: "POST", body }).catch(
      () => undefined,
    )
    if (answer?.ok === true) break
    await Bun.sleep(20)
  }
  accepted.push(id)
  return id
}

/** Posts one after the other until it is disposed. */
function posting(): AsyncDisposable {
  const over = new AbortController()
  const all = (async () => {
    while (!over.signal.aborted) {
      await post()
      await Bun.sleep(10)
    }
  })()
  return {
    async [Symbol.asyncDispose]() {
      over.abort()
      await all
    },
  }
}

const key = (id: string): RegExp => new RegExp(`^key ${id.replace(".", "\\.")}$`, "m")
const keysOf = (consumer: RunningConsumer): string[] =>
  [...consumer.output().matchAll(/^key (.*)$/gm)].map(([, id]) => id!)
const joinGroup = (client: ClientProgram, group: string): RunningConsumer =>
  client.start({ bootstrap: `127.0.0.1:${ports.kafka}`, topic: "webhooks", sessionMs: 3000, group })

/** Those that can be run here. */
const clients: ClientProgram[] = []
for (const client of CLIENT_PROGRAMS) if ((await client.prepare()) === undefined) clients.push(client)

describe.each(clients.map((client) => [client.name, client] as const))("%s", (_, client) => {
  test("reads on where it was when the service was killed, without a gap", async () => {
    await start()
    // makes the topic, which kcat does not wait for
    const first = await post()
    await using consumer = joinGroup(client, "billing")
    await consumer.said(key(first))
    for (let kills = 0; kills < KILLS; kills++) {
      {
        await using _posting = posting()
        await Bun.sleep(300)
        running.signal("SIGKILL")
        await running.exited
        await start()
      }
      await consumer.said(key(await post()))
    }
    const keys = keysOf(consumer)
    // events whose sender was not answered may be there twice
    expect([...new Set(keys)]).toEqual(accepted)
  })

  test("reads on where it was when the listener's thread crashed", async () => {
    const crash = join(folder.path, "crash")
    await start({
      program: [process.execPath, "--preload", PRELOAD, CLI],
      env: { HOOKLINE_TEST_CRASHES: "kafka-listener-thread", HOOKLINE_TEST_CRASH_FILE: crash },
    })
    const first = await post()
    await using consumer = joinGroup(client, "billing")
    await consumer.said(key(first))
    for (let crashes = 1; crashes <= CRASHES; crashes++) {
      {
        await using _posting = posting()
        await Bun.write(crash, "")
        while (running.log.filter(isListening).length <= crashes) await Bun.sleep(20)
      }
      await consumer.said(key(await post()))
    }
    expect([...new Set(keysOf(consumer))]).toEqual(accepted)
    const crashed = running.log.filter(({ msg }) => msg.startsWith("the listener for Kafka clients failed"))
    expect(crashed.map(({ reason }) => reason)).toEqual(
      Array(CRASHES).fill(expect.stringContaining("crashed for a test")),
    )
    // nobody's request failed meanwhile
    expect(running.log.filter(({ level }) => level === "error")).toHaveLength(CRASHES)
  })

  test("reads a new log from its first record on", async () => {
    await start()
    await post()
    const last = await post()
    {
      await using consumer = joinGroup(client, "billing")
      await consumer.said(key(last))
      await consumer.end("SIGTERM")
    }
    await running.stop()
    for (const name of ["log.sqlite", "log.sqlite-wal", "log.sqlite-shm"])
      rmSync(join(folder.path, "log", name), { force: true })
    await start()
    // as many as the group had read of the other log, and one more
    const [first] = [await post(), await post(), await post()]
    await using consumer = joinGroup(client, "billing")
    await consumer.said(key(first))
    await consumer.said(key(await post()))
    // beside what it may say of the disk of a busy machine
    const warnings = running.log.filter(
      ({ level, msg }) => level === "warn" && !msg.startsWith("the disk of"),
    )
    expect(warnings.map(({ msg }) => msg)).toEqual([
      expect.stringContaining("kafka_listen: every user of this machine"),
      expect.stringContaining("the consumer groups are of another log"),
    ])
  })
})
