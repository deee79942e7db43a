import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chmod, chown } from "node:fs/promises"
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Browser } from "playwright-core"
import manifest from "../../package.json" with { type: "json" }
import { readExecutable } from "../../scripts/release/executable.ts"
import { makeBaseImage, storageIn } from "../../scripts/release/image.ts"
import { isInChangelog, prepareVersion, versionProblems } from "../../scripts/release/version.ts"
import { hasBrowser, openPage, startBrowser } from "../support/browser.ts"
import { endingWithThisProcess, outputOf, runToEnd } from "../support/child.ts"
import { DEPLOY_TOOLS, hasDeployTools } from "../support/deploy-tools.ts"
import { blocksBelow, blocksOf, ROOT } from "../support/documents.ts"
import { sharedByTests, startHookline, temporaryFolder } from "../support/hookline.ts"
import { canOpenImages, inContainer, openImage, type Image } from "../support/image.ts"
import { freePorts } from "../support/ports.ts"
import {
  hasRegistries,
  startImageRegistry,
  startPackageRegistry,
  type Registry,
} from "../support/registries.ts"
import { startCommand } from "../support/running-command.ts"
import { hasTools } from "../support/tools.ts"

// A release is made twice.
setDefaultTimeout(1_800_000)

const INSTALLING = "docs/installing.md"
const [REHEARSAL = "", PREPARE = "", RELEASE = ""] = blocksOf("docs/releasing.md").map(({ text }) => text)
/** The next one. */
const version = "12.34.56"

/** The commands of a section of docs/installing.md, a block each, as they are in the next version. */
const commandsOf = (heading: string): string[] =>
  blocksBelow(INSTALLING, heading).flatMap(({ language, text }) =>
    language === "sh" ? [text.replaceAll(manifest.version, version)] : [],
  )

test.skipIf(!(await hasDeployTools()))("hadolint finds nothing in the Dockerfile", async () => {
  const checked = await runToEnd(["hadolint", join(ROOT, "deploy/Dockerfile")], { env: DEPLOY_TOOLS })
  expect(checked).toEqual({ status: 0, stdout: "", stderr: "" })
})

test("an executable is told by its header, and a script is none", () => {
  const here = readExecutable(readFileSync(process.execPath))
  expect(here.architecture).toBe(process.arch)
  expect(() => readExecutable(Buffer.from("#!/bin/sh\nexit 0\n"))).toThrow("neither ELF nor 64-bit Mach-O")
})

test("a version is prepared in all files that people write, and one that does not agree is named", () => {
  using folder = temporaryFolder()
  const files = ["deploy/Dockerfile", "deploy/compose.yaml", "deploy/helm/hookline/Chart.yaml"]
  const generated = ["package.json", "package-lock.json", "sbom.cdx.json", "docs/hookline.1"]
  for (const file of [...files, ...generated, "docs/deploying.md", INSTALLING, "CHANGELOG.md"]) {
    mkdirSync(dirname(join(folder.path, file)), { recursive: true })
    cpSync(join(ROOT, file), join(folder.path, file))
  }
  expect(versionProblems(folder.path)).toEqual([])
  prepareVersion(folder.path, version, "2030-01-02")
  for (const file of generated) {
    const text = readFileSync(join(folder.path, file), "utf8")
    writeFileSync(join(folder.path, file), text.replaceAll(manifest.version, version))
  }
  expect(versionProblems(folder.path)).toEqual([])
  expect(isInChangelog(folder.path)).toBe(true)
  const changelog = readFileSync(join(folder.path, "CHANGELOG.md"), "utf8")
  expect(changelog).toContain(`\n## [Unreleased]\n\n## [${version}] - 2030-01-02\n\n`)
  writeFileSync(
    join(folder.path, "CHANGELOG.md"),
    changelog.replace("Unreleased]\n", "Unreleased]\n\n- A change\n"),
  )
  expect(isInChangelog(folder.path)).toBe(false)
  const chart = join(folder.path, "deploy/helm/hookline/Chart.yaml")
  writeFileSync(chart, readFileSync(chart, "utf8").replace(`appVersion: ${version}`, "appVersion: 0.0.9"))
  expect(versionProblems(folder.path)).toEqual([
    `deploy/helm/hookline/Chart.yaml has 0.0.9, package.json ${version}`,
  ])
})

test("without a key, a tag and a section of the changelog nothing is made", async () => {
  using folder = temporaryFolder()
  const env = { ...process.env, HOOKLINE_RELEASE_KEY: join(folder.path, "none") }
  const command = [process.execPath, join(ROOT, "scripts/release.ts"), "--out", folder.path]
  const prepared = await runToEnd([...command, "--prepare", "0.2.0-rc.1"], { env })
  expect(prepared).toMatchObject({
    status: 1,
    stderr: "0.2.0-rc.1 is no version of a release, as 0.2.0 is\n",
  })
  const { status, stderr } = await runToEnd(command, { env })
  expect(status).toBe(1)
  expect(stderr).toContain("HOOKLINE_RELEASE_KEY does not name the file of a secret key of minisign")
  expect(readdirSync(folder.path)).toEqual([])
})

const canRelease =
  hasTools("git", "minisign") &&
  canOpenImages() &&
  hasBrowser() &&
  hasRegistries() &&
  (await hasDeployTools())

describe.skipIf(!canRelease)("a release", () => {
  const folder = temporaryFolder()
  const clone = join(folder.path, "clone")
  const origin = join(folder.path, "origin.git")
  const out = join(clone, "dist/release")
  const browser = sharedByTests(startBrowser)
  const opened = new AsyncDisposableStack()
  let env: { [name: string]: string | undefined }
  let images: Registry
  let image: Image
  let printed: string
  let commands: readonly string[]
  beforeAll(async () => {
    images = opened.use(await startImageRegistry(folder.make("image-registry")))
    const key = join(folder.path, "minisign.key")
    env = { ...process.env, ...images.env, HOOKLINE_RELEASE_KEY: key }
    await outputOf(["minisign", "-G", "-W", "-p", join(folder.path, "minisign.pub"), "-s", key])
    const base = await storageIn(folder.make("base"), env)
    const name = await makeBaseImage(ROOT, base, join(folder.path, "base"))
    const pushed = `docker://${name.replace("docker.io", images.host)}`
    await base("push", "--quiet", "--disable-compression", name, pushed)
    await prepareClone(clone, origin)
    // what it compiles for minutes leaves the processors to the tests that run meanwhile
    printed = await outputOf(["nice", "sh", "-euc", `${RELEASE} -- --twice`], { cwd: clone, env })
    const packages = opened.use(await startPackageRegistry(folder.make("package-registry")))
    env = { ...env, ...packages.env, REGISTRY: images.host }
    commands = printed.split("\nPublished by these commands")[1]!.match(/(?<=^ {2})\w.*$/gm) ?? []
    for (const command of commands) await outputOf(["sh", "-euc", command], { cwd: clone, env })
    image = await openImage(`docker://${images.host}/hookline:${version}`, folder.make("image"), env)
    opened.use(image)
  })
  afterAll(async () => {
    await opened.disposeAsync()
    folder[Symbol.dispose]()
  })

  test("is published by the commands that it prints: the tag, the npm package, the image, the chart", async () => {
    expect(commands.map((command) => command.split(" ", 2).join(" "))).toEqual([
      "git push",
      "npm publish",
      "buildah pull",
      "buildah push",
      "helm push",
    ])
    const tag = await outputOf(["git", "rev-parse", `v${version}^{commit}`], { cwd: origin })
    expect(tag).toBe(await outputOf(["git", "rev-parse", "HEAD"], { cwd: clone }))
    const empty = folder.make("published")
    await outputOf(["helm", "pull", `oci://${images.host}/charts/hookline`, "--version", version], {
      cwd: empty,
      env,
    })
    expect(readFileSync(join(empty, `hookline-${version}.tgz`))).toEqual(
      readFileSync(join(out, `hookline-chart-${version}.tgz`)),
    )
    const archive = join(out, `hookline-${version}-image-linux-x64.tar`)
    const [{ Config }] = JSON.parse(await outputOf(["tar", "-xOf", archive, "manifest.json"])) as [
      { Config: string },
    ]
    expect(`${image.id}.json`).toBe(Config)
    expect(image.config.Healthcheck.Test).toEqual(["CMD", "/usr/local/bin/hookline", "health"])
    const view = ["npm", "view", "hookline", "version", "bin", "dependencies", "--json"]
    expect(JSON.parse(await outputOf(view, { cwd: empty, env }))).toEqual({
      version,
      bin: manifest.bin,
      dependencies: manifest.dependencies,
    })
  })

  test("has the files of docs/installing.md, made twice with the same bytes, and they pass its check", async () => {
    const names = ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl", "darwin-x64"]
    const expected = [
      ...[...names, "darwin-arm64"].map((name) => `hookline-${version}-${name}`),
      `hookline-${version}-image-linux-x64.tar`,
      `hookline-${version}.cdx.json`,
      `hookline-${version}.tgz`,
      `hookline-chart-${version}.tgz`,
      `hookline_${version}_amd64.deb`,
      `hookline_${version}_arm64.deb`,
      "SHA256SUMS",
      "SHA256SUMS.minisig",
      "minisign.pub",
    ].toSorted()
    expect(readdirSync(out).toSorted()).toEqual(expected)
    const listed = [...printed.matchAll(/^(\S+) +[1-9]\d*  [0-9a-f]{64}$/gm)].map(([, name]) => name!)
    expect(listed.toSorted()).toEqual(expected)
    expect(printed).toContain("Made twice: the same bytes")
    const [check = ""] = commandsOf("Check the files")
    await outputOf(["sh", "-euc", check], { cwd: out })
    writeFileSync(
      join(out, "SHA256SUMS.false"),
      readFileSync(join(out, "SHA256SUMS"), "utf8").replace("0", "1"),
    )
    const wrong = check
      .replaceAll(" SHA256SUMS", " SHA256SUMS.false")
      .replace("-m", "-x SHA256SUMS.minisig -m")
    expect((await runToEnd(["sh", "-euc", wrong], { cwd: out })).status).not.toBe(0)
  })

  test("its npm package, as it is published, goes by npx, in an empty folder, to a signed event", async () => {
    // what npx installs goes with the test; what npm has fetched before is used
    const cache = (await outputOf(["npm", "config", "get", "cache"])).trim()
    symlinkSync(join(cache, "_cacache"), join(folder.make("npm"), "_cacache"))
    await outputOf(["npm", "pack", `hookline@${version}`], { cwd: folder.path, env })
    const [packed, published] = [out, folder.path].map((of) =>
      readFileSync(join(of, `hookline-${version}.tgz`)),
    )
    expect(published).toEqual(packed!)
    const within = (line: string): string[] => ["sh", "-c", `export npm_config_cache=../npm; ${line}`]
    await devTakesAnEvent(commandsOf("npm"), within, folder.make("empty"), browser)
  })

  test("its executable goes in a root folder that has the C library and a shell to a signed event", async () => {
    const root = folder.make("chroot")
    const [install = "", ...commands] = commandsOf("One executable")
    const here = install.replace("sudo ", "").replace("/usr/local", `${root}/usr/local`)
    await outputOf(["sh", "-euc", here], { cwd: out })
    const shell = join(root, "bin/sh")
    for (const program of [join(root, "usr/local/bin/hookline"), "/bin/sh"]) {
      const copy = `ldd ${program} | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory ${root}`
      await outputOf(["sh", "-euc", copy])
    }
    await outputOf(["install", "-D", "--mode", "755", "/bin/sh", shell])
    const home = folder.make("home")
    await chmod(home, 0o777)
    mkdirSync(join(root, "home"))
    const bare = { root, config: { User: "65532:65532", Volumes: { "/home": {} } } }
    const within = (line: string): string[] =>
      inContainer(bare, { "/home": home }, ["/bin/sh", "-c", `cd /home; ${line}`])
    await devTakesAnEvent(commands, within, home, browser)
  })

  test("its image has the executable, the C library and licences, and nothing else", () => {
    const { root } = image
    expect(readdirSync(join(root, "usr/local/bin"))).toEqual(["hookline"])
    const files = [...new Bun.Glob("**/*").scanSync({ cwd: root, dot: true, followSymlinks: false })]
    expect(
      files.filter(
        (file) =>
          !/(^|\/)(hookline|lib[\w-]+\.so\.\d|ld-[\w-]+\.so\.\d|LICENSE|THIRD-PARTY-NOTICES\.md)$/.test(file),
      ),
    ).toEqual([])
  })

  test("its image takes an event with a read-only root as a numbered user and a module of --components, is healthy, and ends by its stop signal", async () => {
    const { config } = image
    expect(config.User).toMatch(/^[1-9]\d+:[1-9]\d+$/)
    expect(Object.keys(config.ExposedPorts)).toEqual(["8080/tcp", "9464/tcp"])
    const [port, admin] = await freePorts(2)
    const [etc, data] = [folder.make("etc"), folder.make("data")]
    await Bun.write(join(etc, "redact.ts"), Bun.file(join(ROOT, "examples/components/redact.ts")))
    await chown(data, ...(config.User.split(":").map(Number) as [number, number]))
    const folders = { "/etc/hookline": etc, "/var/lib/hookline": data }
    const env = Object.fromEntries(config.Env.map((it) => it.split(/=(.*)/s) as [string, string]))
    const configuration = `[connection:log]
directory = /var/lib/hookline/log
[pipeline:webhooks:WebHookSource]
host = 127.0.0.1
port = ${port}
[pipeline:webhooks:Redact]
members = card
[pipeline:webhooks:BrokerSink]
topic = webhooks
[admin]
listen = 127.0.0.1:${admin}
`
    const components = ["--components", "/etc/hookline/redact.ts"]
    await using running = await startHookline(configuration, {
      folder: etc,
      env,
      command: inContainer(image, folders, [...config.Entrypoint, ...config.Cmd, ...components]),
    })
    const body = '{"n":1,"card":"4242"}'
    const answer = await fetch(`http://127.0.0.1:${port}/webhook`, { method: "POST", body })
    expect(answer.status).toBe(200)
    expect(await (await fetch(`http://127.0.0.1:${admin}/`)).text()).toStartWith("<!doctype html>")
    const within = (...command: string[]) =>
      runToEnd(endingWithThisProcess(...inContainer(image, folders, command)), { env })
    expect(config.Healthcheck.Test[0]).toBe("CMD")
    expect(await within(...config.Healthcheck.Test.slice(1))).toMatchObject({ status: 0, stdout: "ok\n" })
    expect(await within(...config.Entrypoint, "tail", "webhooks")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('{"n":1,"received_at"'),
    })
    running.signal(config.StopSignal as NodeJS.Signals)
    expect(await running.exited).toBe(0)
    expect((await within(...config.Healthcheck.Test.slice(1))).status).not.toBe(0)
  })

  test("its image goes by the commands of the page to a signed event on the admin page", async () => {
    const [configuration = "", access = ""] = ["Debian package", "Image"].map(
      (heading) => blocksBelow(INSTALLING, heading).find(({ language }) => language === "ini")!.text,
    )
    const [, inside = ""] = commandsOf("Image")
    const [port, admin] = await freePorts(2)
    const [etc, data] = [folder.make("signed-etc"), folder.make("signed-data")]
    await chown(data, 65532, 65532)
    mkdirSync(join(etc, "secrets"))
    writeFileSync(join(etc, "secrets/stripe"), "whsec_not-a-real-secret")
    writeFileSync(join(etc, "secrets/admin-token"), "an-obviously-fake-token")
    const folders = { "/etc/hookline": etc, "/var/lib/hookline": data }
    const env = Object.fromEntries(image.config.Env.map((it) => it.split(/=(.*)/s) as [string, string]))
    const moved = (text: string): string =>
      text.replaceAll("8080", `${port}`).replace("0.0.0.0:9464", `127.0.0.1:${admin}`)
    await using running = await startHookline(moved(`${configuration}\n\n${access}\n`), {
      folder: etc,
      env,
      command: inContainer(image, folders, [...image.config.Entrypoint, ...image.config.Cmd]),
    })
    const outputs: string[] = []
    for (const command of moved(inside).split("\n")) {
      const [, ...args] = command.replace("docker exec hookline ", "").split(" ")
      const within = inContainer(image, folders, [...image.config.Entrypoint, ...args])
      outputs.push(await outputOf(endingWithThisProcess(...within), { env }))
    }
    expect(outputs.at(-1)).toContain('"received_at"')
    await expectVerified(browser, running.urls["stripe"]!, running.adminUrl!, "an-obviously-fake-token")
    expect(await running.stop()).toBe(0)
  })

  test("a dry run is also of what is not committed, needs neither key nor tag, and makes nothing where versions differ", async () => {
    const chart = join(clone, "deploy/helm/hookline/Chart.yaml")
    const text = readFileSync(chart, "utf8")
    writeFileSync(chart, text.replace(`appVersion: ${version}`, "appVersion: 0.0.9"))
    const made = folder.make("dry-run")
    const rehearsed = await runToEnd(["sh", "-euc", `${REHEARSAL} --out ${made}`], { cwd: clone })
    const differs = `deploy/helm/hookline/Chart.yaml has 0.0.9, package.json ${version}\n`
    expect(rehearsed).toMatchObject({ status: 1, stderr: expect.stringContaining(differs) })
    const refused = await runToEnd(["sh", "-euc", `${RELEASE} -- --out ${made}`], { cwd: clone, env })
    const reasons = "not released:\n  files are changed that are not committed\n"
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining(reasons) })
    expect(readdirSync(made)).toEqual([])
  })
})

/**
 * Runs the two commands of a section, `hookline dev` and `hookline send`, and awaits the event, as a line and on the admin page.
 * @param within the command that runs a line of the page
 */
async function devTakesAnEvent(
  [dev = "", send = ""]: readonly string[],
  within: (line: string) => string[],
  folder: string,
  browser: Browser,
): Promise<void> {
  const [port, admin] = await freePorts(2)
  const moved = (line: string): string => line.replaceAll("8080", `${port}`)
  const exported = dev.replace(/^(\w+=\S+) /, "export $1; exec ")
  const started = within(`${exported} --port ${port} --admin-port ${admin}`)
  await using running = startCommand([], folder, { program: started, columns: 120 })
  await running.printed(/^ {2}Keys/m)
  await outputOf(within(moved(send)), { cwd: folder })
  await running.printed(/^\S+ {2}200 {2}/m)
  await expectVerified(browser, `http://127.0.0.1:${port}/webhook`, `http://127.0.0.1:${admin}/`)
  await running.printed(/^\S+ {2}401 {2}/m)
  running.press("q")
  expect(await running.exited).toBe(0)
}

/** Expects that the only event on the admin page is Stripe's sample, and that one without a signature is refused. */
async function expectVerified(
  browser: Browser,
  url: string,
  adminUrl: string,
  token?: string,
): Promise<void> {
  const { status } = await fetch(url, { method: "POST", body: "{}" })
  expect(status).toBe(401)
  const { page } = await openPage(browser, `${adminUrl}#/events`)
  if (token !== undefined) {
    await page.getByLabel("Token of").fill(token)
    await page.getByRole("button", { name: "Sign in" }).click()
  }
  const rows = page.locator(".record[data-place]")
  await rows.first().waitFor()
  expect(await rows.allInnerTexts()).toEqual([expect.stringContaining("payment_intent.succeeded")])
  await page.context().close()
}

/** Makes a clone of this checkout, and takes the steps of docs/releasing.md in it, up to the tag of the next version. */
async function prepareClone(clone: string, origin: string): Promise<void> {
  const author = { GIT_AUTHOR_NAME: "release", GIT_AUTHOR_EMAIL: "release@localhost" }
  const committer = { GIT_COMMITTER_NAME: "release", GIT_COMMITTER_EMAIL: "release@localhost" }
  const env = { ...process.env, ...author, ...committer }
  const git = async (cwd: string, ...args: readonly string[]): Promise<string> =>
    (await outputOf(["git", ...args], { cwd, env })).trim()
  // what is changed and not committed is tested, too
  const changed = await git(ROOT, "stash", "create")
  const commit = changed === "" ? await git(ROOT, "rev-parse", "HEAD") : changed
  await git(ROOT, "clone", "--quiet", "--bare", "--shared", ROOT, origin)
  await git(ROOT, "clone", "--quiet", "--shared", "--no-checkout", origin, clone)
  await git(clone, "checkout", "--quiet", "-B", "main", commit)
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"))
  writeFileSync(join(clone, ".git/info/exclude"), "node_modules\n")
  const prepare = PREPARE.replace(/\d\S+$/, version)
  const prepared = await outputOf(["sh", "-euc", prepare], { cwd: clone, env })
  const [, commitAndTag = ""] = /^Next: (.*) && npm run release$/m.exec(prepared) ?? []
  await outputOf(["sh", "-euc", commitAndTag], { cwd: clone, env })
}
