import { Glob } from "bun"
import { expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import {
  blocksBelow,
  blocksOf,
  completed,
  nameOf,
  pages,
  ROOT,
  sectionsOf,
  textOf,
  unexplained,
  type Block,
} from "../support/documents.ts"
import { withPemFiles } from "../support/certificate.ts"
import { hooklineInProcess } from "../support/command-in-process.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { BASE, follow, openSession, SCRIPTS } from "../support/page-session.ts"

const SECRET = "not-a-real-secret"
/** Pages that are one session in one folder, from the first command to the last; some continue what another one began. */
const SESSIONS = [
  ["README.md", "docs/getting-started.md"],
  ["docs/command-line.md"],
  ["docs/replay.md"],
  ["docs/admin.md"],
  ["docs/cookbook/laptop.md"],
]
/** The part of README.md that needs a Kafka: test/e2e/kafka-readme.test.ts. */
const WITH_KAFKA = blocksBelow("README.md", "Run it with Kafka")
/** What runs commands and configurations of pages that this file does not run, by page and language. */
const RUN_BY: { readonly [blocks: string]: readonly string[] } = {
  "CONTRIBUTING.md sh": [".ci/run"],
  "docs/admin.md json": ["test/e2e/mcp.test.ts"],
  "docs/cookbook/one-small-machine.md caddy": ["test/long/cookbook.test.ts"],
  "docs/cookbook/stripe-to-postgres.md ts": ["test/long/cookbook.test.ts"],
  "docs/deploying.md haproxy": ["test/faults/kafka-rolling-restart.test.ts"],
  "docs/deploying.md nginx": ["test/faults/kafka-rolling-restart.test.ts"],
  "docs/deploying.md sh": ["test/long/deploy-machine.test.ts"],
  "docs/deploying.md yaml": ["test/long/deploy-chart.test.ts"],
  "docs/handlers.md ts": ["test/long/package.test.ts"],
  "docs/installing.md sh": ["test/long/release.test.ts", "test/long/deploy-machine.test.ts"],
  "docs/library.md sh": ["test/long/package.test.ts"],
  "docs/library.md ts": ["test/long/package.test.ts"],
  "docs/metrics.md yaml": ["test/e2e/kafka-metrics.test.ts"],
  "docs/own-providers.md ts": ["test/long/package.test.ts"],
  "docs/postgres.md sql": ["test/e2e/postgres.test.ts"],
  "docs/proxies.md nginx": ["test/long/cookbook.test.ts"],
  "docs/releasing.md sh": ["test/long/release.test.ts"],
  "docs/reliability.md sh": [".ci/run"],
  "docs/simulation.md sh": [".ci/run"],
  "docs/verify.md ts": ["test/long/package.test.ts"],
  "docs/instances.md yaml": ["test/long/deploy-chart.test.ts"],
}
/** What programs print, pictures made of letters, and files that are parsed below. */
const SHOWN = ["text", "json"]
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
  // all folders of test but node_modules
  const folders = ["{src,scripts}", "test/[!n]*"]
  const sources = folders.flatMap((of) => [...new Glob(`${of}/**/*.{ts,c}`).scanSync(ROOT)])
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
      const exists = path === "" || existsSync(join(ROOT, file))
      if (!exists || (fragment !== undefined && !slugsOf(file).includes(fragment)))
        broken.push(`${page}: ${target}`)
    }
  }
  expect(broken).toEqual([])
})

test.each(SESSIONS.map((of) => [of.join(", "), of] as const))(
  "%s: the commands, run in order, do what is said",
  async (_, of) => {
    // a newcomer's first commands start the source
    const program = of.includes("README.md") ? undefined : process.env.HOOKLINE_TEST_PROGRAM
    await using session = await openSession({ program })
    const steps = of.flatMap(blocksOf)
    const isOfKafka = ({ page, line }: Block): boolean =>
      page === "README.md" && WITH_KAFKA.some((it) => it.line === line)
    await follow(
      session,
      steps.filter((it) => !isOfKafka(it) && it.notRun === undefined),
    )
  },
)

const slugsOf = (page: string): readonly string[] =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-"),
  )

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
  for (const [, name] of text.matchAll(/\$\{([A-Z_]+)\}/g))
    env[name!] = name === "DATABASE_URL" ? "postgres://hookline@localhost/hookline" : SECRET
  const file = write(folder, "pipelines.conf", text)
  const { status, stderr: errors } = await hooklineInProcess(["check", "-c", file], { env })
  const warnings = errors.match(/^warning: .*\n/gm) ?? []
  return { status, errors: errors.replaceAll(/^warning: .*\n/gm, ""), warnings }
}
