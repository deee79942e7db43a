import { describe, expect, test } from "bun:test"
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { runToEnd } from "../support/child.ts"
import { ROOT } from "../support/documents.ts"
import { startHookline, folderOfTests } from "../support/hookline.ts"
import { hasTools } from "../support/tools.ts"

/** The tenth of it is the highest exposure that `systemd-analyze security` may find: 0 is best, 10 worst. */
const MOST_EXPOSED = 15
const UNIT = join(ROOT, "deploy/systemd/hookline.service")
const text = readFileSync(UNIT, "utf8")
const folder = folderOfTests()

const settings = (name: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value!)

const OF_INSTANCE = join(ROOT, "deploy/systemd/hookline@.service")

describe.skipIf(!hasTools("systemd-analyze")).each([
  ["the systemd unit", UNIT],
  ["the systemd unit of an instance", OF_INSTANCE],
])("%s", (_, unit) => {
  // with the checkout's program, which is there
  const file = join(folder.path, basename(unit))
  const text = readFileSync(unit, "utf8")
  writeFileSync(file, text.replaceAll("/usr/local/bin/hookline", join(ROOT, "bin/hookline")))

  test("has nothing that systemd complains about", async () => {
    const checked = await runToEnd(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file])
    expect(checked).toEqual({ status: 0, stdout: "", stderr: "" })
  })

  test("leaves the service few ways to do harm", async () => {
    const threshold = `--threshold=${MOST_EXPOSED}`
    const { status, stdout } = await runToEnd([
      "systemd-analyze",
      "security",
      "--offline=true",
      threshold,
      file,
    ])
    expect(stdout).toContain("Overall exposure level")
    expect(status).toBe(0)
  })
})

test("the unit's commands start, reload and stop Hookline as a user without rights", async () => {
  const etc = folder.make("etc")
  const state = folder.make("state")
  /** Where systemd has what, and where this test has it. */
  const here = (line: string): string =>
    line
      .replaceAll("/usr/local/bin/hookline", join(ROOT, "bin/hookline"))
      .replaceAll("/etc/hookline", etc)
      .replaceAll("/var/lib/hookline", state)
  mkdirSync(join(etc, "secrets"), { mode: 0o750 })
  writeFileSync(join(etc, "secrets/github"), "obviously-fake", { mode: 0o640 })
  const configuration = (path: string): string =>
    here(`[connection:log]
directory = /var/lib/hookline/log
[pipeline:github:WebHookSource]
host = 127.0.0.1
port = 0
path = ${path}
[pipeline:github:Verifier]
provider = token
header = X-Token
secret = \${file:secrets/github}
[pipeline:github:BrokerSink]
topic = github
[admin]
listen = 127.0.0.1:0
`)
  // what root started as it is not: the folders that systemd makes are the user's
  const isRoot = process.getuid?.() === 0
  const user = "65534"
  if (isRoot) {
    for (const path of [folder.path, etc]) chmodSync(path, 0o755)
    for (const path of [join(etc, "secrets"), join(etc, "secrets/github")]) chownSync(path, 0, +user)
    chownSync(state, +user, +user)
    chmodSync(state, 0o700)
  }
  const privileges = ["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--clear-groups"]
  const unprivileged = isRoot ? ["setpriv", `--reuid=${user}`, `--regid=${user}`, ...privileges] : []
  const umask = ["sh", "-c", `umask ${settings("UMask")[0]}; exec "$@"`, "sh"]
  const command = (line: string): string[] => {
    // systemd splits at spaces, but for what is quoted
    const words = [...here(line).matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word)
    return [...unprivileged, ...umask, ...words]
  }

  const [start] = settings("ExecStart")
  await using running = await startHookline(configuration("/before"), {
    folder: etc,
    descriptors: Number(settings("LimitNOFILE")[0]),
    command: command(start!),
  })
  const post = async (path: string): Promise<number> => {
    const headers = { "X-Token": "obviously-fake" }
    return (await fetch(new URL(path, running.urls["github"]), { method: "POST", body: "{}", headers }))
      .status
  }
  expect(await post("/before")).toBe(200)

  const reload = async (): Promise<number[]> => {
    const statuses: number[] = []
    for (const line of settings("ExecReload")) {
      const { status } = await runToEnd(command(line.replace("$MAINPID", `${running.pid}`)))
      statuses.push(status)
      if (status !== 0) break
    }
    return statuses
  }
  writeFileSync(join(etc, "pipelines.conf"), configuration("no path"))
  const [refused] = await reload()
  expect(settings("RestartPreventExitStatus")[0]!.split(" ")).toContain(`${refused}`)
  writeFileSync(join(etc, "pipelines.conf"), configuration("/after"))
  expect(await reload()).toEqual([0, 0])
  await running.logged(({ msg }) => msg === "reloaded")
  expect([await post("/before"), await post("/after")]).toEqual([404, 200])
  expect(await running.stop()).toBe(0)
})

test("the unit of an instance gives the configuration the port of its admin listener, and is the other one else", () => {
  const lines = (file: string): readonly string[] =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line !== "" && !/^(#|Description=)/.test(line))
  const own = lines(OF_INSTANCE)
  expect(own.filter((line) => !lines(UNIT).includes(line))).toEqual(["Environment=ADMIN_PORT=%i"])
  expect(lines(UNIT).filter((line) => !own.includes(line))).toEqual([])
  expect(readFileSync(join(ROOT, "docs/instances.md"), "utf8")).toContain("${ADMIN_PORT:-9464}")
})
