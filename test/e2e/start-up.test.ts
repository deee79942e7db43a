import { expect, test } from "bun:test"
import { connect } from "node:net"
import { join } from "node:path"
import { endingWithThisProcess } from "../support/child.ts"
import { startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePorts } from "../support/ports.ts"

const INDEX = join(import.meta.dir, "../../src/index.ts")

/**
 * A program that starts an application with this connection and processors, and prints whether a module is loaded then. With
 * `awaited` as its argument it waits for that */
const program = (name: string, connection: string, processors = ""): string => `
  const isLoaded = () => Object.keys(require.cache).some((file) => file.includes(${JSON.stringify(`/node_modules/${name}/`)}))
  const { Application, brokerSink, deduplicator, embeddedConnection, kafkaConnection, Pipeline, webHookSource } =
    await import(${JSON.stringify(INDEX)})
  const app = new Application({ service: { logLevel: "silent" } })
  app.registerConnection("broker", ${connection})
  const [source, sink] = [webHookSource({ path: "/" }), brokerSink({ topic: "t" })]
  app.addPipeline(new Pipeline("webhooks", { source, processors: [${processors}], sink }))
  await app.start({ listen: false })
  // what is loaded when it connects is loaded in the background, at any time after the start
  while (process.argv.includes("awaited") && !isLoaded()) await Bun.sleep(5)
  console.log(isLoaded())
  await app.stop()`

const KAFKA = `kafkaConnection({ bootstrapServers: ["127.0.0.1:1"] })`
const LOG = `embeddedConnection({ directory: "log" })`
const deduplicator = (store: string): string =>
  `deduplicator({ key: "json:/id", store: ${JSON.stringify(store)} })`

test.each([
  ["Kafka's is loaded for a connection to Kafka", program("@platformatic/kafka", KAFKA), true],
  ["Kafka's is not loaded for an embedded log alone", program("@platformatic/kafka", LOG), false],
  ["jose is not loaded before there is a token to verify", program("jose", LOG), false],
  [
    "ioredis is loaded for Sentinels",
    program("ioredis", LOG, deduplicator("redis+sentinel://127.0.0.1:1/main")),
    true,
  ],
  [
    "ioredis is not loaded for one Redis server",
    program("ioredis", LOG, deduplicator("redis://127.0.0.1:1")),
    false,
  ],
])("of the clients, %s", async (_, program, loaded) => {
  using folder = temporaryFolder()
  const child = Bun.spawn(
    endingWithThisProcess(process.execPath, "-e", program, ...(loaded ? ["awaited"] : [])),
    {
      cwd: folder.path,
      stdout: "pipe",
    },
  )
  expect(await child.stdout.text()).toBe(`${loaded}\n`)
})

/** Connects to a port and asks for an answer. @returns what became of it: refused, answered or reset */
function knock(port: number): Promise<"refused" | "answered" | "reset"> {
  return new Promise((resolve) => {
    let isOpen = false
    const socket = connect(port, "127.0.0.1")
    socket.on("connect", () => {
      isOpen = true
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    })
    socket.on("data", () => {
      resolve("answered")
      socket.destroy()
    })
    socket.on("error", () => resolve(isOpen ? "reset" : "refused"))
    socket.on("close", () => resolve("reset"))
  })
}

test("from the moment that a port can be connected to, every connection is answered", async () => {
  using folder = temporaryFolder()
  const [port = 0, adminPort = 0] = await freePorts(2)
  const started = new AbortController()
  const became = { refused: 0, answered: 0, reset: 0 }
  const knocking = [port, adminPort].flatMap((at) =>
    Array.from({ length: 8 }, async () => {
      while (!started.signal.aborted) became[await knock(at)]++
    }),
  )
  await using running = await startHookline(
    `[connection:broker]\ndirectory = log\n[admin]\nlisten = 127.0.0.1:${adminPort}
[pipeline:webhooks:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\n[pipeline:webhooks:BrokerSink]\ntopic = t\n`,
    { folder: folder.path },
  )
  started.abort()
  await Promise.all(knocking)
  expect(became).toEqual({ refused: expect.any(Number), answered: expect.any(Number), reset: 0 })
  expect(became.answered).toBeGreaterThan(0)
  expect(await running.stop()).toBe(0)
})
