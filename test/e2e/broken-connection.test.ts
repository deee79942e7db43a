import { describe, expect, test } from "bun:test"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  Application,
  brokerSink,
  type ConnectionSpec,
  embeddedConnection,
  memoryConnection,
  Pipeline,
  webHookSource,
} from "../../src/index.ts"
import { compare } from "../support/findings.ts"
import { hookline, reload, startHookline, temporaryFolder, type Started } from "../support/hookline.ts"
import { startInProcess } from "../support/in-process.ts"
import { NumberedSenders } from "../support/numbered-senders.ts"
import { freePort } from "../support/ports.ts"
import { mountSmallDisk } from "../support/small-disk.ts"
import { eventsInLog } from "../support/webhook-service.ts"
import { isPermitted } from "../support/tools.ts"
import { metricOf } from "../support/metric-of.ts"

/** A configuration whose pipeline `ID` publishes to the connection `ID`, for each of these. */
const configurationOf = (connections: { readonly [id: string]: string }, more = ""): string =>
  Object.entries(connections)
    .map(
      ([id, lines]) => `[connection:${id}]
${lines}
[pipeline:${id}:WebHookSource]
path = /${id}
[pipeline:${id}:BrokerSink]
connection = ${id}
topic = ${id}
`,
    )
    .join("") + more

interface Readiness {
  readonly status: string
  readonly pipelines?: { readonly [id: string]: string }
  readonly connections: { readonly [id: string]: string }
  readonly spools?: { readonly [id: string]: { readonly records: number } }
}

const readyz = async ({ adminUrl }: Started): Promise<[code: number, answer: Readiness]> => {
  const answer = await fetch(`${adminUrl}/readyz`)
  return [answer.status, (await answer.json()) as Readiness]
}

interface Break {
  readonly what: string
  /** Lines of the connection. */
  readonly connection: string
  readonly breaks: (folder: string, stack: DisposableStack) => Promise<Heal> | Heal
  readonly says: RegExp
  /** Lines of its pipeline. */
  readonly pipeline?: string
  /** Where its events are found afterwards; undefined: in its spool. */
  readonly log?: string
}
type Heal = () => unknown

const ON_LOG = "directory = broken/log"
const canMount = isPermitted(
  ["mount", "unshare"],
  ["unshare", "--mount", "mount", "-t", "tmpfs", "x", "/mnt"],
)
const BREAKS: readonly Break[] = [
  {
    what: "a log on a full disk",
    connection: ON_LOG,
    breaks: (folder, stack) => {
      const disk = stack.use(mountSmallDisk(join(folder, "broken"))!)
      disk.fill(0)
      return () => disk.free()
    },
    says: /the disk of .* is full/,
    log: "broken/log",
  },
  {
    what: "a log whose file is damaged",
    connection: ON_LOG,
    breaks: (folder) => {
      const file = join(folder, "broken/log/log.sqlite")
      mkdirSync(join(folder, "broken/log"), { recursive: true })
      writeFileSync(file, Buffer.alloc(32_768, "no database"))
      return () => rmSync(file)
    },
    says: /is not a Hookline log/,
    log: "broken/log",
  },
  {
    what: "a log that another Hookline writes to",
    connection: ON_LOG,
    breaks: async (folder) => {
      mkdirSync(join(folder, "other"))
      const other = await startHookline(configurationOf({ other: "directory = ../broken/log" }), {
        folder: join(folder, "other"),
      })
      return () => other.stop()
    },
    says: /is being written to by process \d+; stop that one/,
    log: "broken/log",
  },
  {
    what: "a spool in what is not a folder",
    connection: "bootstrap_servers = 127.0.0.1:9\nspool = broken/spool.sqlite",
    breaks: (folder) => {
      writeFileSync(join(folder, "broken"), "")
      return () => rmSync(join(folder, "broken"))
    },
    says: /its directory can't be .*broken/,
  },
  {
    what: "a Deduplicator whose store is in what is not a folder",
    connection: "directory = other-log",
    pipeline: "[pipeline:broken:Deduplicator]\nkey = json:/n\nstore = broken/keys\n",
    breaks: (folder) => {
      writeFileSync(join(folder, "broken"), "")
      return () => rmSync(join(folder, "broken"))
    },
    says: /its directory can't be .*broken/,
    log: "other-log",
  },
]

const broken = BREAKS.filter(({ what }) => canMount || !what.includes("disk"))

describe.each(broken)("$what at the start, next to a pipeline that works", (it) => {
  test("costs its own pipeline alone, which answers 503 until it recovers without a restart; nothing acknowledged is lost", async () => {
    using folder = temporaryFolder()
    using stack = new DisposableStack()
    const heal = await it.breaks(folder.path, stack)
    const configuration = configurationOf({ sound: "directory = log", broken: it.connection }, it.pipeline)
    await using running = await startInProcess(configuration, { folder: folder.path })
    const sendersTo = (id: string): NumberedSenders =>
      new NumberedSenders({ url: running.urls[id]!, pid: process.pid }, { keys: 4 })
    await using sound = sendersTo("sound")
    await using failing = sendersTo("broken")

    expect((await failing.first(() => true)).answer).toBe(503)
    await running.logged(({ level, msg }) => level === "error" && it.says.test(msg))
    const [code, { status, pipelines }] = await readyz(running)
    expect([code, status, Object.keys(pipelines ?? {})]).toEqual([200, "partly ready", ["broken"]])
    expect(pipelines!["broken"]).toMatch(it.says)
    const metric = await metricOf(running, "hookline_readiness")
    expect(metric.get('state="partly ready"')).toBe(1)
    expect((await fetch(running.adminUrl!)).status).toBe(200)
    await sound.many(50)

    await heal()
    await failing.acknowledged()
    expect(await readyz(running)).toMatchObject([200, { status: "ready" }])
    expect((await readyz(running))[1]).not.toHaveProperty("pipelines")
    await Promise.all([sound.stop(), failing.stop()])
    const lines = running.log.filter(({ msg }) => /can't be opened yet|can be written again/.test(msg))
    const [files, levels] = [Map.groupBy(lines, ({ file }) => file), lines.map(({ level }) => level)]
    expect(levels.toSorted()).toEqual(levels.map((_, at) => (at < files.size ? "error" : "info")))
    expect(sound.posted.filter(({ answer }) => answer !== 200)).toEqual([])
    const acknowledged = failing.posted.filter(({ answer }) => answer === 200).length
    if (it.log === undefined)
      expect((await readyz(running))[1].spools?.["broken"]?.records).toBe(acknowledged)
    await running.stop()
    const logs = [
      [sound, "log", "sound"] as const,
      ...(it.log === undefined ? [] : [[failing, it.log, "broken"] as const]),
    ]
    for (const [senders, log, topic] of logs) {
      const found = await eventsInLog(join(folder.path, log), topic)
      expect(compare(senders.posted, found)).toMatchObject({ lost: 0, doubled: 0 })
    }
  })
})

test("a start at which no pipeline could receive ends with the status of the failure, and names each connection", async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, "broken"), "")
  const broken = configurationOf({ one: "directory = broken/one", two: "directory = broken/two" })
  const port = await freePort()
  const configuration = `[admin]\nlisten = off\n${broken.replaceAll(/^path =/gm, `port = ${port}\npath =`)}`
  await Bun.write(join(folder.path, "pipelines.conf"), configuration)
  const { status, stderr } = await hookline(["run"], { cwd: folder.path })
  expect(status).toBe(74)
  expect(stderr).toMatch(
    /\[connection:one\] directory: .* is not a folder\n.*\[connection:two\] directory: .* is not a folder/,
  )
})

test("hookline check reports a connection that a start would continue without", async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, "broken"), "")
  const configuration = configurationOf({ sound: "directory = log", broken: ON_LOG })
  await Bun.write(join(folder.path, "pipelines.conf"), configuration)
  const { status, stderr } = await hookline(["check"], { cwd: folder.path })
  expect([status, stderr]).toEqual([
    74,
    expect.stringMatching(/\[connection:broken\] directory: .* is not a folder/),
  ])
})

test("a reload keeps a connection that is broken since the start, and is refused if it adds another one", async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, "broken"), "")
  const connections = { sound: "directory = log", broken: ON_LOG }
  await using running = await startInProcess(configurationOf(connections), { folder: folder.path })
  const post = async (id: string): Promise<number> =>
    (await fetch(running.urls[id]!, { method: "POST", body: "{}" })).status

  const more = { ...connections, more: "directory = more" }
  expect(await reload(running, folder.path, configurationOf(more))).toBe("reloaded")
  expect([await post("sound"), await post("broken"), await post("more")]).toEqual([200, 503, 200])

  const worse = { ...more, worse: "directory = broken/worse" }
  expect(await reload(running, folder.path, configurationOf(worse))).toBe("not")
  expect([await post("sound"), await post("broken"), await post("more")]).toEqual([200, 503, 200])

  rmSync(join(folder.path, "broken"))
  await running.logged(
    ({ connection, msg }) => connection === "broken" && msg.includes("can be written again"),
  )
  expect(await post("broken")).toBe(200)
})

test("a service that never got its connection stops at once, with nothing to complain of", async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, "broken"), "")
  const connections = {
    sound: "directory = log",
    broken: "bootstrap_servers = 127.0.0.1:9\nspool = broken/spool.sqlite",
    log: ON_LOG,
  }
  await using running = await startInProcess(configurationOf(connections), { folder: folder.path })
  await running.logged(({ msg }) => msg.includes("broken/log: its directory"))
  await running.stop()
  expect(running.output()).not.toContain("can't be closed")
})

test("consumer groups that can't be opened at the start cost Kafka clients alone, and work once they can be", async () => {
  using folder = temporaryFolder()
  const groups = join(folder.path, "log", "groups.sqlite")
  mkdirSync(join(folder.path, "log"))
  writeFileSync(groups, Buffer.alloc(32_768, "no database"))
  const configuration = configurationOf({ log: "directory = log\nkafka_listen = 127.0.0.1:0" })
  await using running = await startInProcess(configuration, { folder: folder.path })
  const { file } = await running.logged(({ msg }) => msg.includes("can't be opened yet"))
  expect(file).toBe(groups)
  expect((await fetch(running.urls["log"]!, { method: "POST", body: "{}" })).status).toBe(200)
  rmSync(groups)
  await running.logged(({ msg, file }) => file === groups && msg.includes("can be written again"))
})

test("an application in code starts without a connection that can't be opened, and rejects where it has no other one", async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, "broken"), "")
  const directory = join(folder.path, "broken/log")
  const start = async (connections: { readonly [id: string]: ConnectionSpec }): Promise<Application> => {
    const app = new Application({ service: { logLevel: "silent" } })
    for (const [id, connection] of Object.entries(connections)) {
      app.registerConnection(id, connection)
      const [source, sink] = [webHookSource({ path: `/${id}` }), brokerSink({ topic: id, connection: id })]
      app.addPipeline(new Pipeline(id, { source, processors: [], sink }))
    }
    await app.start({ listen: false })
    return app
  }
  const broken = (): ConnectionSpec => embeddedConnection({ directory })
  const app = await start({ sound: memoryConnection(), broken: broken() })
  const post = async (id: string): Promise<number> =>
    (await app.fetch(new Request(`http://localhost/${id}`, { method: "POST", body: "{}" }))).status
  expect([await post("sound"), await post("broken")]).toEqual([200, 503])
  await app.stop()
  await expect(start({ broken: broken() })).rejects.toMatchObject({ code: "log_io", exitCode: 74 })
})
