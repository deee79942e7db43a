import { VERSION } from "./kafka-jars.ts"
import type { Failure, TestOutput } from "./test-output.ts"
import type { FileCost, Note, Skip } from "./tools.ts"

/** More are as dear as 100 tests in one process. */
const MOST_STARTS = 20
/** Tests that start clusters, browsers and compilers have no such budget. */
const WITHOUT_BUDGET = "test/long/"
/** Files that may start more, and why. */
const MANY_STARTS: { readonly [file: string]: string } = {
  "src/components/local-time.test.ts": "a process has one time zone, and they differ",
  "test/faults/damaged-pages.test.ts": "each kind of damage, before a start and for each command",
  "test/faults/files-taken-away.test.ts": "each way to take files away, and a start with what is left",
  "test/faults/log-copies-killed.test.ts": "each killed command, and what continues it",
  "test/e2e/dev.test.ts": "what it does with a terminal, a file and senders, each in a folder without one",
  "test/e2e/documents.test.ts": "the commands of the pages, as they stand there",
  "test/e2e/embedded-kafka-clients.test.ts": "kcat, for each request of a client",
  "test/e2e/files-on-disk.test.ts": "files of each earlier format, opened and written by several commands",
  "test/e2e/own-components.test.ts": "components are registered in the process that has them",
  "test/e2e/outgoing-proxies.test.ts": "with all cases, each command with each value of a proxy",
  "test/e2e/situations.test.ts": "status and verify --last in each situation of a Hookline that runs",
}
const DEAREST = 10

export function reportFailures(failures: readonly Failure[]): void {
  if (failures.length > 0) process.stdout.write(`\n${failures.length} failed:\n`)
  for (const { file, line, title, excerpt } of failures)
    process.stdout.write(`\n${file}${line === undefined ? "" : `:${line}`}  ${title}\n${excerpt}\n`)
  if (failures.length > 0) process.stdout.write("\n")
}

/**
 * Prints what the files have noted: which are the dearest, which start too many processes, what was skipped and what was tried with
 * a real Kafka.
 *
 * @returns whether all files are within their budget
 */
export function reportNotes(notes: readonly Note[], output: TestOutput): boolean {
  const skips = notes.filter((it) => "reason" in it)
  const costs = notes.filter((it) => "starts" in it)
  process.stdout.write(dearest(costs))
  const complaints = overBudget(costs)
  process.stdout.write(complaints)
  process.stdout.write(ofSkips(output.skipped, skips))
  const withKafka = new Set(notes.flatMap((it) => ("usesKafka" in it ? [it.file] : [])))
  process.stdout.write(ofKafka(output.passedIn, withKafka, skips))
  return complaints === ""
}

/** The lines of the files that took the most CPU; empty where there is one alone. */
export function dearest(costs: readonly FileCost[]): string {
  if (costs.length < 2) return ""
  const lines = costs
    .toSorted((a, b) => b.cpuMs - a.cpuMs)
    .slice(0, DEAREST)
    .map(({ file, starts, cpuMs }) => `${seconds(cpuMs).padStart(8)} ${`${starts}`.padStart(6)}  ${file}\n`)
  return `    CPU  starts  the dearest files, with the processes that they start\n${lines.join("")}`
}

/** A line for each file that starts more processes than it may. */
export const overBudget = (costs: readonly FileCost[]): string =>
  costs
    .filter(
      ({ file, starts }) =>
        starts > MOST_STARTS && !file.startsWith(WITHOUT_BUDGET) && !(file in MANY_STARTS),
    )
    .map(
      ({ file, starts }) =>
        `${file} starts ${starts} processes; a file may start ${MOST_STARTS}, or has its reason in MANY_STARTS of test/support/run-summary.ts\n`,
    )
    .join("")

/** The line of the whole run's cost. */
export const inAll = (wallMs: number, cpuMs: number): string =>
  `took ${seconds(wallMs)}, ${seconds(cpuMs)} of CPU\n`

const seconds = (ms: number): string => `${(ms / 1000).toFixed(ms < 100_000 ? 1 : 0)} s`

/** The line that says what was tried with a real Kafka; empty where no test of the run needs one. */
export function ofKafka(
  passedIn: ReadonlyMap<string, number>,
  files: ReadonlySet<string>,
  skips: readonly Skip[],
): string {
  const passed = sum([...files].map((file) => passedIn.get(file) ?? 0))
  const given = process.env.HOOKLINE_TEST_BOOTSTRAP_SERVERS ?? ""
  const kafka = `real Kafka ${given === "" ? VERSION : `at ${given}`}`
  const where = files.size === 1 ? "the file that uses it" : `the ${files.size} files that use it`
  if (files.size > 0) return `${kafka}: ${passed} ${passed === 1 ? "test" : "tests"} passed in ${where}\n`
  const skip = skips.find(({ reason }) => NO_KAFKA.test(reason))
  if (skip === undefined) return ""
  const help = skip.packages.length === 0 ? "" : `; \`apt-get install ${skip.packages.join(" ")}\` brings it`
  return `real Kafka: not tried: ${skip.reason}${help}\n`
}

/** Why `canStartKafka` says no. */
const NO_KAFKA = /^no (?:java|mvn)\b|^Maven could not fetch Kafka/

/** The line that says how many tests were skipped, for want of what, and what brings it; empty where none was. */
export function ofSkips(skipped: ReadonlyMap<string, number>, skips: readonly Skip[]): string {
  if (skipped.size === 0) return ""
  const counts = new Map<string, number>()
  for (const [file, count] of skipped) {
    const reasons = skips.filter((it) => it.file === file).map(({ reason }) => reason)
    const reason = [...new Set(reasons)].join(", ") || "not for this machine"
    counts.set(reason, (counts.get(reason) ?? 0) + count)
  }
  const told = [...counts].toSorted(([, a], [, b]) => b - a).map(([reason, count]) => `${reason} (${count})`)
  const packages = [...new Set(skips.flatMap((it) => it.packages))].toSorted()
  const commands = new Set(skips.flatMap((it) => it.command ?? []))
  if (packages.length > 0) commands.add(`apt-get install ${packages.join(" ")}`)
  const help = commands.size === 0 ? "" : `; \`${[...commands].join("`, `")}\` runs them`
  return `${sum(skipped.values())} skipped: ${told.join("; ")}${help}\n`
}

export const sum = (counts: Iterable<number>): number => [...counts].reduce((all, count) => all + count, 0)
