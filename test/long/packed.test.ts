import { expect, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import manifest from "../../package.json" with { type: "json" }
import { runToEnd } from "../support/child.ts"
import { startHookline, folderOfTests } from "../support/hookline.ts"
import { freePorts } from "../support/ports.ts"
import { startCommand, startDev } from "../support/running-command.ts"

const root = join(import.meta.dir, "../..")
const folder = folderOfTests()

interface Packed {
  readonly files: readonly { readonly path: string }[]
}

/** The files that `npm pack` would put into the package of a checkout. */
async function packed(checkout: string): Promise<string[]> {
  const command = ["npm", "pack", "--dry-run", "--json", "--ignore-scripts"]
  const { stdout } = await runToEnd(command, { cwd: checkout })
  // a list in npm 10, an object by name in npm 11
  const [{ files }] = Object.values(JSON.parse(stdout) as { [key: string]: Packed }) as [Packed]
  return files.map(({ path }) => path).toSorted()
}

/** Runs commands in a folder until each has written there what it keeps. */
async function runIn(at: string): Promise<void> {
  const [port, adminPort, nobody] = await freePorts(3)
  const pipeline = (name: string): string =>
    `[pipeline:${name}:WebHookSource]\nhost = 127.0.0.1\nport = 0\n[pipeline:${name}:Deduplicator]\nkey = json:/id\n[pipeline:${name}:BrokerSink]\nconnection = ${name}\ntopic = webhooks\n`
  const configuration = `[admin]
listen = off
[connection:log]
directory = hookline-data
[connection:kafka]
bootstrap_servers = 127.0.0.1:${nobody}
spool = hookline-spool/kafka.sqlite
${pipeline("log")}${pipeline("kafka")}`
  await using running = await startHookline(configuration, { folder: at })
  for (const url of Object.values(running.urls))
    expect((await fetch(url, { method: "POST", body: '{"id":1}' })).status).toBe(200)
  await using target = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() })
  await using forward = startCommand(["forward", "log/webhooks", target.url.href, "--begin", "beginning"], at)
  await forward.printed(/ 200 in /)
  await using dev = await startDev(["--port", `${port}`, "--admin-port", `${adminPort}`], at)
  await Bun.write(join(at, "hookline.log"), running.output() + dev.output())
}

test("nothing that a run writes in a packed folder is packed", async () => {
  const checkout = folder.make("checkout")
  const { stdout: tracked } = await runToEnd(["git", "ls-files", "-z"], { cwd: root })
  const folders = new Set(manifest.files.map((it) => it.split("/")[0]))
  const built = ["index.js", "index.js.map", "index.d.ts", "json/guard.js", "json/samples.json"]
  const expected = [
    "package.json",
    "README.md",
    "LICENSE",
    ...tracked.split("\0").filter((it) => folders.has(it.split("/")[0])),
    ...built.map((it) => `dist/${it}`),
  ].toSorted()
  for (const file of expected) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true })
    if (file.startsWith("dist/")) writeFileSync(join(checkout, file), "")
    else cpSync(join(root, file), join(checkout, file))
  }
  expect(await packed(checkout)).toEqual(expected)

  const written = folder.make("written")
  await runIn(written)
  const kept = readdirSync(written).filter((it) => it !== "pipelines.conf")
  expect(kept.toSorted()).toEqual([
    ".hookline",
    "hookline-data",
    "hookline-dev",
    "hookline-spool",
    "hookline.log",
  ])
  for (const name of ["bin", "dist", "dist/json", "docs", "docs/decisions", "examples", "examples/teams"])
    for (const it of kept) cpSync(join(written, it), join(checkout, name, it), { recursive: true })
  expect(await packed(checkout)).toEqual(expected)
})

test("a global installation puts the command and its manual page where the system looks for them", async () => {
  const project = folder.make("project")
  const prefix = folder.make("prefix")
  for (const file of ["bin", "docs"]) cpSync(join(root, file), join(project, file), { recursive: true })
  const withoutPackages = { ...manifest, dependencies: {}, devDependencies: {}, optionalDependencies: {} }
  await Bun.write(join(project, "package.json"), JSON.stringify(withoutPackages))
  const npm = (...args: string[]) => runToEnd(["npm", ...args, "--ignore-scripts"], { cwd: project })
  const tarball = `hookline-${manifest.version}.tgz`
  expect((await npm("pack")).status).toBe(0)
  const { status, stderr } = await npm(
    "install",
    "--global",
    "--prefix",
    prefix,
    "--offline",
    join(project, tarball),
  )
  expect(status, stderr).toBe(0)
  const installed = join(prefix, "lib/node_modules/hookline")
  expect(realpathSync(join(prefix, "bin/hookline"))).toBe(join(installed, "bin/hookline"))
  expect(realpathSync(join(prefix, "share/man/man1/hookline.1"))).toBe(join(installed, "docs/hookline.1"))
})
