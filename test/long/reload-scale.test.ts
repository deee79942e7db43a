import { expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { readTopic } from "../../src/brokers/read-topic.ts"
import { openEmbeddedReader } from "../../src/brokers/embedded/reader.ts"
import { Application } from "../../src/index.ts"
import { folderOfTests } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const root = folderOfTests()

const PIPELINES = 2000

/** A file of many pipelines on one port. The first of them publishes to `topic`. */
function conf(port: number, topic: string, more = ""): string {
  const pipelines = Array.from(
    { length: PIPELINES },
    (_, at) => `
[pipeline:p${at}:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /hooks/${at}
[pipeline:p${at}:BrokerSink]
topic = ${at === 0 ? topic : `idle-${at % 10}`}
connection = log`,
  )
  return `[connection:log]\ndirectory = log${pipelines.join("")}
[service]
log_level = silent
[admin]
listen = off
${more}`
}

async function start(
  name: string,
): Promise<{ app: Application; folder: string; port: number; file: string }> {
  const folder = join(root.path, name)
  mkdirSync(folder)
  const file = join(folder, "pipelines.conf")
  const port = await freePort()
  writeFileSync(file, conf(port, "first"))
  const app = Application.fromFile(file)
  await app.start()
  return { app, folder, port, file }
}

async function records(folder: string, topic: string): Promise<number> {
  const reader = openEmbeddedReader(join(folder, "log"))
  const { signal } = new AbortController()
  const read = await Array.fromAsync(readTopic(reader, topic, { from: "beginning", follow: false, signal }))
  await reader.close()
  return read.length
}

test("while 2,000 pipelines are reloaded requests are answered, by those before until those after take over", async () => {
  const { app, folder, port, file } = await start("answered")
  const post = async (): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/hooks/0`, { method: "POST", body: "{}" })).status
  const statuses: number[] = []
  const added = `[pipeline:added:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /added
[pipeline:added:BrokerSink]
topic = added
connection = log`
  try {
    statuses.push(await post())
    writeFileSync(file, conf(port, "second", added))
    const during = { reloaded: false, turns: 0 }
    const turn = (): void => {
      during.turns++
      if (!during.reloaded) setImmediate(turn)
    }
    setImmediate(turn)
    const reload = app.reload().finally(() => (during.reloaded = true))
    while (!during.reloaded) statuses.push(await post())
    expect((await reload).pipelines).toEqual({ added: ["added"], changed: ["p0"], removed: [] })
    // it takes dozens of slices
    expect(during.turns).toBeGreaterThan(5)
    statuses.push(await post())
    // what is equal is kept
    expect((await app.reload()).pipelines).toEqual({ added: [], changed: [], removed: [] })
  } finally {
    await app.stop()
  }
  expect(new Set(statuses)).toEqual(new Set([200]))
  const [first, second] = await Promise.all([records(folder, "first"), records(folder, "second")])
  expect(first + second).toBe(statuses.length)
  expect(first).toBeGreaterThan(2)
  expect(second).toBeGreaterThan(0)
})

test("a stop ends a reload that is under way between two slices, and nothing of it is left open", async () => {
  const { app, folder, port, file } = await start("stopped")
  writeFileSync(file, `[connection:other]\ndirectory = other\n${conf(port, "second")}`)
  const failure = app.reload().catch((error: unknown) => error)
  // connections are opened before pipelines are made, which takes many slices
  while (!existsSync(join(folder, "other/writer.pid"))) await new Promise(setImmediate)
  await app.stop()
  expect(await failure).toMatchObject({ code: "closing" })
  // both could be opened by others now
  for (const directory of ["log", "other"]) {
    writeFileSync(file, conf(port, "first").replace("directory = log", `directory = ${directory}`))
    const again = Application.fromFile(file)
    await again.start()
    await again.stop()
  }
  expect(await records(folder, "second").catch(() => "no topic")).toBe("no topic")
})
