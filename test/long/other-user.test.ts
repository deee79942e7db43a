import { beforeAll, describe, expect, test } from "bun:test"
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { endingWithThisProcess, runToEnd } from "../support/child.ts"
import { fillLog } from "../support/embedded-log.ts"
import { hookline, startHookline, folderOfTests } from "../support/hookline.ts"
import { isPermitted } from "../support/tools.ts"
import { PROGRAM } from "../support/program.ts"

// Files of one user, looked at by another: here those that root has made, by the user nobody.

const AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
const canChangeUser = isPermitted(["setpriv"], [...AS_NOBODY, "true"])
const folder = folderOfTests()
const path = (name: string): string => join(folder.path, name)

const CONFIGURATION = `[connection:log]
directory = data/log
[connection:kafka]
bootstrap_servers = 127.0.0.1:1
spool = data/spool/kafka.sqlite
[pipeline:hooks:WebHookSource]
host = 127.0.0.1
port = 0
[pipeline:hooks:BrokerSink]
connection = log
topic = hooks
[admin]
listen = off
`
const asNobody = (...args: string[]) => hookline(args, { cwd: folder.path, unprivileged: true })
/** What every message says of a folder that is root's. */
const refusal = (path: string, mode: string): string =>
  `no permission for user nobody: ${path} belongs to user root, with mode ${mode}; run this as user root, or give user nobody access with chown or chmod`
const NAMED = "(see hookline help no_permission)\n"

describe.skipIf(!canChangeUser)("a user who is not the owner", () => {
  beforeAll(async () => {
    chmodSync(folder.path, 0o755)
    writeFileSync(path("pipelines.conf"), CONFIGURATION)
    await using running = await startHookline(CONFIGURATION, { folder: folder.path })
    expect((await fetch(running.urls["hooks"]!, { method: "POST", body: "{}" })).status).toBe(200)
    await running.stop()
    mkdirSync(path(".hookline/forwards"), { recursive: true, mode: 0o700 })
    chmodSync(path("data"), 0o755)
  })

  test.each([
    [["tail", "hooks", "--connection", "log"], "data/log", "data/log/log.sqlite can't be opened"],
    [["tail", "-f", "hooks", "--connection", "log"], "data/log", "data/log/log.sqlite can't be opened"],
    [["topics", "--connection", "log"], "data/log", "data/log/log.sqlite can't be opened"],
    [
      ["replay", "--from", "log/hooks", "--to", "http://127.0.0.1:1/"],
      "data/log",
      "data/log/log.sqlite can't be opened",
    ],
    [["spool", "status"], "data/spool", "data/spool/kafka.sqlite can't be opened"],
    [["spool", "quarantine"], "data/spool", "data/spool/kafka.sqlite can't be opened"],
    [["spool", "drain"], "data/spool", "data/spool/kafka.sqlite can't be opened"],
    [["forward", "list"], ".hookline", ".hookline/forwards can't be opened"],
  ])(
    "hookline %j names the owner, and does not wait or say that nothing is there",
    async (args, owned, what) => {
      const { status, stdout, stderr } = await asNobody(...args)
      expect([status, stdout]).toEqual([66, ""])
      expect(stderr).toBe(`${path(what)}: ${refusal(path(owned), "0700")}\n${NAMED}`)
    },
  )

  test.each(["check", "run"])("%s names the folder, its owner and the user", async (command) => {
    const { status, stderr } = await asNobody(command)
    expect(status).toBe(74)
    expect(stderr).toContain(
      `pipelines.conf:2: [connection:log] directory: The log in ${path("data/log")}: its directory can't be written: ${refusal(path("data/log"), "0700")}`,
    )
  })

  test("a log whose folder is open and whose file is another user's is named as such", async () => {
    chmodSync(path("data/log"), 0o755)
    const { status, stderr } = await asNobody("topics", "--connection", "log")
    chmodSync(path("data/log"), 0o700)
    expect(status).toBe(66)
    const file = path("data/log/log.sqlite")
    expect(stderr).toStartWith(`${file} can't be opened: no permission for user nobody: `)
  })

  test("a configuration that another user can't read is named with its owner", async () => {
    writeFileSync(path("secret.conf"), CONFIGURATION)
    chmodSync(path("secret.conf"), 0o600)
    const { status, stderr } = await asNobody("topics", "-c", "secret.conf")
    expect(status).toBe(66)
    expect(stderr).toBe(
      `the configuration file secret.conf is not readable: ${refusal(path("secret.conf"), "0600")}; check the path given to -c\n(see hookline help no_configuration)\n`,
    )
  })

  test("a secret_file in a folder that another user can't enter is not one that is still to come", async () => {
    mkdirSync(path("secrets"), { mode: 0o700 })
    writeFileSync(
      path("asana.conf"),
      "[connection:log]\ndirectory = own\n[pipeline:a:WebHookSource]\n[pipeline:a:Verifier]\nprovider = asana\nsecret_file = secrets/asana\n[pipeline:a:BrokerSink]\ntopic = a\n",
    )
    const { status, stderr } = await asNobody("check", "-c", "asana.conf")
    expect([status === 0, stderr]).toEqual([
      false,
      expect.stringContaining(
        `asana.conf:6: [pipeline:a:Verifier] secret_file: ${path("secrets/asana")} is not readable: ${refusal(path("secrets"), "0700")}`,
      ),
    ])
  })

  test("dev in a folder that it can't write names the folder, its owner and the flag for another", async () => {
    const { status, stderr } = await asNobody("dev")
    expect(status).toBe(74)
    expect(stderr).toBe(
      `--directory: The log in ${path("hookline-dev")}: its directory can't be made: ${refusal(folder.path, "0755")}\n${NAMED}`,
    )
  })

  test("an own folder whose mode forbids it is distinguished from another user's", async () => {
    mkdirSync(path("shut"))
    chownSync(path("shut"), 65_534, 65_534)
    chmodSync(path("shut"), 0o500)
    const { stderr } = await runToEnd(endingWithThisProcess(...AS_NOBODY, ...PROGRAM, "dev"), {
      cwd: path("shut"),
      env: process.env,
    })
    expect(stderr).toEndWith(
      `no permission for user nobody: ${path("shut")} belongs to user nobody, with mode 0500; change its mode\n${NAMED}`,
    )
  })

  test("a user whom only a directory service knows is named by the uid", async () => {
    const command = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    const { stderr } = await runToEnd([...command, ...PROGRAM, "topics", "--connection", "log"], {
      cwd: folder.path,
      env: process.env,
    })
    expect(stderr).toContain("no permission for uid 54321: ")
  })
})

describe("a path beyond SQLite's limit", () => {
  /** A path of that many bytes, in several names. */
  const long = (bytes: number): string => {
    let name = folder.path
    while (bytes - Buffer.byteLength(name) > 120) name += `/${"d".repeat(99)}`
    return `${name}/${"d".repeat(bytes - Buffer.byteLength(name) - 1)}`
  }
  const configuration = (directory: string): string =>
    CONFIGURATION.replace("data/log", directory).replace("spool = data/spool/kafka.sqlite\n", "")

  test("is named with its length and the limit, by check, run and dev; the longest one below it is used", async () => {
    // with /writer.lock
    const most = 504 - "/writer.lock".length
    const file = path("long.conf")
    const expected = `the path ${long(most + 1)}/writer.lock has 505 bytes, and SQLite opens none above 504; name a shorter one`
    writeFileSync(file, configuration(long(most + 1)))
    for (const command of ["check", "run"]) {
      const { status, stderr } = await hookline([command, "-c", file])
      expect([command, status, stderr]).toEqual([command, 74, expect.stringContaining(expected)])
    }
    const dev = await hookline(["dev", "--directory", long(most + 1), "--admin-port", "0", "--port", "0"])
    expect([dev.status, dev.stderr]).toEqual([74, expect.stringContaining(expected)])

    await using running = await startHookline(configuration(long(most)), { folder: folder.path })
    expect((await fetch(running.urls["hooks"]!, { method: "POST", body: "{}" })).status).toBe(200)
  })

  test("is named where an existing log is read", async () => {
    await fillLog(path("short"), "hooks", [{ value: Buffer.from("{}") }])
    const directory = long(505)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, "log.sqlite"), await Bun.file(path("short/log.sqlite")).bytes())
    writeFileSync(path("reading.conf"), configuration(directory))
    const { status, stderr } = await hookline(["topics", "-c", path("reading.conf"), "--connection", "log"])
    expect(status).toBe(66)
    expect(stderr).toBe(
      `the path ${directory}/log.sqlite has 516 bytes, and SQLite opens none above 504; name a shorter one\n`,
    )
  })
})
