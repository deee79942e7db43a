import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { outputOf } from "./child.ts"
import { countCosts } from "./costs.ts"
import { TEST_TIMEOUT } from "./hang.ts"
import { temporaryFolder } from "./hookline.ts"
import { canStartKafka, startKafka } from "./kafka.ts"
import { inAll, reportFailures, reportNotes, sum } from "./run-summary.ts"
import { TestOutput } from "./test-output.ts"
import type { Note } from "./tools.ts"

const root = join(import.meta.dir, "../..")

const PROGRESS_EVERY_MS = process.stderr.isTTY ? 1000 : 30_000

/** For `bun test --parallel`: each file has what it has cost noted at its end, and its processes are counted. */
export const NOTING_COSTS = `--preload=${join(import.meta.dir, "note-costs.ts")}`

/** What a run of tests has of its own, before its first file. */
interface Preparation {
  /** Whether to build an executable, which `PROGRAM` then is: they start Hookline often enough. */
  readonly builds?: boolean
  /** Whether to start a Kafka that all files share, where this machine can and none is given. */
  readonly startsKafka?: boolean
}

/**
 * Runs `bun test` with these arguments, and prints at the end what became of it: `run-summary.ts`. Tests see no terminal and
 * no colours, and a temporary folder of their own, in which they leave nothing.
 *
 * @returns the exit status
 */
export async function runTests(
  args: readonly string[],
  env: Record<string, string>,
  { builds = false, startsKafka = false }: Preparation = {},
): Promise<number> {
  const cost = countCosts()
  using folder = temporaryFolder()
  const notes = join(folder.path, "notes")
  const temporary = folder.make("t")
  // as /tmp itself: some tests let another user in
  for (const path of [folder.path, temporary]) chmodSync(path, 0o755)
  const settings: Record<string, string> = {
    ...env,
    HOOKLINE_TEST_KEYS: join(folder.path, "keys"),
    HOOKLINE_TEST_NOTES: notes,
    TMPDIR: temporary,
  }
  if (builds) settings["HOOKLINE_TEST_PROGRAM"] = await buildProgram(join(folder.path, "hookline"))
  const given = process.env.HOOKLINE_TEST_BOOTSTRAP_SERVERS ?? ""
  const kafka = startsKafka && given === "" && (await canStartKafka()) ? await startKafka() : undefined
  if (kafka !== undefined) settings["HOOKLINE_TEST_BOOTSTRAP_SERVERS"] = kafka.bootstrapServers.join(",")
  const output = new TestOutput()
  const { status, isInterrupted } = await bunTest(args, settings, output)
  const { failures } = output
  await kafka?.stop()
  reportFailures(failures)
  if (status !== 0 && failures.length === 0 && !isInterrupted)
    process.stdout.write(`bun test ended with status ${status}; its last lines:\n${output.lastLines()}\n`)
  const isClean = reportLeft(temporary)
  const noted = existsSync(notes) ? readFileSync(notes, "utf8").trim().split("\n") : []
  const isWithinBudget = reportNotes(
    noted.map((line) => JSON.parse(line) as Note),
    output,
  )
  process.stdout.write(inAll(performance.now(), cost().cpuMs))
  // the form in which other programs count tests
  process.stdout.write(
    `${output.passed} passed, ${failures.length} failed, ${sum(output.skipped.values())} skipped\n`,
  )
  return isInterrupted ? 130 : status !== 0 ? status : isClean && isWithinBudget ? 0 : 1
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
  const command = [process.execPath, "--no-orphans", "test", TEST_TIMEOUT, ...args]
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

/** @returns whether nothing is left but by processes that end with the run, and are killed where they are slower */
function reportLeft(temporary: string): boolean {
  const ofRun = /^hookline-(?:kafka|disk-model)-/
  const left = readdirSync(temporary).filter((name) => !ofRun.test(name))
  for (const name of left)
    process.stdout.write(`left behind in the temporary folder: ${contentsOf(join(temporary, name))}\n`)
  return left.length === 0
}

function contentsOf(path: string): string {
  const some = readdirSync(path, { recursive: true, encoding: "utf8" }).slice(0, 10)
  return some.length === 0 ? path : `${path} with ${some.join(", ")}`
}
