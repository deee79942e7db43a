import { afterEach, describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder, type LogLine } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { PROGRAM } from "../support/program.ts"

const CONFIGURATION = (port: number): string => `
[connection:log]
directory = data/log
[connection:kafka]
bootstrap_servers = 127.0.0.1:1
delivery_timeout = 500ms
spool = data/spool/kafka.sqlite

[pipeline:logged:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /logged
[pipeline:logged:Deduplicator]
key = json:/id
store = data/keys
[pipeline:logged:BrokerSink]
connection = log
topic = webhooks

[pipeline:spooled:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /spooled
[pipeline:spooled:BrokerSink]
connection = kafka
topic = webhooks

[pipeline:asana:WebHookSource]
host = 127.0.0.1
port = ${port}
path = /asana
[pipeline:asana:Verifier]
provider = asana
secret_file = asana.secret
[pipeline:asana:BrokerSink]
connection = log
topic = webhooks
[admin]
listen = off
`

/** Each file and folder below one, with its mode: `data/log/ 0700`. */
function modesBelow(folder: string): { [path: string]: string } {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true })
  return Object.fromEntries(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const mode = (statSync(path).mode & 0o777).toString(8).padStart(4, "0")
      return [path.slice(folder.length + 1), mode]
    }),
  )
}

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Runs Hookline under a umask until the test ends, and has it write every kind of file that it writes. */
async function runAll(folder: string, umask: string, { asana = 200 } = {}): Promise<LogLine[]> {
  const port = await freePort()
  writeFileSync(join(folder, "pipelines.conf"), CONFIGURATION(port))
  const child = Bun.spawn(["sh", "-c", `umask ${umask}; exec "$@" run`, "sh", ...PROGRAM], {
    cwd: folder,
    stdout: "pipe",
    stderr: "inherit",
  })
  const log: LogLine[] = []
  const started = Promise.withResolvers<void>()
  const read = (async () => {
    let rest = ""
    for await (const bytes of child.stdout) {
      const lines = (rest + Buffer.from(bytes).toString()).split("\n")
      rest = lines.pop()!
      for (const line of lines) log.push(JSON.parse(line) as LogLine)
      if (log.some(({ msg }) => msg === "started")) started.resolve()
    }
    started.reject(new Error(`ended: ${JSON.stringify(log)}`))
  })()
  stops.push(async () => {
    child.kill("SIGTERM")
    expect(await child.exited).toBe(0)
    await read
  })
  await started.promise
  const post = async (path: string, headers: { [name: string]: string } = {}): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: `{"id":1}`, headers })).status
  expect(await post("/logged")).toBe(200)
  expect(await post("/spooled")).toBe(200)
  expect(await post("/asana", { "X-Hook-Secret": "a-secret-of-the-provider" })).toBe(asana)
  return log
}

const ALL: { readonly [path: string]: string } = {
  data: "0700",
  "data/keys": "0700",
  "data/keys/marks.lock": "0600",
  "data/keys/marks.pid": "0600",
  "data/keys/marks.sqlite": "0600",
  "data/keys/marks.sqlite-shm": "0600",
  "data/keys/marks.sqlite-wal": "0600",
  "data/log": "0700",
  "data/log/log.sqlite": "0600",
  "data/log/log.sqlite-shm": "0600",
  "data/log/log.sqlite-wal": "0600",
  "data/log/writer.lock": "0600",
  "data/log/writer.pid": "0600",
  "data/spool": "0700",
  "data/spool/kafka.sqlite": "0600",
  "data/spool/kafka.sqlite-shm": "0600",
  "data/spool/kafka.sqlite-wal": "0600",
  "data/spool/kafka.sqlite.lock": "0600",
  "data/spool/kafka.sqlite.pid": "0600",
  "data/spool/kafka.sqlite.reserve": "0600",
  "asana.secret": "0600",
}

describe.each(["000", "022", "177"])("with umask %s", (umask) => {
  test("folders are 0700 and files 0600, and none is warned of", async () => {
    using folder = temporaryFolder()
    const log = await runAll(folder.path, umask)
    const { "pipelines.conf": _, ...modes } = modesBelow(folder.path)
    expect(modes).toEqual(ALL)
    expect(log.filter(({ msg }) => msg.includes("other users"))).toEqual([])
  })
})

test("what is looser already keeps its mode, and is named with what to do", async () => {
  using folder = temporaryFolder()
  const loose: { [path: string]: number } = {
    "data/keys": 0o755,
    "data/keys/marks.sqlite": 0o604,
    "data/log": 0o750,
    "data/log/log.sqlite": 0o644,
    "data/log/writer.lock": 0o666,
    "data/spool": 0o755,
    "data/spool/kafka.sqlite": 0o640,
    "asana.secret": 0o640,
  }
  const path = (name: string): string => join(folder.path, name)
  for (const name of ["data/keys", "data/log", "data/spool"]) mkdirSync(path(name), { recursive: true })
  for (const [name, mode] of Object.entries(loose)) {
    if (name.includes(".")) writeFileSync(path(name), name === "asana.secret" ? "a secret" : "")
    chmodSync(path(name), mode)
  }
  const log = await runAll(folder.path, "000", { asana: 401 })
  const found = modesBelow(folder.path)
  const octal = (mode: number): string => mode.toString(8).padStart(4, "0")
  for (const [name, mode] of Object.entries(loose)) expect([name, found[name]]).toEqual([name, octal(mode)])
  const warned = log.filter(({ level, msg }) => level === "warn" && msg.includes("run chmod go-rwx on"))
  const named = warned.flatMap((line) => line["paths"] as string[])
  expect(named.filter((it) => !/-(wal|shm) /.test(it)).toSorted()).toEqual(
    Object.entries(loose)
      .map(([name, mode]) => `${path(name)} (${octal(mode)})`)
      .toSorted(),
  )
})

/** As a user who has nothing to do with Hookline, in no group. */
const STRANGER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
const canBeAnother =
  process.getuid?.() === 0 &&
  Bun.which("setpriv") !== null &&
  Bun.spawnSync([...STRANGER, process.execPath, "--revision"]).success

/** Reads in a database and keeps holding its lock, where it may. */
const HOLD = `
  const db = new (require("bun:sqlite").Database)(process.argv[1], { readonly: true })
  db.run("BEGIN")
  db.query("SELECT * FROM sqlite_schema").all()
  console.log("held")
  await Bun.stdin.text()
  // in use until here, so that the garbage collector does not close it before
  db.close()`

test.skipIf(!canBeAnother)(
  "another user can keep Hookline from its log by the lock only where its mode was loosened",
  async () => {
    using folder = temporaryFolder()
    chmodSync(folder.path, 0o755)
    mkdirSync(join(folder.path, "data/log"), { recursive: true })
    const lock = join(folder.path, "data/log/writer.lock")
    writeFileSync(lock, "")
    const command = [...STRANGER, process.execPath, "-e", HOLD, lock]
    const tries = async (mode: number): Promise<{ held: boolean; writes: boolean }> => {
      chmodSync(lock, mode)
      const stranger = Bun.spawn(command, { stdin: "pipe", stdout: "pipe", stderr: "ignore" })
      const { value } = await stranger.stdout.getReader().read()
      const writes = await runAll(folder.path, "000").then(
        () => true,
        () => false,
      )
      await stops.pop()!()
      stranger.kill()
      await stranger.exited
      return { held: value !== undefined, writes }
    }
    expect(await tries(0o644)).toEqual({ held: true, writes: false })
    expect(await tries(0o600)).toEqual({ held: false, writes: true })
  },
)

test.skipIf(!canBeAnother)(
  "another user can open neither log, WAL nor lock, in a folder that is open to all",
  async () => {
    using folder = temporaryFolder()
    await runAll(folder.path, "000")
    const names = Object.keys(ALL)
    for (const name of ["", ...names.filter((it) => ALL[it] === "0700")])
      chmodSync(join(folder.path, name), 0o777)
    const files = ["pipelines.conf", ...names.filter((it) => ALL[it] === "0600")]
    const opens = `cd "$0"; for name; do (exec 3<"$name" || exec 3>>"$name") 2> /dev/null && echo "$name"; done`
    const { stdout } = Bun.spawnSync([...STRANGER, "sh", "-c", opens, folder.path, ...files])
    expect(stdout.toString()).toBe("pipelines.conf\n")
  },
)
