/**
 * Installs a copy of the checkout with each Node and npm that people have, by `npm ci` and by `npm install`, and with pnpm
 * and Yarn on the newest Node; says what goes wrong: an exit status, a warning of this package's own, a lockfile that
 * changes, a Bun that does not run.
 *
 * Run it with `npm run test:install` before a release; the Nodes and npms come from the registry, and it takes ten minutes.
 * `-- --ends` takes the oldest of both together and the newest.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { parseArgs } from "node:util"

const NODES = ["20.20.2", "22.23.3", "24.21.0"]
const NPMS = ["10.9.9", "11.21.2"]
/** Each with the program that Node runs. */
const OTHER_TOOLS = [
  ["pnpm", "12.21.0", "bin/pnpm.mjs"],
  ["@yarnpkg/cli-dist", "4.18.1", "bin/yarn.js"],
] as const
/** Other packages may name a newer Node than 20 for themselves; nothing of them runs on it. A user's npmrc is the user's. */
const OTHERS = /EBADENGINE|Unknown user config/

const { values: flags } = parseArgs({ options: { ends: { type: "boolean", default: false } } })
const pairs = flags.ends
  ? [[NODES[0]!, NPMS[0]!] as const, [NODES.at(-1)!, NPMS.at(-1)!] as const]
  : NODES.flatMap((node) => NPMS.map((npm) => [node, npm] as const))
const root = join(import.meta.dir, "..")
const folder = mkdtempSync(join(tmpdir(), "hookline-install-"))

interface Ended {
  readonly status: number
  readonly output: string
}

function run(command: readonly string[], cwd: string, path = ""): Ended {
  // what `npm run` has set is of another npm; with CI, Yarn refuses an install for which it has no lockfile
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:npm_.*|CI)$/i.test(name))
  const env = { ...Object.fromEntries(inherited), PATH: `${path}:${process.env.PATH}` }
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { cwd, env })
  return { status: exitCode, output: stdout.toString() + stderr.toString() }
}

/** Installs a tool of the registry beside the others. */
function fetchTool(name: string, version: string): string {
  const home = join(folder, `${name}-${version}`)
  mkdirSync(home, { recursive: true })
  const { status, output } = run(["npm", "install", "--no-save", `${name}@${version}`], home)
  if (status !== 0) throw new Error(output)
  return home
}

/** The lockfile, without the C libraries of packages: npm 10 does not know them, and leaves them out. */
function lockOf(directory: string): string {
  const text = readFileSync(join(directory, "package-lock.json"), "utf8")
  return JSON.stringify(JSON.parse(text, (key, value: unknown) => (key === "libc" ? undefined : value)))
}

/** Installs by a tool. @param program what Node runs; @param words what it is told */
function problemsOf(node: string, program: string, words: readonly string[]): string[] {
  const copy = join(folder, "copy")
  rmSync(copy, { recursive: true, force: true })
  for (const file of run(["git", "ls-files"], root).output.trim().split("\n")) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  const bin = join(node, "node_modules/node/bin")
  const { status, output } = run([join(bin, "node"), program, ...words], copy, bin)
  const warnings = output
    .split("\n")
    .filter((line) => /^npm (?:warn|error)/i.test(line) && !OTHERS.test(line))
  const ofThis = output.includes("package: 'hookline@") ? ["this package's engines do not fit"] : []
  const isLocked = lockOf(copy) === lockOf(root)
  const bun = run([join(copy, "bin/hookline"), "--version"], copy, bin)
  return [
    status === 0 ? [] : `exit status ${status}: ${output.trim().split("\n").slice(-20).join("\n")}`,
    warnings,
    ofThis,
    isLocked ? [] : "package-lock.json has changed",
    bun.status === 0 ? [] : `bin/hookline does not run: ${bun.output}`,
  ].flat()
}

let failures = 0
try {
  const homes = new Map<string, string>()
  const homeOf = (name: string, version: string): string =>
    homes.getOrInsertComputed(`${name} ${version}`, () => fetchTool(name, version))
  const install = (node: string, tool: string, version: string, program: string, words: string[]): void => {
    const home = join(homeOf(tool, version), "node_modules", tool)
    const problems = problemsOf(homeOf("node", node), join(home, program), words)
    console.log(`Node ${node}, ${tool} ${version} ${words[0]}: ${problems.length === 0 ? "ok" : "failed"}`)
    for (const problem of problems) console.log(`  ${problem}`)
    failures += problems.length
  }
  for (const [node, npm] of pairs)
    for (const command of ["ci", "install"])
      install(node, "npm", npm, "bin/npm-cli.js", [command, "--no-audit", "--no-fund"])
  for (const [tool, version, program] of OTHER_TOOLS)
    install(NODES.at(-1)!, tool, version, program, ["install"])
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit(failures === 0 ? 0 : 1)
