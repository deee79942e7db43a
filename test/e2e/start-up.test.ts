import { expect, test } from "bun:test"
import { join } from "node:path"
import { endingWithThisProcess } from "../support/child.ts"
import { temporaryFolder } from "../support/hookline.ts"

const INDEX = join(import.meta.dir, "../../src/index.ts")

/** Starts an application with this connection and processors, and prints whether a module is loaded then. */
const program = (name: string, connection: string, processors = ""): string => `
  const { Application, brokerSink, deduplicator, embeddedConnection, kafkaConnection, Pipeline, webHookSource } =
    await import(${JSON.stringify(INDEX)})
  const app = new Application({ service: { logLevel: "silent" } })
  app.registerConnection("broker", ${connection})
  const [source, sink] = [webHookSource({ path: "/" }), brokerSink({ topic: "t" })]
  app.addPipeline(new Pipeline("webhooks", { source, processors: [${processors}], sink }))
  await app.start({ listen: false })
  console.log(Object.keys(require.cache).some((file) => file.includes(${JSON.stringify(`/node_modules/${name}/`)})))
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
  const child = Bun.spawn(endingWithThisProcess(process.execPath, "-e", program), {
    cwd: folder.path,
    stdout: "pipe",
  })
  expect(await child.stdout.text()).toBe(`${loaded}\n`)
})
