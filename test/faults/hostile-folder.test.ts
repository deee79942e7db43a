import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { runToEnd } from "../support/child.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { freePort } from "../support/ports.ts"
import { HANG_MS } from "../support/hang.ts"

// Commands are run where a stranger can write: by root in /tmp, on a share, in a repository that was just cloned.

const root = join(import.meta.dir, "..", "..")
const program = join(root, "bin", "hookline")

const TRAP = `require("node:fs").appendFileSync(require("node:path").join(__dirname, "sprung"), process.argv.join(" ") + "\\n")\n`

/** Everything that Bun takes code, packages or settings from, each leading to `trap.ts`. */
function layTraps(folder: string): void {
  const write = (name: string, text: string): void => {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const names = ["index", "cli", "run", "check", "src/cli", "src/commands/run", "commands/run"]
  for (const name of ["trap", ...names]) for (const end of ["", ".ts", ".js"]) write(`${name}${end}`, TRAP)
  write("bunfig.toml", `preload = ["./trap.ts"]\n[run]\nbun = true\n[install]\nauto = "force"\n`)
  const env = `HOOKLINE_CONFIG=trap.conf\nHOOKLINE_SECRET=trap\nBUN_OPTIONS=--preload=./trap.ts\nNODE_OPTIONS=--require=./trap.ts\nHOOKLINE_FOLDER=/\n`
  for (const name of [".env", ".env.local", ".env.development", ".env.production"]) write(name, env)
  const paths = { "*": ["./trap.ts"], commander: ["./trap.ts"], pino: ["./trap.ts"] }
  for (const name of ["tsconfig.json", "jsconfig.json"])
    write(name, JSON.stringify({ compilerOptions: { baseUrl: ".", paths } }))
  const packages = Object.keys(manifest.dependencies)
  write(
    "package.json",
    JSON.stringify({
      name: "hookline",
      main: "./trap.js",
      exports: { ".": "./trap.js", "./*": "./trap.js" },
      imports: { "#*": "./trap.js" },
      browser: Object.fromEntries(packages.map((name) => [name, "./trap.js"])),
      scripts: Object.fromEntries(["run", "check", "tail", "start"].map((it) => [it, "bun trap.js"])),
    }),
  )
  for (const name of packages) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, version: "99.0.0", main: "index.js" }))
    write(`node_modules/${name}/index.js`, TRAP.replace("__dirname", JSON.stringify(folder)))
  }
}

/** The same names as pipes that nobody writes to: whoever opens one to read it waits forever. */
function layPipes(folder: string): void {
  const names = [
    "bunfig.toml",
    ".env",
    ".env.local",
    "package.json",
    "tsconfig.json",
    "jsconfig.json",
    "bun.lock",
  ]
  Bun.spawnSync(["mkfifo", ...names.map((name) => join(folder, name))])
}

const LOG = "[connection:log]\ndirectory = log"
const configuration = (port: number, connection: string, more: string): string => `
${connection}
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = off
${more}`

const DEDUPLICATED = `
[pipeline:webhooks:Deduplicator]
key = json:/id`

const SPOOLED = `
[connection:kafka]
bootstrap_servers = 127.0.0.1:1
spool = spool.sqlite
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = off`

const COMMANDS = [
  ["--version", 0, manifest.version],
  ["--help", 0, "Usage: hookline"],
  ["run --help", 0, "SIGHUP reloads"],
  ["check", 0, "Configuration OK"],
  ["check -c spooled.conf", 0, "Configuration OK"],
  ["topics", 0, "webhooks"],
  ["tail webhooks", 0, `"id":"pipelines.conf"`],
  ["tail webhooks --format json", 0, `"topic":"webhooks"`],
  ["spool status -c spooled.conf", 0, "0 to be forwarded"],
  ["spool quarantine -c spooled.conf", 0, ""],
  ["spool drain -c spooled.conf --timeout 1", 0, ""],
  ["verify --list", 0, "stripe"],
  ["verify --provider github --secret s -b body.json", 1, "refused"],
  ["send --provider github --secret s RECEIVER", 0, "1 x 200"],
  ["nonsense", 64, ""],
] as const satisfies [line: string, status: number, says: string][]

describe.each([
  ["code, settings and packages of a stranger", layTraps, COMMANDS],
  [
    "pipes in the place of files that Bun looks for",
    layPipes,
    COMMANDS.filter(([line]) => /^(--version|check|topics|spool drain.*)$/.test(line)),
  ],
] as const)("in a folder with %s", (_, lay, commands) => {
  const folder = temporaryFolder()
  let receiver: Bun.Server<undefined>
  let port: number

  beforeAll(async () => {
    lay(folder.path)
    port = await freePort()
    writeFileSync(join(folder.path, "pipelines.conf"), configuration(port, LOG, DEDUPLICATED))
    writeFileSync(join(folder.path, "spooled.conf"), SPOOLED)
    writeFileSync(join(folder.path, "trap.conf"), "not a configuration")
    writeFileSync(join(folder.path, "body.json"), "{}")
    receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() })
  })
  afterAll(async () => {
    await receiver.stop(true)
    folder[Symbol.dispose]()
  })

  const sprung = (): boolean => existsSync(join(folder.path, "sprung"))

  test("hookline run answers an event, with the log's thread, and stops in order", async () => {
    const child = Bun.spawn([program, "run", "-c", "pipelines.conf"], {
      cwd: folder.path,
      stdout: "pipe",
      stderr: "inherit",
    })
    let output = ""
    let isTried = false
    try {
      for await (const bytes of child.stdout) {
        output += Buffer.from(bytes).toString()
        if (isTried || !output.includes('"started"')) continue
        isTried = true
        const body = JSON.stringify({ id: "pipelines.conf" })
        const answer = await fetch(`http://127.0.0.1:${port}/webhook`, { method: "POST", body })
        expect(answer.status).toBe(200)
        child.kill("SIGTERM")
      }
    } finally {
      child.kill("SIGKILL")
    }
    expect(await child.exited, output).toBe(0)
    const errors = output.split("\n").filter((line) => line.includes('"level":"error"'))
    expect(errors).toEqual([])
    expect(sprung()).toBe(false)
  })

  test.each(commands)("hookline %s does what it does elsewhere", async (line, status, says) => {
    const args = line.replace("RECEIVER", receiver.url.href).split(" ")
    const ended = await runToEnd([program, ...args], { cwd: folder.path, timeout: HANG_MS })
    expect({ ...ended, sprung: sprung() }).toMatchObject({
      status,
      stdout: expect.stringContaining(says),
      sprung: false,
    })
  })
})

test("without its packages it says so, and fetches none", async () => {
  using folder = temporaryFolder()
  const requests: string[] = []
  await using registry = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }) {
      requests.push(url)
      return new Response("{}", { status: 404 })
    },
  })
  for (const name of ["bin", "src", "package.json"])
    cpSync(join(root, name), join(folder.path, "hookline", name), { recursive: true })
  mkdirSync(join(folder.path, "path"))
  symlinkSync(process.execPath, join(folder.path, "path", "bun"))
  const child = Bun.spawn([join(folder.path, "hookline", "bin", "hookline"), "check"], {
    cwd: folder.path,
    env: {
      PATH: `${join(folder.path, "path")}:/usr/bin:/bin`,
      HOME: folder.path,
      BUN_CONFIG_REGISTRY: registry.url.href,
      BUN_INSTALL_CACHE_DIR: join(folder.path, "cache"),
    },
    stdout: "ignore",
    stderr: "pipe",
  })
  expect(await new Response(child.stderr).text()).toContain("commander")
  expect(await child.exited).not.toBe(0)
  expect(requests).toEqual([])
})
