/**
 * `npm run borders`: rooms, layers and doors of the source, by the table in scripts/borders/table.ts. Prints lines, files, doors
 * (files that are imported from outside their room) and names that cross for each room, what the table does not allow, and how
 * many files know each feature outside its own. The numbers stand in borders.json. They may fall, and `-- --write` notes that;
 * one may rise with a sentence that says why: `-- --write --why "…"`. `-- --check`, in `npm run check`, fails where a number is not
 * the one that is noted. `-- --list NAME` names the files behind a number.
 */
import { join } from "node:path"
import { parseArgs } from "node:util"
import { circles, knowing, measureRooms, numbersOf, onListener, wrongImports } from "./borders/measure.ts"
import { readSources } from "./borders/sources.ts"
import { FEATURES } from "./borders/table.ts"

/** A number, and why it rose last. */
interface Noted {
  readonly is: number
  readonly why?: string
}

const ROOT = join(import.meta.dir, "..")
const NOTED = Bun.file(join(ROOT, "borders.json"))

const { values: flags } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    why: { type: "string" },
    list: { type: "string" },
  },
})

const sources = await readSources(ROOT)
const numbers = numbersOf(sources)
const noted = (await NOTED.json()) as Record<string, Noted>
const names = [...new Set([...Object.keys(noted), ...Object.keys(numbers)])]
const changed = names.filter((name) => noted[name]?.is !== numbers[name])
const risen = changed.filter((name) => (numbers[name] ?? 0) > (noted[name]?.is ?? Number.POSITIVE_INFINITY))

if (flags.list !== undefined) list(flags.list)
else if (flags.check) check()
else {
  print()
  if (flags.write) await write()
}

function check(): void {
  const wrong = [...wrongImports(sources), ...circles(sources).map((it) => `a circle: ${it.join(", ")}`)]
  for (const line of wrong) process.stderr.write(`borders: ${line}\n`)
  for (const name of changed) {
    const fix = `npm run borders -- --write${risen.includes(name) ? ' --why "…"' : ""}`
    const [is, was] = [numbers[name] ?? "gone", noted[name]?.is ?? "not counted"]
    process.stderr.write(`borders: ${name}: ${is}, was ${was}; ${fix}\n`)
  }
  if (wrong.length + changed.length > 0) process.exitCode = 1
}

async function write(): Promise<void> {
  const { why } = flags
  if (risen.length > 0 && why === undefined) {
    process.stderr.write(`not written: ${risen.join(", ")} rose; --why "…" says why\n`)
    process.exitCode = 1
    return
  }
  const entries = Object.entries(numbers).map(([name, is]): [string, Noted] => {
    const before = noted[name]
    const reason = risen.includes(name) ? why : before?.is === is ? before.why : undefined
    return [name, reason === undefined ? { is } : { is, why: reason }]
  })
  await Bun.write(NOTED, JSON.stringify(Object.fromEntries(entries)))
  await Bun.spawn([join(ROOT, "node_modules/.bin/oxfmt"), "borders.json"], { cwd: ROOT, stdout: "ignore" })
    .exited
}

function print(): void {
  const row = (cells: readonly (string | number)[]): string =>
    `${String(cells[0]).padEnd(20)}${cells
      .slice(1)
      .map((it) => String(it).padStart(8))
      .join("")}\n`
  process.stdout.write(row(["room", "lines", "files", "doors", "names"]))
  for (const { name, lines, files, doors, names } of measureRooms(sources))
    process.stdout.write(row([name, lines, files, doors.length, names]))
  process.stdout.write("\n")
  for (const name of names.filter((it) => !it.startsWith("doors of"))) {
    const before = noted[name]?.is
    const was = before === numbers[name] ? "" : ` (was ${before ?? "not counted"})`
    process.stdout.write(`${name}: ${numbers[name] ?? "gone"}${was}\n`)
  }
  for (const line of wrongImports(sources)) process.stdout.write(`${line}\n`)
}

function list(name: string): void {
  const feature = FEATURES.find((it) => `files that know ${it.name}` === name || it.name === name)
  const room = measureRooms(sources).find((it) => it.name === name || `doors of ${it.name}` === name)
  const files =
    feature !== undefined
      ? knowing(sources, feature)
      : room !== undefined
        ? room.doors
        : name.includes("kafka-listener")
          ? onListener(sources)
          : wrongImports(sources)
  for (const file of files) process.stdout.write(`${file}\n`)
}
