import { describe, expect, test } from "bun:test"
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { runToEnd, type Ended } from "../support/child.ts"
import { folderOfTests, startHookline } from "../support/hookline.ts"
import { configurationOf, ON_LOG } from "../support/webhook-service.ts"
import manifest from "../../package.json" with { type: "json" }
import consoleManifest from "../../console/package.json" with { type: "json" }

// A checkout whose node_modules is not what `npm install` makes of its package.json.

const root = join(import.meta.dir, "../..")
const folder = folderOfTests()

/** A copy of the checkout's program at a path. */
function copyTo(path: string, ...more: readonly string[]): string {
  const home = join(folder.path, path)
  mkdirSync(home, { recursive: true })
  for (const name of ["bin", "src", "package.json", ...more])
    cpSync(join(root, name), join(home, name), { recursive: true })
  return home
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
}

/** Runs bin/hookline of a copy. */
const runCopy = (home: string, args: readonly string[]): Promise<Ended> =>
  runToEnd([join(home, "bin/hookline"), ...args], { cwd: home, env: { PATH: "/usr/bin:/bin" } })

describe("a package that is missing, or is of another version, is answered by what to do", () => {
  const home = copyTo("checkout")
  const packages = join(home, "node_modules")
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".")) link(join(root, "node_modules", name), join(packages, name))

  test.each([
    ["commander", "missing"],
    ["pino", "missing"],
    ["ipaddr.js", "another version"],
  ])("%s: %s", async (name, state) => {
    rmSync(join(packages, name))
    if (state === "another version") {
      await Bun.write(join(packages, name, "package.json"), JSON.stringify({ name, main: "index.js" }))
      await Bun.write(join(packages, name, "index.js"), "export const version = 0\n")
    }
    const { status, stderr } = await runCopy(home, ["check"])
    rmSync(join(packages, name), { recursive: true, force: true })
    link(join(root, "node_modules", name), join(packages, name))
    expect(stderr).toMatch(new RegExp(`^hookline: .*\\b${name}\\b`))
    expect(stderr).toEndWith(
      `. Run 'npm install' in ${home} (delete its node_modules before, if another tool made it) (package_missing).\n`,
    )
    expect(stderr.split("\n")).toHaveLength(2)
    expect(status).toBe(69)
  })
})

describe("with `npm install --omit=dev`, which brings neither the page's packages nor the SDKs'", () => {
  const home = copyTo("omitted", "console")
  const development = Object.keys({ ...manifest.devDependencies, ...consoleManifest.devDependencies })
  const omitted = new Set(development.map((name) => name.split("/")[0]!))
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".") && !omitted.has(name))
      link(join(root, "node_modules", name), join(home, "node_modules", name))

  test("it serves, and the page's address says what to do", async () => {
    const program = [join(home, "bin/hookline")]
    const at = folder.make("serving")
    await using running = await startHookline(configurationOf(ON_LOG), { folder: at, program })
    const posted = await fetch(running.urls["webhooks"]!, { method: "POST", body: "{}" })
    expect(posted.status).toBe(200)
    const page = await fetch(running.adminUrl!)
    expect(await page.text()).toBe(
      "the packages of the admin page are not installed: run 'npm install' in Hookline's folder, without --omit=dev (package_missing)\n",
    )
    expect(page.status).toBe(503)
  })

  test("mcp and AWS_MSK_IAM name the package and what to do", async () => {
    const remedy = `. Run 'npm install' in ${home} (delete its node_modules before, if another tool made it) (package_missing).`
    const mcp = await runCopy(home, ["mcp", "-c", "pipelines.conf"])
    expect(mcp.stderr).toContain("'@modelcontextprotocol/server'")
    expect(mcp.stderr).toEndWith(`${remedy}\n`)
    expect(mcp.status).toBe(69)
    const connection = `bootstrap_servers = 127.0.0.1:1
security_protocol = sasl_ssl
sasl_mechanism = AWS_MSK_IAM
sasl_aws_region = eu-west-1
`
    const file = join(folder.make("msk"), "pipelines.conf")
    const configuration = configurationOf({ ...ON_LOG, connection })
    await Bun.write(file, configuration.replace("[connection:broker]", "[connection:kafka]"))
    const { stdout } = await runCopy(home, ["check", "--connect", "-c", file])
    const line = stdout.split("\n").find((it) => it.startsWith("connection kafka: AWS credentials"))
    expect(line).toStartWith("connection kafka: AWS credentials (eu-west-1): Cannot find package '@aws-sdk/")
    expect(line).toEndWith(remedy)
  })
})

test("where it is a dependency, a missing package is answered by installing Hookline again", async () => {
  const home = copyTo("project/node_modules/hookline")
  link(join(root, "node_modules/bun"), join(home, "../bun"))
  link(join(root, "node_modules/@oven"), join(home, "../@oven"))
  const { status, stderr } = await runCopy(home, ["check"])
  expect(stderr).toMatch(
    /^hookline: Cannot find package '.*'.*\. Install Hookline again \(package_missing\)\.\n$/,
  )
  expect(status).toBe(69)
})

test("Bun is found where pnpm puts it", async () => {
  const home = copyTo("pnpm")
  const store = join(home, `node_modules/.pnpm/bun@${Bun.version}/node_modules`)
  link(process.execPath, join(store, `@oven/bun-${process.platform}-${process.arch}/bin/bun`))
  await Bun.write(join(store, "bun/bin/bun.exe"), "#!/bin/sh\n# what npm replaces by its install script\n")
  link(join(store, "bun"), join(home, "node_modules/bun"))
  const { stdout, stderr } = await runToEnd([join(home, "bin/bun"), "--version"], {
    env: { PATH: "/usr/bin:/bin" },
  })
  expect([stdout, stderr]).toEqual([`${Bun.version}\n`, ""])
})

test("Bun is found on PATH, after the bin folder of the checkout itself", async () => {
  const home = copyTo("on-path")
  link(process.execPath, join(folder.path, "bun-home/bun"))
  const PATH = `${join(home, "bin")}:${join(folder.path, "bun-home")}:/usr/bin:/bin`
  const { stdout, stderr } = await runToEnd([join(home, "bin/bun"), "--version"], { env: { PATH } })
  expect([stdout, stderr]).toEqual([`${Bun.version}\n`, ""])
})

test("where there is no Bun, what to do is said with the folder", async () => {
  const home = copyTo("none")
  const env = { PATH: `${join(home, "bin")}:/usr/bin:/bin` }
  const { status, stderr } = await runToEnd([join(home, "bin/hookline"), "check"], { env })
  expect(stderr).toBe(
    `hookline: Bun was not found. Run 'npm install' in ${home} (Yarn needs nodeLinker: node-modules), or install Bun (https://bun.com) so that 'bun' is on PATH.\n`,
  )
  expect(status).toBe(69)
})
