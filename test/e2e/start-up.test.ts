import { expect, test } from "bun:test"
import { join } from "node:path"
import { endingWithThisProcess } from "../support/child.ts"
import { temporaryFolder } from "../support/hookline.ts"

const INDEX = join(import.meta.dir, "../../src/index.ts")

/** Starts an application with this connection, and prints whether the Kafka client is loaded then. */
const program = (connection: string): string => `
  const { Application, brokerSink, embeddedConnection, kafkaConnection, Pipeline, webHookSource } =
    await import(${JSON.stringify(INDEX)})
  const app = new Application({ service: { logLevel: "silent" } })
  app.registerConnection("broker", ${connection})
  const [source, sink] = [webHookSource({ path: "/" }), brokerSink({ topic: "t" })]
  app.addPipeline(new Pipeline("webhooks", { source, processors: [], sink }))
  await app.start({ listen: false })
  console.log(Object.keys(require.cache).some((file) => file.includes("@platformatic/kafka")))
  await app.stop()`

test.each([
  ["is loaded for a connection to Kafka", `kafkaConnection({ bootstrapServers: ["127.0.0.1:1"] })`, true],
  ["is not loaded for an embedded log alone", `embeddedConnection({ directory: "log" })`, false],
])("the Kafka client %s", async (_, connection, loaded) => {
  using folder = temporaryFolder()
  const child = Bun.spawn(endingWithThisProcess(process.execPath, "-e", program(connection)), {
    cwd: folder.path,
    stdout: "pipe",
  })
  expect(await child.stdout.text()).toBe(`${loaded}\n`)
})
