/**
 * `npm run test:clients`: other people's Kafka clients read the embedded log (test/long/embedded-kafka-other-clients.test.ts),
 * then the table of what each of them passed. `-- --write` puts the table into docs/kafka-clients.md.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { temporaryFolder } from "../support/hookline.ts"

const PAGE = join(import.meta.dir, "../../docs/kafka-clients.md")
const BEGIN = "<!-- the table: npm run test:clients -- --write -->\n"
const END = "<!-- end of the table -->\n"
const FEATURES = [
  "read",
  "seek by time",
  "group",
  "rebalance",
  "partitions",
  "commit",
  "from Kafka and back",
  "static member",
  "SASL",
  "TLS",
]

const { values: flags } = parseArgs({ options: { write: { type: "boolean", default: false } } })
using folder = temporaryFolder()
const report = join(folder.path, "report.xml")
const file = "./test/long/embedded-kafka-other-clients.test.ts"
const command = ["test", file, "--reporter=junit", `--reporter-outfile=${report}`]
const tests = Bun.spawn([process.execPath, "--no-orphans", ...command], {
  cwd: join(import.meta.dir, "../.."),
  stdout: "inherit",
  stderr: "inherit",
})
if ((await tests.exited) !== 0) process.exitCode = 1

/** By client: what became of each feature's test, `yes`, `no` or `skipped`. */
const results = new Map<string, Map<string, string>>()
for (const [, attributes, more] of readFileSync(report, "utf8").matchAll(
  /<testcase ([^>]*?)(?:\/>|>(.*?)<\/testcase>)/gs,
)) {
  const [name, client] = ["name", "classname"].map(
    (of) => new RegExp(`\\b${of}="([^"]*)"`).exec(attributes!)?.[1],
  )
  if (name === undefined || client === undefined || !FEATURES.includes(name)) continue
  const result = more === undefined ? "yes" : more.includes("<skipped") ? "skipped" : "no"
  results.getOrInsertComputed(client, () => new Map()).set(name, result)
}

const rows = [...results].map(([client, of]) => [
  client,
  ...FEATURES.map((feature) => of.get(feature) ?? "-"),
])
const all = [["client", ...FEATURES], ...rows]
const widths = all[0]!.map((_, at) => Math.max(...all.map((row) => row[at]!.length)))
const line = (row: readonly string[]): string =>
  `| ${row.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |\n`
const table = [all[0]!, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("")
process.stdout.write(`\n${table}\n`)
if (flags.write && process.exitCode !== 1) {
  const page = readFileSync(PAGE, "utf8")
  const [before, after] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)]
  writeFileSync(PAGE, `${page.slice(0, before)}\n${table}\n${page.slice(after)}`)
}
