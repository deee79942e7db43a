import { Glob } from "bun"
import { expect, test } from "bun:test"
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { runToEnd } from "../support/child.ts"
import {
  blocksBelow,
  blocksOf,
  completed,
  pages,
  ROOT,
  sectionsOf,
  textOf,
  unexplained,
  type Block,
} from "../support/documents.ts"
import { withPemFiles } from "../support/certificate.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { freePorts } from "../support/ports.ts"
import { usesKafka } from "../support/tools.ts"

const BASE = readFileSync(join(ROOT, "pipelines.conf"), "utf8")
const SECRET = "not-a-real-secret"
/** Pages that are one session in one folder, from the first command to the last; some continue what another one began. */
const SESSIONS = [
  ["README.md", "docs/getting-started.md"],
  ["docs/command-line.md"],
  ["docs/replay.md"],
  ["docs/admin.md"],
  ["docs/cookbook/laptop.md"],
]
/** The part of README.md that needs a Kafka, and a client to read from it. */
const WITH_KAFKA = blocksBelow("README.md", "Run it with Kafka")
const hasKafka = (await canStartKafka()) && hasKcat()
/** What runs commands and configurations of pages that this file does not run, by page and language. */
const RUN_BY: { readonly [blocks: string]: readonly string[] } = {
  "CONTRIBUTING.md sh": [".ci/run"],
  "docs/admin.md json": ["test/e2e/mcp.test.ts"],
  "docs/cookbook/one-small-machine.md caddy": ["test/e2e/cookbook.test.ts"],
  "docs/cookbook/one-small-machine.md nginx": ["test/e2e/cookbook.test.ts"],
  "docs/cookbook/stripe-to-postgres.md ts": ["test/e2e/cookbook.test.ts"],
  "docs/deploying.md haproxy": ["test/faults/kafka-rolling-restart.test.ts"],
  "docs/deploying.md nginx": ["test/faults/kafka-rolling-restart.test.ts"],
  "docs/deploying.md sh": ["test/long/deploy-machine.test.ts"],
  "docs/deploying.md yaml": ["test/long/deploy-chart.test.ts"],
  "docs/handlers.md ts": ["test/long/package.test.ts"],
  "docs/installing.md sh": ["test/long/release.test.ts", "test/long/deploy-machine.test.ts"],
  "docs/library.md ts": ["test/long/package.test.ts"],
  "docs/metrics.md yaml": ["test/e2e/kafka-metrics.test.ts"],
  "docs/own-providers.md ts": ["test/long/package.test.ts"],
  "docs/releasing.md sh": ["test/long/release.test.ts"],
  "docs/reliability.md sh": [".ci/run"],
  "docs/simulation.md sh": [".ci/run"],
  "docs/verify.md ts": ["test/long/package.test.ts"],
  "docs/workers.md yaml": ["test/long/deploy-chart.test.ts"],
}
/** What programs print, pictures made of letters, and files that are parsed below. */
const SHOWN = ["text", "json"]
const SCRIPTS = (
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    scripts: { start: string; kafka: string }
  }
).scripts
const blocks = pages().flatMap(blocksOf)
const where = ({ page, line }: Block): string => `${page}:${line}`

test("every fenced block is run or loaded by a test, shows what is printed, or says why it is not run", () => {
  const isHere = ({ page, language }: Block): boolean =>
    ["ini", "diff", ...SHOWN].includes(language) || (language === "sh" && SESSIONS.flat().includes(page))
  const elsewhere = blocks.filter((block) => block.notRun === undefined && !isHere(block))
  const named = (block: Block): string => `${block.page} ${block.language}`
  expect(elsewhere.filter((block) => RUN_BY[named(block)] === undefined).map(where)).toEqual([])
  const shown = new Set(blocks.map(named))
  for (const [of, files] of Object.entries(RUN_BY)) {
    expect(shown).toContain(of)
    const [name] = /cookbook|[\w-]+\.md/.exec(of)!
    const strangers = files.filter((it) => it.startsWith("test/") && !textOf(it).includes(name))
    expect([of, strangers]).toEqual([of, []])
  }
})

test("a line that says why a block is not run stands before one", () => {
  const lines = pages().flatMap((page) => textOf(page).match(/^.*Not run by the tests.*$/gm) ?? [])
  expect(lines.length).toBe(blocks.filter(({ notRun }) => notRun !== undefined).length)
  expect(lines.length).toBeGreaterThan(5)
})

/** The file that a block is, by its first line: `# teams.d/payments.conf`. */
const nameOf = ({ text }: Block): string | undefined => /^# (\S+\.conf)\n/.exec(text)?.[1]
const configurations = blocks.filter(({ language }) => language === "ini")
const files = configurations.filter((block) => nameOf(block) !== undefined)

test.each([...new Set(files.map(({ page }) => page))])(
  "%s: the files of its configuration are valid together, and check warns of nothing that it does not explain",
  async (page) => {
    using folder = temporaryFolder()
    const [main, ...included] = files.filter((block) => block.page === page)
    for (const block of included) write(folder.path, nameOf(block)!, block.text)
    const { warnings, ...result } = await check(folder.path, main!.text)
    expect(result).toEqual({ status: 0, errors: "" })
    expect(unexplained(warnings, textOf(page))).toEqual([])
  },
)

test.each(
  configurations
    .filter((block) => nameOf(block) === undefined)
    .map((block) => [where(block), block] as const),
)(
  "%s: the configuration is valid, and check warns of nothing that the page does not explain",
  async (_, block) => {
    using folder = temporaryFolder()
    const { warnings, ...result } = await check(folder.path, completed(block.text, BASE))
    expect(result).toEqual({ status: 0, errors: "" })
    const own = sectionsOf(block.text)
    expect(unexplained(warnings, textOf(block.page), (section) => own.has(section))).toEqual([])
  },
)

test.each(
  blocks.filter(({ language }) => language === "diff").map((block) => [where(block), block] as const),
)("%s: the change to pipelines.conf gives a valid configuration", async (_, { page, text }) => {
  const lines = text.split("\n")
  const before = lines.flatMap((line) => (line.startsWith("-") ? [line.slice(1)] : []))
  const after = lines.flatMap((line) => (line.startsWith("+") ? [line.slice(1)] : []))
  expect(BASE).toContain(before.join("\n"))
  using folder = temporaryFolder()
  const changed = BASE.replace(before.join("\n"), after.join("\n"))
  const { warnings, ...result } = await check(folder.path, changed)
  expect(result).toEqual({ status: 0, errors: "" })
  expect(unexplained(warnings, textOf(page))).toEqual([])
})

test("data in the pages can be parsed", () => {
  for (const { language, text } of blocks) {
    if (language === "json") JSON.parse(text)
    if (language === "yaml") Bun.YAML.parse(text)
  }
})

test("every npm script that a page names exists", () => {
  const named = pages().flatMap((page) =>
    [...textOf(page).matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => ({ page, script: script! })),
  )
  expect(named.length).toBeGreaterThan(5)
  expect(named.filter(({ script }) => !Object.hasOwn(SCRIPTS, script))).toEqual([])
})

test("every file that a page names exists", () => {
  const sources = [...new Glob("{src,test,scripts}/**/*.{ts,c}").scanSync(ROOT)]
  const named = pages().flatMap((page) =>
    [...textOf(page).matchAll(/(?<![\w./-])\w[\w./-]*\.(?:ts|c)\b/g)].map(([path]) => ({
      page,
      path,
    })),
  )
  expect(named.length).toBeGreaterThan(100)
  // pages leave out the folders that they have named before
  const isThere = (path: string): boolean => sources.some((it) => it === path || it.endsWith(`/${path}`))
  expect(named.filter(({ path }) => !isThere(path) && !existsSync(join(ROOT, path)))).toEqual([])
})

test("every link between pages leads to a file, and its fragment to a heading", () => {
  const broken: string[] = []
  for (const page of pages()) {
    const text = textOf(page)
    for (const [, link, picture] of text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)) {
      const target = link ?? picture
      if (/^[a-z]+:/.test(target!)) continue
      const [path = "", fragment] = target!.split("#")
      const file = path === "" ? page : join(dirname(page), path)
      const exists = path === "" || Bun.spawnSync(["test", "-e", join(ROOT, file)]).success
      if (!exists || (fragment !== undefined && !slugsOf(file).includes(fragment)))
        broken.push(`${page}: ${target}`)
    }
  }
  expect(broken).toEqual([])
})

test.each(SESSIONS.map((of) => [of.join(", "), of] as const))(
  "%s: the commands, run in order, do what is said",
  async (_, of) => {
    using session = await openSession()
    const steps = of.flatMap(blocksOf)
    const isOfKafka = ({ page, line }: Block): boolean =>
      page === "README.md" && WITH_KAFKA.some((it) => it.line === line)
    await follow(
      session,
      steps.filter((it) => !isOfKafka(it)),
    )
  },
)

test.skipIf(!hasKafka)(
  "README.md: the file of ten lines publishes to a Kafka, which kcat reads",
  async () => {
    usesKafka()
    using session = await openSession()
    await follow(session, WITH_KAFKA)
  },
)

/** Does what the blocks say, and compares what is printed with the text that follows. */
async function follow(session: Session, steps: readonly Block[]): Promise<void> {
  for (const [index, block] of steps.entries()) {
    if (block.language === "ini") session.configure(block)
    if (block.language !== "sh") continue
    // a test command would run this test
    if (/npm (?:test|run (?!kafka$))/m.test(block.text)) continue
    const output = await session.run(block)
    const shown = steps[index + 1]
    if (shown?.language === "text") expect(normalised(output)).toContain(normalised(shown.text))
  }
}

const slugsOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  )

const normalised = (text: string): string =>
  text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "TIME")
    .replaceAll(/"request_id":"[\w-]+"/g, '"request_id":"ID"')
    .trim()

/** Writes a configuration file whose secrets and PEM files exist. */
function write(folder: string, name: string, text: string): string {
  const secrets = join(folder, "secrets")
  mkdirSync(secrets, { mode: 0o700, recursive: true })
  const configuration = text
    .replaceAll(/\$\{file:(?:\/(?:run|etc\/hookline)\/)?secrets\/([\w-]+)\}/g, (_, name: string) => {
      // two tokens of one listener differ
      writeFileSync(
        join(secrets, name),
        /(?:read|replicas)-token$/.test(name) ? `${SECRET}-${name}` : SECRET,
        {
          mode: 0o600,
        },
      )
      return `\${file:${join(secrets, name)}}`
    })
    .replaceAll("/var/lib/hookline", join(folder, "data"))
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, configuration)
  withPemFiles(configuration, dirname(file))
  return file
}

/** `hookline check` of a configuration whose secrets exist, variables too. */
async function check(
  folder: string,
  text: string,
): Promise<{ status: number; errors: string; warnings: readonly string[] }> {
  const env: Record<string, string> = {}
  for (const [, name] of text.matchAll(/\$\{([A-Z_]+)\}/g)) env[name!] = SECRET
  const file = write(folder, "pipelines.conf", text)
  const child = Bun.spawn([join(ROOT, "bin/hookline"), "check", "-c", file], {
    env: { ...process.env, ...env },
    stdout: "ignore",
    stderr: "pipe",
  })
  const [status, errors] = [await child.exited, await new Response(child.stderr).text()]
  const warnings = errors.match(/^warning: .*\n/gm) ?? []
  return { status, errors: errors.replaceAll(/^warning: .*\n/gm, ""), warnings }
}

interface Session extends Disposable {
  /** Puts the sections of a block into pipelines.conf, unless they are there, or writes the file that it names. */
  configure(block: Block): void
  /** Runs the commands of a block, those that serve in the background. Returns what the others and `hookline dev` print. */
  run(block: Block): Promise<string>
}

/** A checkout as the pages expect it, with the service on a free port. */
async function openSession(): Promise<Session> {
  const folder = temporaryFolder()
  for (const name of ["bin", "src", "node_modules", "examples"])
    symlinkSync(join(ROOT, name), join(folder.path, name))
  copyFileSync(join(ROOT, "package.json"), join(folder.path, "package.json"))
  const [port, adminPort, kafkaPort] = (await freePorts(3)) as [number, number, number]
  const file = join(folder.path, "pipelines.conf")
  const ports = { 8080: port, 9464: adminPort, 9092: kafkaPort }
  const here = (text: string): string =>
    Object.entries(ports).reduce((all, [from, to]) => all.replaceAll(from, `${to}`), text)
  const admin = "\n[admin]\nlisten = 127.0.0.1:9464\n"
  writeFileSync(file, here(BASE + admin))
  const env: Record<string, string | undefined> = { ...process.env, HOOKLINE_TEST_NOTES: undefined }
  let service: Bun.Subprocess | undefined
  let kafka: Bun.Subprocess | undefined

  const stop = async (): Promise<void> => {
    service?.kill("SIGTERM")
    expect(await (service?.exited ?? 0)).toBe(0)
    service = undefined
  }
  /** Starts a command in the background; resolves with what it has printed once that is in it. */
  const start = async (
    command: string,
    isStarted: string,
    isServed: (it: Bun.Subprocess) => void,
    cwd = folder.path,
  ): Promise<string> => {
    const child = Bun.spawn(["sh", "-c", command], {
      cwd,
      env,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    })
    isServed(child)
    const started = Promise.withResolvers<string>()
    void (async () => {
      let output = ""
      for await (const bytes of child.stdout) {
        output += Buffer.from(bytes).toString()
        if (output.includes(isStarted)) started.resolve(output)
      }
      started.reject(new Error(`${command} ended:\n${output}`))
    })()
    return started.promise
  }
  /** As Ctrl-C and then the command in the first terminal. */
  const serve = async (command: string, isStarted: string): Promise<string> => {
    await stop()
    return start(command, isStarted, (it) => (service = it))
  }
  return {
    configure(block) {
      const name = nameOf(block)
      if (name !== undefined) return writeFileSync(join(folder.path, name), here(block.text + admin))
      if (block.text.includes("[connection:kafka]")) return
      const before = readFileSync(file, "utf8")
      if (!before.includes(here(block.text))) writeFileSync(file, completed(here(block.text), before))
    },
    async run({ text }) {
      let output = ""
      for (const line of text.split("\n")) {
        const [, name, value] = /^export (\w+)=(.*)$/.exec(line) ?? []
        if (name !== undefined) env[name] = value!
        // the checkout and its packages are there: this test runs on them
        else if (line === "npm install") continue
        else if (/^(npm install && )?npm start$/.test(line)) {
          // the script itself, so that signals reach the service and not npm
          await serve(SCRIPTS.start, '"msg":"started"')
        } else if (line.startsWith("bin/hookline run ")) {
          await serve(`exec ${line}`, '"msg":"started"')
        } else if (line === "npm run kafka") {
          const command = `${SCRIPTS.kafka} --port ${kafkaPort}`
          await start(command, " listens on ", (it) => (kafka = it), ROOT)
        } else if (/^(\w+=\S+ )?bin\/hookline dev\b/.test(line)) {
          const command = `exec env ${line} --port ${port} --admin-port 0`
          output += (await serve(command, "  Keys")).replaceAll(`${port}`, "8080")
        } else {
          const ended = await runToEnd(["sh", "-c", here(line)], { cwd: folder.path, env })
          expect(ended.status, `${line}\n${ended.stderr}`).toBe(0)
          output += ended.stdout
        }
      }
      return output.replaceAll("\r", "")
    },
    [Symbol.dispose]() {
      service?.kill("SIGKILL")
      // its own processes end with it
      kafka?.kill("SIGTERM")
      folder[Symbol.dispose]()
    },
  }
}
