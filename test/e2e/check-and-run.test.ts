import { afterAll, beforeAll, expect, test } from "bun:test"
import { Database } from "bun:sqlite"
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Application } from "../../src/runtime/application.ts"
import { Runtime } from "../../src/runtime/runtime.ts"
import { HooklineError } from "../../src/errors.ts"
import { BROKEN, writeFiles } from "../support/broken-configurations.ts"
import { hookline, temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"

const QUIET = "\n[service]\nlog_level = silent\n"
const NO_ADMIN = "\n[admin]\nlisten = off\n"

let taken: Bun.Server<undefined>
beforeAll(() => {
  taken = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
})
afterAll(() => taken.stop(true))

/** What `run` or `check` says: its exit status and its problems. */
interface Said {
  readonly status: number
  readonly problems: readonly string[]
}

const saidBy = (error: unknown, folder: string): Said => {
  if (!(error instanceof HooklineError)) throw error
  return { status: error.exitCode, problems: error.message.replaceAll(`${folder}/`, "").split("\n") }
}
const NOTHING: Said = { status: 0, problems: [] }

async function check(file: string, folder: string, alone: boolean): Promise<Said> {
  const { error } = await Application.fromFile(file).diagnose({ alone })
  return error === undefined ? NOTHING : saidBy(error, folder)
}

async function run(file: string, folder: string): Promise<Said> {
  const app = Application.fromFile(file)
  try {
    await app.startBy((plan) => Runtime.start(plan))
  } catch (error) {
    return saidBy(error, folder)
  }
  await app.stop()
  return NOTHING
}

/** Everything in a folder, with times and contents. */
const contentsOf = (folder: string): unknown =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const { mtimeNs, mode } = statSync(path, { bigint: true, throwIfNoEntry: false }) ?? {}
      return [path, mtimeNs, mode, entry.isFile() ? readFileSync(path, "latin1") : ""]
    })
    .toSorted()

/** Holds the lock of the log in a folder, as its writer does. */
function holdLog(folder: string): Disposable {
  mkdirSync(join(folder, "locked"))
  const db = new Database(join(folder, "locked/writer.lock"), { create: true })
  db.run("PRAGMA journal_mode = MEMORY")
  db.run("BEGIN EXCLUSIVE")
  return { [Symbol.dispose]: () => db.close() }
}

test("there are more than forty configurations, each with a name of its own", () => {
  expect(new Set(BROKEN.map(({ name }) => name)).size).toBe(BROKEN.length)
  expect(BROKEN.filter(({ problem }) => problem !== undefined).length).toBeGreaterThan(40)
})

test.each(BROKEN.map((it) => [it.name, it] as const))(
  "%s: check and run agree, and check changes nothing",
  async (_, { conf, make, problem, status = 78, inUse = false }) => {
    using folder = temporaryFolder()
    using _lock = holdLog(folder.path)
    writeFiles(folder.path)
    make?.(folder.path)
    const file = join(folder.path, "pipelines.conf")
    const whole = `${conf}${conf.includes("[admin]") ? "" : NO_ADMIN}${conf.includes("[service]") ? "" : QUIET}`
    writeFileSync(file, whole.replaceAll("PORT", `${taken.port}`).replaceAll("FREE", `${await freePort()}`))

    const before = contentsOf(folder.path)
    const alone = await check(file, folder.path, true)
    const beside = await check(file, folder.path, false)
    expect(contentsOf(folder.path)).toEqual(before)
    expect(alone).toEqual(await run(file, folder.path))
    expect(beside).toEqual(inUse ? NOTHING : alone)
    if (problem === undefined) expect(alone).toEqual(NOTHING)
    else expect(alone).toEqual({ status, problems: [expect.stringMatching(problem)] })
  },
)

test("faults of every kind are reported at once, by both", async () => {
  using folder = temporaryFolder()
  writeFiles(folder.path)
  const file = join(folder.path, "pipelines.conf")
  writeFileSync(
    file,
    `[connection:log]
directory = text.txt
[connection:kafka]
bootstrap_servers = 127.0.0.1:1
security_protocol = ssl
ssl_ca_location = none.pem
[pipeline:a:WebHookSource]
port = 0
tls_certificate = server.pem
tls_key = other.key
[pipeline:a:Validator]
schema = none.json
[pipeline:a:BrokerSink]
topik = t
connection = log
[admin]
listen = 127.0.0.1:${taken.port}
`,
  )
  const said = await check(file, folder.path, true)
  expect(said).toEqual(await run(file, folder.path))
  expect(said.status).toBe(78)
  expect(said.problems.map((it) => it.split(": ").slice(0, 2).join(" "))).toEqual([
    "pipelines.conf:2 [connection:log] directory",
    "pipelines.conf:6 [connection:kafka] ssl_ca_location",
    "pipelines.conf:10 [pipeline:a:WebHookSource] tls_key",
    "pipelines.conf:12 [pipeline:a:Validator] schema",
    "pipelines.conf:13 [pipeline:a:BrokerSink] topic",
    "pipelines.conf:14 [pipeline:a:BrokerSink] topik",
    "pipelines.conf:17 [admin] listen",
  ])
})

test("a folder without permission is refused by both commands", async () => {
  using folder = temporaryFolder()
  const configuration = `[connection:log]\ndirectory = closed/log\n[pipeline:a:WebHookSource]\nport = 0\n[pipeline:a:BrokerSink]\ntopic = t\n`
  writeFileSync(join(folder.path, "pipelines.conf"), configuration + NO_ADMIN)
  mkdirSync(join(folder.path, "closed"))
  chmodSync(join(folder.path, "closed"), 0o555)
  chmodSync(folder.path, 0o755)
  for (const command of ["check", "run"]) {
    const { status, stderr } = await hookline([command, "-c", "pipelines.conf"], {
      cwd: folder.path,
      unprivileged: true,
    })
    expect([status, stderr]).toEqual([
      74,
      expect.stringContaining(
        `pipelines.conf:2: [connection:log] directory: The log in ${folder.path}/closed/log: its directory can't be made in ${folder.path}/closed: no permission`,
      ),
    ])
  }
})
