import { afterAll, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import {
  Application,
  BrokerSink,
  defineComponent,
  EmbeddedConnection,
  Pipeline,
  WebHookSource,
} from "../../src/index.ts"
import { hookline, reload, startHookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/http-server.ts"
import { openSocket, post } from "../support/http-socket.ts"

const root = temporaryFolder()
afterAll(() => root[Symbol.dispose]())
const folderOf = (name: string): string => {
  mkdirSync(join(root.path, name))
  return join(root.path, name)
}

interface Parts {
  topic?: string
  port?: number
  directory?: string
  source?: string
  more?: string
  admin?: string
}

const conf = ({ topic = "first", port = 0, directory = "log", source, more, admin }: Parts = {}): string => `
[connection:log]
directory = ${directory}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
${source ?? ""}
[pipeline:webhooks:BrokerSink]
topic = ${topic}
connection = log
${more ?? ""}
[admin]
listen = ${admin ?? "127.0.0.1:0"}
`

const status = async (url: string | undefined, body = "{}"): Promise<number> =>
  (await fetch(url!, { method: "POST", body })).status

async function published(folder: string, topic: string): Promise<number> {
  const { stdout } = await hookline(["tail", topic, "-c", join(folder, "pipelines.conf")])
  return stdout.split("\n").filter((line) => line !== "").length
}

test("SIGHUP changes to the new file, and says what changed and never a secret", async () => {
  const folder = folderOf("changes")
  const running = await startHookline(conf(), { folder })
  const verified = `
[pipeline:verified:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:verified:Verifier]
provider = github
secret = obviously-fake-secret
[pipeline:verified:BrokerSink]
topic = verified
connection = log
[service]
drain_timeout = 5s`
  try {
    expect(await status(running.urls["webhooks"])).toBe(200)
    expect(await reload(running, folder, conf({ topic: "second", more: verified }))).toBe("reloaded")
    expect(running.log.at(-1)).toMatchObject({
      pipelines_added: ["verified"],
      pipelines_changed: ["webhooks"],
      service_changed: ["drain_timeout"],
    })
    expect(running.log.at(-1)).not.toHaveProperty("connections_changed")
    expect(await status(running.urls["webhooks"])).toBe(200)
    expect(await status(running.urls["verified"])).toBe(401)

    expect(await reload(running, folder, conf({ topic: "second" }))).toBe("reloaded")
    expect(running.log.at(-1)).toMatchObject({ pipelines_removed: ["verified"] })
    expect(running.log.at(-1)).not.toHaveProperty("pipelines_changed")
    await expect(status(running.urls["verified"])).rejects.toThrow()
    const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
    for (const line of [
      'hookline_http_requests_total{pipeline="webhooks",status="200"} 2',
      'hookline_http_requests_total{pipeline="verified",status="401"} 1',
      'hookline_config_reloads_total{result="success"} 2',
      'hookline_config_reloads_total{result="failure"} 0',
      "hookline_config_last_reload_successful 1",
    ])
      expect(metrics).toContain(`${line}\n`)
  } finally {
    expect(await running.stop()).toBe(0)
  }
  expect(running.output()).not.toContain("obviously-fake-secret")
  expect(await published(folder, "first")).toBe(1)
  expect(await published(folder, "second")).toBe(1)
}, 30_000)

test("a wrong file changes nothing and every problem is told; the next right one is taken", async () => {
  const folder = folderOf("wrong")
  const running = await startHookline(conf(), { folder })
  try {
    const url = running.urls["webhooks"]!
    const wrong = `${conf({ topic: "not a topic", source: "prot = 1" })}token = \${file:none}`
    expect(await reload(running, folder, wrong)).toBe("not")
    const errors = running.log.filter(({ level }) => level === "error").map(({ msg }) => msg)
    for (const key of ["prot", "topic", "token"]) expect(errors.join("\n")).toContain(`] ${key}: `)
    expect(await status(url)).toBe(200)
    const metrics = await (await fetch(`${running.adminUrl}/metrics`)).text()
    expect(metrics).toContain("hookline_config_last_reload_successful 0\n")
    expect(metrics).toContain('hookline_config_reloads_total{result="failure"} 1\n')

    rmSync(join(folder, "pipelines.conf"))
    running.signal("SIGHUP")
    await running.logged(({ msg }) => msg.includes("does not exist"))
    expect(await status(url)).toBe(200)
    expect(await reload(running, folder, conf({ topic: "second" }))).toBe("reloaded")
    expect(await status(url)).toBe(200)
  } finally {
    await running.stop()
  }
  expect(await published(folder, "first")).toBe(2)
  expect(await published(folder, "second")).toBe(1)
}, 30_000)

test("what can't be opened leaves everything as it was: a port in use, a log of another process, a broken schema", async () => {
  const folder = folderOf("unopened")
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const elsewhere = await startHookline(conf(), { folder: folderOf("elsewhere") })
  const running = await startHookline(conf(), { folder })
  await Bun.write(join(folder, "schema.json"), "{")
  const more = (port: number): string =>
    `[pipeline:more:WebHookSource]\nhost = 127.0.0.1\nport = ${port}\n[pipeline:more:BrokerSink]\ntopic = more\nconnection = log`
  try {
    for (const parts of [
      { more: more(other.port!) },
      { more: `${more(0)}\n[connection:other]\ndirectory = ../elsewhere/log` },
      { more: `${more(0)}\n[pipeline:more:Validator]\nschema = schema.json` },
      { admin: `127.0.0.1:${other.port}` },
    ])
      expect(await reload(running, folder, conf({ topic: "second", ...parts }))).toBe("not")
    expect(running.urls).not.toHaveProperty("more")
    expect(await status(running.urls["webhooks"])).toBe(200)
    expect((await fetch(`${running.adminUrl}/readyz`)).status).toBe(200)
  } finally {
    await running.stop()
    await elsewhere.stop()
  }
  expect(running.output()).toContain(`127.0.0.1:${other.port}`)
  expect(running.output()).toContain(`process ${elsewhere.pid}`)
  expect(await published(folder, "first")).toBe(1)
  const { stdout } = await hookline(["topics", "-c", join(folder, "pipelines.conf"), "--connection", "log"])
  expect(stdout).not.toContain("more")
}, 60_000)

test("a request that is under way ends on the pipeline and connection that it began on, which is closed then", async () => {
  const folder = folderOf("under-way")
  const port = await freePort()
  const running = await startHookline(conf({ port }), { folder })
  const before = join(folder, "pipelines-before.conf")
  await Bun.write(before, conf({ port }))
  try {
    using socket = await openSocket(port)
    socket.send(`${post("Content-Length: 7")}{"a"`)
    await running.logged(({ msg }) => msg === "started")
    // the request is there when one that came later is answered
    expect(await status(running.urls["webhooks"])).toBe(200)
    expect(await reload(running, folder, conf({ port, topic: "second", directory: "other" }))).toBe(
      "reloaded",
    )
    expect(await status(running.urls["webhooks"])).toBe(200)
    expect(existsSync(join(folder, "log/writer.pid"))).toBe(true)
    socket.send(":1}")
    expect(await socket.until(/\r\n\r\n/)).toStartWith("HTTP/1.1 200")
    while (existsSync(join(folder, "log/writer.pid"))) await Bun.sleep(5)
  } finally {
    await running.stop()
  }
  expect(await published(folder, "second")).toBe(1)
  const { stdout } = await hookline(["tail", "first", "-c", before])
  expect(stdout.split("\n").filter((line) => line.startsWith('{"a":1'))).toHaveLength(1)
}, 30_000)

test("what a pipeline remembers outlives a reload that changes the pipeline", async () => {
  const folder = folderOf("memory")
  const source = "rate_limit = 0.001"
  const running = await startHookline(conf({ source }), { folder })
  try {
    expect(await status(running.urls["webhooks"])).toBe(200)
    expect(await status(running.urls["webhooks"])).toBe(429)
    expect(await reload(running, folder, conf({ source, topic: "second" }))).toBe("reloaded")
    expect(await status(running.urls["webhooks"])).toBe(429)
    expect(await reload(running, folder, conf({ source: `${source}\nrate_burst = 2` }))).toBe("reloaded")
    expect(await status(running.urls["webhooks"])).toBe(200)
  } finally {
    await running.stop()
  }
}, 30_000)

test("a signed id that was accepted is not accepted again after a reload with another secret", async () => {
  const folder = folderOf("replay")
  const secret = Buffer.from("obviously-fake-secret-0").toString("base64")
  const rotated = Buffer.from("obviously-fake-secret-1").toString("base64")
  const verifier = (secrets: string): string =>
    `[pipeline:webhooks:Verifier]\nprovider = standard-webhooks\nsecret = ${secrets}`
  const running = await startHookline(conf({ more: verifier(`whsec_${secret}`) }), { folder })
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
    expect(await reload(running, folder, conf({ more: both }))).toBe("reloaded")
    expect(await send()).toBe(200)
  } finally {
    await running.stop()
  }
  expect(running.log.filter(({ reason }) => reason === "replayed")).toHaveLength(1)
  expect(await published(folder, "first")).toBe(1)
}, 30_000)

test("a duplicate is known after reloads that change its pipeline, and while another one shares its store", async () => {
  const folder = folderOf("duplicates")
  const deduplicator = "[pipeline:webhooks:Deduplicator]\nkey = json:/id"
  const other = `[pipeline:other:WebHookSource]\nhost = 127.0.0.1\nport = 0
[pipeline:other:Deduplicator]\nkey = json:/id
[pipeline:other:BrokerSink]\ntopic = other\nconnection = log`
  const running = await startHookline(conf({ more: deduplicator }), { folder })
  const send = (): Promise<number> => status(running.urls["webhooks"], '{"id":1}')
  try {
    expect(await send()).toBe(200)
    for (const topic of ["second", "third"]) {
      expect(await reload(running, folder, conf({ topic, more: `${deduplicator}\n${other}` }))).toBe(
        "reloaded",
      )
      expect(await send()).toBe(200)
      expect(await reload(running, folder, conf({ topic, more: deduplicator }))).toBe("reloaded")
      expect(await send()).toBe(200)
    }
    // without its store nobody has the file open, and with it again it is opened again
    expect(await reload(running, folder, conf())).toBe("reloaded")
    expect(await reload(running, folder, conf({ more: deduplicator }))).toBe("reloaded")
    expect(await send()).toBe(200)
    const ready = (await (await fetch(`${running.adminUrl}/readyz`)).json()) as {
      deduplicator_stores: object
    }
    expect(Object.values(ready.deduplicator_stores)).toEqual(["ready"])
  } finally {
    expect(await running.stop()).toBe(0)
  }
  expect(running.log.filter(({ reason }) => reason === "duplicate")).toHaveLength(5)
  expect(await published(folder, "first")).toBe(1)
}, 30_000)

test("the admin listener moves, takes another token, and the log another level", async () => {
  const folder = folderOf("admin")
  const running = await startHookline(conf(), { folder })
  try {
    const before = running.adminUrl!
    const withToken = { headers: { Authorization: "Bearer obviously-fake" } }
    expect(
      await reload(running, folder, `${conf()}token = obviously-fake\n[service]\nlog_level = debug`),
    ).toBe("reloaded")
    expect((await fetch(`${before}/metrics`)).status).toBe(401)
    expect((await fetch(`${before}/metrics`, withToken)).status).toBe(200)

    const port = await freePort()
    expect(await reload(running, folder, conf({ admin: `127.0.0.1:${port}` }))).toBe("reloaded")
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    await expect(fetch(`${before}/healthz`)).rejects.toThrow()

    await Bun.write(
      join(folder, "pipelines.conf"),
      `${conf()}[service]\nlog_level = warn\nlog_format = pretty`,
    )
    running.signal("SIGHUP")
    await running.logged(({ msg }) => msg.includes("log_format takes effect with a restart"))
    while ((await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined)) !== undefined)
      await Bun.sleep(5)
    expect(await status(running.urls["webhooks"], "[]")).toBe(400)
  } finally {
    await running.stop()
  }
  expect(running.log.filter(({ reason }) => reason === "not_an_object")).toEqual([])
}, 30_000)

test("a storm of SIGHUP ends with the last configuration, and SIGTERM during it stops in order", async () => {
  const folder = folderOf("storm")
  const running = await startHookline(conf(), { folder })
  const url = running.urls["webhooks"]
  for (let n = 1; n <= 50; n++) {
    await Bun.write(join(folder, "pipelines.conf"), conf({ topic: `t${n}` }))
    running.signal("SIGHUP")
    if (n % 10 === 0) expect(await status(url)).toBe(200)
  }
  await reload(running, folder, conf({ topic: "last" }))
  // a reload that had yet to begin then may be under way still, and is of the same file
  expect(await status(url)).toBe(200)
  running.signal("SIGHUP")
  running.signal("SIGTERM")
  expect(await running.exited).toBe(0)
  expect(running.log.filter(({ level }) => level === "error")).toEqual([])
  expect(await published(folder, "last")).toBe(1)
}, 30_000)

test("--watch reloads when the file is renamed over, when a secret changes, and when a symbolic link on the way turns", async () => {
  const folder = folderOf("watch")
  // as Kubernetes mounts a ConfigMap: file -> ..data/file, ..data -> ..1
  const version = (name: string, topic: string): void => {
    mkdirSync(join(folder, name))
    writeConf(join(folder, name, "pipelines.conf"), topic)
  }
  const writeConf = (file: string, topic: string): void =>
    writeFileSync(
      file,
      conf({
        topic,
        more: "[pipeline:webhooks:Verifier]\nprovider = token\nheader = X-Token\nsecret = ${file:secret}",
      }),
    )
  await Bun.write(join(folder, "secret"), "obviously-fake-1\n")
  version("..1", "first")
  symlinkSync("..1", join(folder, "..data"))
  const running = await startHookline(readFileSync(join(folder, "..1/pipelines.conf"), "utf8"), {
    folder,
    args: ["--watch"],
  })
  const reloads = (count: number): Promise<unknown> =>
    running.logged(() => running.log.filter(({ msg }) => msg === "reloaded").length >= count)
  const send = async (token: string): Promise<number> =>
    (await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}", headers: { "X-Token": token } }))
      .status
  try {
    // an editor's way to save
    writeConf(join(folder, "new"), "second")
    renameSync(join(folder, "new"), join(folder, "pipelines.conf"))
    await reloads(1)
    expect(await send("obviously-fake-1")).toBe(200)

    // the file becomes one of a mounted volume
    symlinkSync("..data/pipelines.conf", join(folder, "link"))
    version("..2", "third")
    symlinkSync("..2", join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    renameSync(join(folder, "link"), join(folder, "pipelines.conf"))
    await reloads(2)
    expect(await send("obviously-fake-1")).toBe(200)

    version("..3", "fourth")
    symlinkSync("..3", join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    rmSync(join(folder, "..2"), { recursive: true })
    await reloads(3)
    expect(await send("obviously-fake-1")).toBe(200)

    await Bun.write(join(folder, "secret"), "obviously-fake-2\n")
    await reloads(4)
    expect(await send("obviously-fake-2")).toBe(200)
    expect(await send("obviously-fake-1")).toBe(401)

    // a file that goes is told and changes nothing; when it is back, it is read
    rmSync(join(folder, "secret"))
    await running.logged(({ msg }) => msg.startsWith("not reloaded"))
    expect(await send("obviously-fake-2")).toBe(200)
    await Bun.write(join(folder, "secret"), "obviously-fake-3\n")
    await reloads(5)
    expect(await send("obviously-fake-3")).toBe(200)
  } finally {
    expect(await running.stop()).toBe(0)
  }
  expect(running.output()).not.toContain("obviously-fake")
  expect(await published(folder, "second")).toBe(1)
  expect(await published(folder, "third")).toBe(1)
  expect(await published(folder, "fourth")).toBe(4)
}, 60_000)

test.skipIf(process.platform !== "linux")(
  "a hundred reloads leave no descriptor behind and no memory",
  async () => {
    const folder = folderOf("hundred")
    const more = `[connection:second]\ndirectory = second
[pipeline:more:WebHookSource]\nhost = 127.0.0.1\nport = 0\npath = /more
[pipeline:more:BrokerSink]\ntopic = more\nconnection = second`
    const running = await startHookline(conf(), { folder })
    const twice = async (n: number): Promise<void> => {
      expect(await reload(running, folder, conf({ topic: `t${n % 3}`, more }))).toBe("reloaded")
      expect(await reload(running, folder, conf({ topic: `t${n % 3}` }))).toBe("reloaded")
    }
    const descriptors = (): number => readdirSync(`/proc/${running.pid}/fd`).length
    const residentMiB = (): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))![1]) / 1024
    try {
      // the first of them load what is loaded once
      for (let n = 0; n < 10; n++) await twice(n)
      const [before, beforeMiB] = [descriptors(), residentMiB()]
      for (let n = 0; n < 50; n++) await twice(n)
      expect(await status(running.urls["webhooks"])).toBe(200)
      const afterMiB = residentMiB()
      console.log(`100 reloads: ${beforeMiB.toFixed()} MiB before, ${afterMiB.toFixed()} MiB after`)
      // a connection of this test's own is one; the last log that went may still be closing, which nothing tells
      while (descriptors() > before + 2) await Bun.sleep(20)
      expect(afterMiB).toBeLessThan(beforeMiB + 30)
    } finally {
      await running.stop()
    }
  },
  60_000,
)

test("an application in code reloads what is added to it, and a component keeps what it asks to be kept", async () => {
  const closed: string[] = []
  const Count = defineComponent({
    kind: "processor",
    name: "Count",
    summary: "Counts.",
    options: {},
    create(_, { keep, pipeline }) {
      const seen = keep({
        name: "seen",
        wants: "events",
        open: () => ({ events: 0 }),
        close: ({ events }) => void closed.push(`${pipeline} ${events}`),
      })
      return (event) => {
        seen.events++
        return event
      }
    },
  })
  const app = new Application({ service: { log_level: "silent" } })
  app.registerConnection("log", EmbeddedConnection({ directory: folderOf("library") }))
  const pipeline = (id: string, topic: string): Pipeline =>
    new Pipeline(id, {
      source: WebHookSource({ host: "127.0.0.1", port: 0 }),
      processors: [Count()],
      sink: BrokerSink({ topic }),
    })
  await expect(app.reload()).rejects.toMatchObject({ code: "usage" })
  const running = await app.addPipeline(pipeline("one", "one")).start()
  const url = running.listening[0]!.url
  expect(await status(url)).toBe(200)
  app.addPipeline(pipeline("two", "two"))
  const [first, second, third] = await Promise.all([app.reload(), app.reload(), app.reload()])
  expect(first.pipelines).toEqual({ added: ["two"], changed: [], removed: [] })
  expect(second.pipelines).toEqual({ added: [], changed: [], removed: [] })
  expect(third).toBe(second)
  expect(running.listening[0]!.url).toBe(url)
  expect(await status(url)).toBe(200)
  expect(await status(running.listening[1]!.url)).toBe(200)

  app.addPipeline(pipeline("two", "again"))
  await expect(app.reload()).rejects.toMatchObject({ code: "config" })
  expect(await status(url)).toBe(200)
  const stopping = app.stop()
  await expect(app.reload()).rejects.toMatchObject({ code: "closing" })
  await stopping
  expect(closed.toSorted()).toEqual(["one 3", "two 1"])
})
