/**
 * `npm run test:faults`: every fault scenario at its full length, then the table of what each of them did.
 * `npm run test:faults -- --write` puts the table into docs/reliability.md as well; `-- --short` runs fewer rounds of
 * each, and loads that take seconds, as CI does, which leaves files out by `--path-ignore-patterns`. `-- FILE --write` runs a file and replaces its rows alone. One file at a
 * time: what a scenario measures is not to be disturbed.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { formatTable, parseTable, type Row } from "../support/fault-table.ts"
import { temporaryFolder } from "../support/hookline.ts"
import { runTests } from "../support/run-tests.ts"

const PAGE = join(import.meta.dir, "../../docs/reliability.md")
/** Begins the name of a scenario that has its row in the table of surroundings. */
const SURROUNDINGS = "surroundings: "
const marked = (name: string): { begin: string; end: string } => ({
  begin: `<!-- the table${name}: npm run test:faults -- --write -->\n`,
  end: `<!-- end of the table${name} -->\n`,
})

const { values: flags, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    "path-ignore-patterns": { type: "string", multiple: true, default: [] },
  },
})
if (flags.write && flags.short) throw new Error("the table is written from scenarios of full length")
using folder = temporaryFolder()
const rowsFile = join(folder.path, "rows")
process.exitCode = await runTests(
  [
    ...(files.length === 0 ? ["./test/faults"] : files),
    ...flags["path-ignore-patterns"].map((pattern) => `--path-ignore-patterns=${pattern}`),
  ],
  { HOOKLINE_FAULTS: flags.short ? "short" : "full", HOOKLINE_FAULTS_ROWS: rowsFile },
  { builds: files.length === 0 },
)

const lines = existsSync(rowsFile) ? readFileSync(rowsFile, "utf8").trimEnd().split("\n") : []
const rows = lines.map((line) => JSON.parse(line) as Row)
if (rows.some(({ lost }) => lost > 0)) process.exitCode = 1
for (const [name, isIn] of [
  ["", false],
  [" of surroundings", true],
] as const) {
  const own = rows.flatMap((row) =>
    row.scenario.startsWith(SURROUNDINGS) === isIn
      ? [{ ...row, scenario: row.scenario.replace(SURROUNDINGS, "") }]
      : [],
  )
  process.stdout.write(`\n${formatTable(own)}`)
  if (flags.write && process.exitCode === 0) writeTable(name, own)
}

/** Replaces a table of the page, and the line of the machine above it; after a run of single files, their rows alone. */
function writeTable(name: string, own: readonly Row[]): void {
  const { begin, end } = marked(name)
  const page = readFileSync(PAGE, "utf8")
  const [before, after] = [page.indexOf(begin) + begin.length, page.indexOf(end)]
  const [, machine = "", ...lines] = page.slice(before, after).split("\n")
  const kept = files.length === 0 ? [] : parseTable(lines)
  const all = new Map([...kept, ...own].map((row) => [row.scenario, row]))
  const [cpu] = cpus()
  const thisMachine = `Bun ${Bun.version}, ${cpus().length} cores of ${cpu?.model.trim()}, senders and brokers on the same cores:`
  const above = files.length === 0 ? thisMachine : machine
  writeFileSync(
    PAGE,
    `${page.slice(0, before)}\n${above}\n\n${formatTable([...all.values()])}\n${page.slice(after)}`,
  )
}
