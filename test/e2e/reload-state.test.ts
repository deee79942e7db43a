import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { existsSync } from "node:fs"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  defineComponent,
  embeddedConnection,
  Pipeline,
  webHookSource,
} from "../../src/index.ts"
import { reload, folderOfTests } from "../support/hookline.ts"
import { openSocket, post } from "../support/http-socket.ts"
import { startInProcess } from "../support/in-process.ts"
import { valuesInLog } from "../support/log-values.ts"
import { freePort } from "../support/ports.ts"
import { published, reloadConf, statusOf } from "../support/reloaded.ts"

const root = folderOfTests()
const folderOf = (name: string): string => root.make(name)

test("a request that is under way ends on the pipeline and connection that it began on, which is closed then", async () => {
  const folder = folderOf("under-way")
  const port = await freePort()
  await using running = await startInProcess(reloadConf({ port }), { folder })
  try {
    using socket = await openSocket(port)
    socket.send(`${post("Content-Length: 7")}{"a"`)
    // the request has arrived when one that came later is answered
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect(await reload(running, folder, reloadConf({ port, topic: "second", directory: "other" }))).toBe(
      "reloaded",
    )
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect(existsSync(join(folder, "log/writer.pid"))).toBe(true)
    socket.send(":1}")
    expect(await socket.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200")
    while (existsSync(join(folder, "log/writer.pid"))) await Bun.sleep(5)
  } finally {
    await running.stop()
  }
  expect(await published(folder, "second")).toBe(1)
  const values = await valuesInLog(join(folder, "log"), "first")
  expect(values.filter((value) => value.startsWith('{"a":1'))).toHaveLength(1)
})

test("what a pipeline remembers outlives a reload that changes the pipeline", async () => {
  const folder = folderOf("memory")
  const source = "rate_limit = 0.001"
  await using running = await startInProcess(reloadConf({ source }), { folder })
  try {
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
    expect(await statusOf(running.urls["webhooks"])).toBe(429)
    expect(await reload(running, folder, reloadConf({ source, topic: "second" }))).toBe("reloaded")
    expect(await statusOf(running.urls["webhooks"])).toBe(429)
    expect(await reload(running, folder, reloadConf({ source: `${source}\nrate_burst = 2` }))).toBe(
      "reloaded",
    )
    expect(await statusOf(running.urls["webhooks"])).toBe(200)
  } finally {
    await running.stop()
  }
})

test("a signed id that was accepted is not accepted again after a reload with another secret", async () => {
  const folder = folderOf("replay")
  const secret = Buffer.from("obviously-fake-secret-0").toString("base64")
  const rotated = Buffer.from("obviously-fake-secret-1").toString("base64")
  const verifier = (secrets: string): string =>
    `[pipeline:webhooks:Verifier]\nprovider = standard-webhooks\nsecret = ${secrets}`
  await using running = await startInProcess(reloadConf({ more: verifier(`whsec_${secret}`) }), { folder })
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac("sha256", Buffer.from(secret, "base64"))
    .update(`msg_1.${timestamp}.{}`)
    .digest("base64")
  const headers = {
    "webhook-id": "msg_1",
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${signature}`,
  }
  const send = async (): Promise<number> =>
    (await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}", headers })).status
  try {
    expect(await send()).toBe(200)
    const both = verifier(`whsec_${rotated}, whsec_${secret}`)
    expect(await reload(running, folder, reloadConf({ more: both }))).toBe("reloaded")
    expect(await send()).toBe(200)
  } finally {
    await running.stop()
  }
  expect(running.log.filter(({ reason }) => reason === "replayed")).toHaveLength(1)
  expect(await published(folder, "first")).toBe(1)
})

test("a duplicate is known after reloads that change its pipeline, and while another one shares its store", async () => {
  const folder = folderOf("duplicates")
  const deduplicator = "[pipeline:webhooks:Deduplicator]\nkey = json:/id"
  const other = `[pipeline:other:WebHookSource]
[pipeline:other:Deduplicator]\nkey = json:/id
[pipeline:other:BrokerSink]\ntopic = other\nconnection = log`
  await using running = await startInProcess(reloadConf({ more: deduplicator }), { folder })
  const send = (): Promise<number> => statusOf(running.urls["webhooks"], '{"id":1}')
  try {
    expect(await send()).toBe(200)
    for (const topic of ["second", "third"]) {
      expect(await reload(running, folder, reloadConf({ topic, more: `${deduplicator}\n${other}` }))).toBe(
        "reloaded",
      )
      expect(await send()).toBe(200)
      expect(await reload(running, folder, reloadConf({ topic, more: deduplicator }))).toBe("reloaded")
      expect(await send()).toBe(200)
    }
    // without its store nobody has the file open, and with it again it is opened again
    expect(await reload(running, folder, reloadConf())).toBe("reloaded")
    expect(await reload(running, folder, reloadConf({ more: deduplicator }))).toBe("reloaded")
    expect(await send()).toBe(200)
    const ready = (await (await fetch(`${running.adminUrl}/readyz`)).json()) as {
      deduplicator_stores: object
    }
    expect(Object.values(ready.deduplicator_stores)).toEqual(["ready"])
  } finally {
    await running.stop()
  }
  expect(running.log.filter(({ reason }) => reason === "duplicate")).toHaveLength(5)
  expect(await published(folder, "first")).toBe(1)
})

test("an application in code reloads what is added to it, and a component keeps what it asks to be kept", async () => {
  const closed: string[] = []
  const Count = defineComponent({
    kind: "processor",
    name: "Count",
    summary: "Counts.",
    options: {},
    create(_, { acquire, pipeline }) {
      const seen = acquire({
        name: "seen",
        config: "events",
        open: () => ({ events: 0 }),
        close: ({ events }) => void closed.push(`${pipeline} ${events}`),
      })
      return (event) => {
        seen.events++
        return event
      }
    },
  })
  const app = new Application({ service: { logLevel: "silent" } })
  app.registerConnection("log", embeddedConnection({ directory: folderOf("library") }))
  const pipeline = (id: string, topic: string): Pipeline =>
    new Pipeline(id, {
      source: webHookSource({ host: "127.0.0.1", port: 0 }),
      processors: [Count()],
      sink: brokerSink({ topic }),
    })
  await expect(app.reload()).rejects.toMatchObject({ code: "usage" })
  const running = await app.addPipeline(pipeline("one", "one")).start()
  const url = running.listening[0]!.url
  expect(await statusOf(url)).toBe(200)
  app.addPipeline(pipeline("two", "two"))
  const [first, second, third] = await Promise.all([app.reload(), app.reload(), app.reload()])
  expect(first.pipelines).toEqual({ added: ["two"], changed: [], removed: [] })
  expect(second.pipelines).toEqual({ added: [], changed: [], removed: [] })
  expect(third).toBe(second)
  expect(running.listening[0]!.url).toBe(url)
  expect(await statusOf(url)).toBe(200)
  expect(await statusOf(running.listening[1]!.url)).toBe(200)

  app.addPipeline(pipeline("two", "again"))
  await expect(app.reload()).rejects.toMatchObject({ code: "config" })
  expect(await statusOf(url)).toBe(200)
  const stopping = app.stop()
  await expect(app.reload()).rejects.toMatchObject({ code: "closing" })
  await stopping
  expect(closed.toSorted()).toEqual(["one 3", "two 1"])
})
