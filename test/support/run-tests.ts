import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { outputOf } from "./child.ts"
import { temporaryFolder } from "./hookline.ts"
import { VERSION } from "./kafka-jars.ts"
import { TestOutput, type Failure } from "./test-output.ts"
import type { Note, Skip } from "./tools.ts"

const root = join(import.meta.dir, "../..")

/** More failing files than these are no accident of a loaded machine. */
const MOST_RUN_AGAIN = 3
/** Of a test that has none of its own: a guard against what hangs, which no busy machine misses. */
const TIMEOUT = "--timeout=300000"
const PROGRESS_EVERY_MS = process.stderr.isTTY ? 1000 : 30_000

/**
 * Runs `bun test` with these arguments, and prints at the end each failure with its file, line and excerpt, one line for
 * what was skipped, and one for what was tried with a real Kafka. Tests see no terminal and no colours, and a temporary folder of their own, in which they leave nothing.
 *
 * @param isLarge whether they start Hookline often enough to build an executable for them, which `PROGRAM` then is
 * @param again whether up to three files with a failing test are run once more, alone: that run decides
 * @returns the exit status
 */
export async function runTests(
  args: readonly string[],
  env: Record<string, string>,
  { isLarge = false, again = false }: { isLarge?: boolean; again?: boolean } = {},
): Promise<number> {
  using folder = temporaryFolder()
  const notes = join(folder.path, "notes")
  const temporary = folder.make("t")
  // as /tmp itself: some tests let another user in
  for (const path of [folder.path, temporary]) chmodSync(path, 0o755)
  const settings: Record<string, string> = { ...env, HOOKLINE_TEST_NOTES: notes, TMPDIR: temporary }
  if (isLarge) settings["HOOKLINE_TEST_PROGRAM"] = await buildProgram(join(folder.path, "hookline"))
  const output = new TestOutput()
  let { status, isInterrupted } = await bunTest(args, settings, output)
  let { failures } = output
  const files = [...new Set(failures.map(({ file }) => file))]
  const areFew = files.length > 0 && files.length <= MOST_RUN_AGAIN
  // the output of a failed test may name files of another checkout
  if (again && !isInterrupted && areFew && files.every((it) => existsSync(join(root, it)))) {
    report(failures)
    process.stdout.write(`\nrunning again, alone: ${files.join(", ")}\n`)
    const second = new TestOutput()
    const failed = files.map((it) => `./${it}`)
    ;({ status, isInterrupted } = await bunTest(failed, settings, second))
    failures = second.failures
    if (failures.length === 0) process.stdout.write(`they passed when they ran alone\n`)
  }
  report(failures)
  // these are left by processes that end with the run, and are killed where they are slower
  const ofRun = /^hookline-(?:kafka|disk-model)-/
  const left = readdirSync(temporary).filter((name) => !ofRun.test(name))
  for (const name of left)
    process.stdout.write(`left behind in the temporary folder: ${contentsOf(join(temporary, name))}\n`)
  if (status !== 0 && failures.length === 0 && !isInterrupted)
    process.stdout.write(`bun test ended with status ${status}; its last lines:\n${output.lastLines()}\n`)
  const noted = existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : []
  const lines = noted.map((line) => JSON.parse(line) as Note)
  const skips = lines.filter((it) => "reason" in it)
  process.stdout.write(ofSkips(output.skipped, skips))
  const withKafka = new Set(lines.flatMap((it) => ("usesKafka" in it ? [it.file] : [])))
  process.stdout.write(ofKafka(output.passedIn, withKafka, skips))
  // the form in which other programs count tests
  process.stdout.write(
    `${output.passed} passed, ${failures.length} failed, ${sum(output.skipped.values())} skipped\n`,
  )
  return isInterrupted ? 130 : status !== 0 ? status : left.length > 0 ? 1 : 0
}

/** @returns the file */
async function buildProgram(file: string): Promise<string> {
  await outputOf([process.execPath, join(root, "scripts/build-binary.ts"), file], { cwd: root })
  return file
}

async function bunTest(
  args: readonly string[],
  more: Record<string, string>,
  output: TestOutput,
): Promise<{ status: number; isInterrupted: boolean }> {
  const env = { ...process.env, ...more, FORCE_COLOR: undefined, NO_COLOR: undefined }
  // in one pipe, in their order: what tests print, and what bun says of them
  const command = [process.execPath, "--no-orphans", "test", TIMEOUT, ...args]
  const merged = ["sh", "-c", 'exec "$@" 2>&1', "sh", ...command]
  const tests = Bun.spawn(merged, {
    cwd: root,
    env,
    stdin: "ignore",
    stdout: "pipe",
  })
  let isInterrupted = false
  const interrupt = (): void => {
    isInterrupted = true
    tests.kill()
  }
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const
  for (const signal of signals) process.on(signal, interrupt)
  const progress = setInterval(() => output.showProgress(), PROGRESS_EVERY_MS)
  try {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const bytes of tests.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n")
      rest = lines.pop()!
      for (const line of lines) output.take(line)
    }
    return { status: await tests.exited, isInterrupted }
  } finally {
    clearInterval(progress)
    output.clearProgress()
    for (const signal of signals) process.off(signal, interrupt)
  }
}

function report(failures: readonly Failure[]): void {
  if (failures.length > 0) process.stdout.write(`\n${failures.length} failed:\n`)
  for (const { file, line, title, excerpt } of failures)
    process.stdout.write(`\n${file}${line === undefined ? "" : `:${line}`}  ${title}\n${excerpt}\n`)
  if (failures.length > 0) process.stdout.write("\n")
}

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

const sum = (counts: Iterable<number>): number => [...counts].reduce((all, count) => all + count, 0)

function contentsOf(path: string): string {
  const some = readdirSync(path, { recursive: true, encoding: "utf8" }).slice(0, 10)
  return some.length === 0 ? path : `${path} with ${some.join(", ")}`
}
