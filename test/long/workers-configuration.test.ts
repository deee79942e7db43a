import { expect, test } from "bun:test"
import { join } from "node:path"
import { Application } from "../../src/index.ts"
import { hookline, reload, startHookline, folderOfTests } from "../support/hookline.ts"
import { until } from "../support/kafka-options.ts"
import { freePort } from "../support/ports.ts"
import { problemsIn } from "../support/problems-in.ts"
import { childrenOf, metricOf, sum } from "../support/worker-processes.ts"
import {
  NOBODY,
  overManyConnections,
  remembered,
  VERIFIED,
  workersConf,
  type WorkerParts,
} from "../support/workers-configuration.ts"
import { hasTools } from "../support/tools.ts"

const root = folderOfTests()
const folderOf = (name: string): string => root.make(name)

test("what processes can't share is refused, with what to do", async () => {
  const folder = folderOf("refused")
  const more = `
[connection:log]
directory = log
[pipeline:webhooks:Deduplicator]
key = json:/id
[pipeline:shared:WebHookSource]
port = 0
max_body_bytes = 3MiB
[pipeline:shared:Deduplicator]
key = json:/id
store = redis://localhost
[pipeline:shared:BrokerSink]
connection = broker
topic = shared`
  const file = join(folder, "pipelines.conf")
  const connection = `${NOBODY}\nspool = spool.sqlite`
  const parts = { port: 8080, connection, service: "max_in_flight_bytes = 4MiB" }
  const problems = [
    "[connection:broker] spool: a spool is one process's, and [service] workers = 2; set spool = off, or workers = 1",
    "[connection:log] directory: an embedded log is one process's, and [service] workers = 2; publish to Kafka, or set workers = 1",
    "[pipeline:webhooks:Deduplicator] store: is one process's, and [service] workers = 2; name a redis:// store, or set workers = 1",
    "[pipeline:shared:WebHookSource] port: 0 would be another port in each process, and [service] workers = 2; name a port, or set workers = 1",
    "[pipeline:shared:WebHookSource] max_body_bytes: is more than [service] max_in_flight_bytes, shared by 2 workers, so that the largest bodies would never be accepted; lower it, or raise that",
  ]
  await Bun.write(
    file,
    workersConf({ ...parts, more }).replace("topic = webhooks", "connection = broker\ntopic = webhooks"),
  )
  for (const command of ["check", "run"]) {
    const { status, stderr } = await hookline([command, "-c", file])
    expect(status).toBe(78)
    const lines = stderr.trim().split("\n").slice(0, -1)
    expect(lines.map((line) => line.slice(line.search(/\[(connection|pipeline)/))).toSorted()).toEqual(
      problems.toSorted(),
    )
  }
})

test.each([
  ["refused without a Redis that remembers them for all", 2, VERIFIED, true],
  ["taken with one", 2, remembered("redis://localhost"), false],
  ["refused only where they count", 2, `${VERIFIED}\nmode = observe`, false],
  ["taken by one process", 1, VERIFIED, false],
])("signed ids are %s", async (name, workers, more, isRefused) => {
  const file = join(folderOf(name), "pipelines.conf")
  await Bun.write(file, workersConf({ port: 8080, workers, more }))
  const problem = "signed ids of standard-webhooks are remembered by one process"
  expect(problemsIn(file)).toEqual(isRefused ? expect.stringContaining(problem) : "")
})

test("a single process that is to become several with a log of its own says why not, and continues", async () => {
  const folder = folderOf("one-to-two")
  const parts = { port: await freePort(), connection: "directory = log" }
  const running = await startHookline(workersConf({ ...parts, workers: 1 }), { folder })
  try {
    expect(await reload(running, folder, workersConf({ ...parts, workers: 2 }))).toBe("not")
    expect(running.log.filter(({ msg }) => msg.includes("an embedded log is one process's"))).toHaveLength(1)
    expect(await overManyConnections(parts.port, 1, "{}", {})).toEqual([200])
  } finally {
    expect(await running.stop()).toBe(0)
  }
})

test("an application that code starts has no workers, and says so", async () => {
  const folder = folderOf("library")
  await Bun.write(join(folder, "pipelines.conf"), workersConf({ port: await freePort(), admin: "off" }))
  const app = Application.fromFile(join(folder, "pipelines.conf"))
  await expect(app.start()).rejects.toMatchObject({ code: "config" })
  const alone = Application.fromFile(join(folder, "pipelines.conf"), { service: { workers: 1 } })
  await alone.start()
  await alone.stop()
})

test("a port in use and a file that a worker can't read are reported once, and nothing is left running", async () => {
  const folder = folderOf("in-use")
  const file = join(folder, "pipelines.conf")
  const run = async (parts: WorkerParts) => {
    await Bun.write(file, workersConf({ admin: "off", ...parts }))
    return hookline(["run", "-c", file])
  }
  using other = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  const busy = await run({ port: other.port! })
  expect([busy.status, busy.stdout]).toEqual([69, ""])
  expect(busy.stderr.trim().split("\n")).toEqual([
    expect.stringContaining(`can't listen on 127.0.0.1:${other.port}: the port is in use`),
    "(see hookline help port_in_use)",
  ])

  const port = await freePort()
  const elsewhere = folderOf("elsewhere")
  const running = await startHookline(workersConf({ port }), { folder: elsewhere })
  try {
    expect((await run({ port })).status).toBe(69)
  } finally {
    await running.stop()
  }

  const broken = await run({ port, more: "[pipeline:webhooks:Validator]\nschema = none.json" })
  expect(broken.status).not.toBe(0)
  expect(broken.stderr.trim().split("\n")).toEqual([
    expect.stringContaining("none.json"),
    "(see hookline help file_unreadable)",
  ])
  // nobody listens there any more
  const last = await startHookline(workersConf({ port }), { folder })
  expect(await last.stop()).toBe(0)
})

test.skipIf(!hasTools("prlimit"))(
  "a worker that can't follow a reload, which the first one could, is replaced by one that runs it",
  async () => {
    const folder = folderOf("left-behind")
    const [port, next] = [await freePort(), await freePort()]
    const connection = `${NOBODY}\ndelivery_timeout = 50ms`
    const running = await startHookline(workersConf({ port, connection }), { folder })
    try {
      const [, second] = childrenOf(running.pid)
      // it can't open a listener any more
      expect(Bun.spawnSync(["prlimit", `--pid=${second}`, "--nofile=3:"]).exitCode).toBe(0)
      expect(await reload(running, folder, workersConf({ port: next, connection }))).toBe("reloaded")
      const replaced = await running.logged(({ msg }) => msg.startsWith("worker could not reload"))
      expect(replaced).toMatchObject({ level: "error", worker: 2, pid: second })
      await running.logged(({ msg, ...it }) => msg === "worker restarted" && it["worker"] === 2)
      expect(new Set(await overManyConnections(next, 20, "{}", {}))).toEqual(new Set([503]))
      const answers = await metricOf(running, "hookline_worker_http_requests_total")
      expect([...answers.keys()]).toEqual(['worker="1"', 'worker="2"'])
      expect(sum(answers.values())).toBe(20)
    } finally {
      expect(await running.stop()).toBe(0)
    }
  },
)

test("a stop during a reload lets the workers that have not followed yet drain", async () => {
  const folder = folderOf("stopped")
  const [port, next] = [await freePort(), await freePort()]
  const running = await startHookline(workersConf({ port }), { folder })
  const [, second] = childrenOf(running.pid)
  process.kill(second!, "SIGSTOP")
  // its reload takes several slices
  const more = Array.from(
    { length: 300 },
    (_, n) =>
      `[pipeline:p${n}:WebHookSource]\nhost = 127.0.0.1\nport = ${next}\npath = /${n}\n[pipeline:p${n}:BrokerSink]\ntopic = t`,
  ).join("\n")
  await Bun.write(join(folder, "pipelines.conf"), workersConf({ port, more }))
  running.signal("SIGHUP")
  await until("the first worker has reloaded", () =>
    fetch(`http://127.0.0.1:${next}/none`).then(
      () => true,
      () => false,
    ),
  )
  running.signal("SIGTERM")
  await running.logged(({ msg }) => msg === "stopping")
  process.kill(second!, "SIGCONT")
  expect(await running.exited).toBe(0)
  expect(running.log.filter(({ msg }) => msg.startsWith("worker "))).toEqual([])
})
