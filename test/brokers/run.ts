/**
 * `npm run test:brokers`: the tests of this folder against each release of Apache Kafka in VERSIONS, then the table of
 * what each of them passed. `-- --write` puts the table into docs/kafka-versions.md; `-- --ends` takes the oldest and the
 * newest release only, as CI does.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { TEST_TIMEOUT } from "../support/hang.ts"
import { temporaryFolder } from "../support/hookline.ts"

const VERSIONS = ["2.8.2", "3.9.1", "4.0.0", "4.1.0"]
const PAGE = join(import.meta.dir, "../../docs/kafka-versions.md")
const BEGIN = "<!-- the table: npm run test:brokers -- --write -->\n"
const END = "<!-- end of the table -->\n"

const { values: flags } = parseArgs({
  options: { write: { type: "boolean", default: false }, ends: { type: "boolean", default: false } },
})
if (flags.write && flags.ends) throw new Error("the table is written from all releases")
const versions = flags.ends ? [VERSIONS[0]!, VERSIONS.at(-1)!] : VERSIONS
using folder = temporaryFolder()
/** What became of each test, by release: `yes`, `no`, or `skipped`. */
const results = new Map<string, Map<string, string>>()
for (const version of versions) {
  const report = join(folder.path, `${version}.xml`)
  const command = ["test", TEST_TIMEOUT, "./test/brokers", "--reporter=junit", `--reporter-outfile=${report}`]
  const tests = Bun.spawn([process.execPath, "--no-orphans", ...command], {
    cwd: join(import.meta.dir, "../.."),
    env: { ...process.env, HOOKLINE_TEST_KAFKA_VERSION: version },
    stdout: "inherit",
    stderr: "inherit",
  })
  if ((await tests.exited) !== 0) process.exitCode = 1
  for (const [name, result] of existsSync(report) ? resultsIn(readFileSync(report, "utf8")) : [])
    results.getOrInsertComputed(name, () => new Map()).set(version, result)
}

function* resultsIn(report: string): Generator<readonly [name: string, result: string]> {
  for (const [, attributes, more] of report.matchAll(/<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs)) {
    const name = /name="([^"]*)"/.exec(attributes!)![1]!
    // a hook that failed
    if (name === "(unnamed)") continue
    yield [name, more === undefined ? "yes" : more.includes("<skipped") ? "skipped" : "no"]
  }
}

const cell = (text: string, at: number): string => (at === 0 ? text.padEnd(width) : text.padEnd(7))
const width = Math.max(0, ...[...results.keys()].map(({ length }) => length))
const lines = [
  ["", ...versions],
  ["-".repeat(width), ...versions.map(() => "-".repeat(7))],
  ...[...results].map(([name, of]) => [name, ...versions.map((version) => of.get(version) ?? "no")]),
]
const table = lines.map((line) => `| ${line.map(cell).join(" | ")} |\n`).join("")
process.stdout.write(`\n${table}\n`)
if (flags.write && process.exitCode !== 1) {
  const page = readFileSync(PAGE, "utf8")
  const [before, after] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)]
  writeFileSync(PAGE, `${page.slice(0, before)}\n${table}\n${page.slice(after)}`)
}
