import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { temporaryFolder } from "./hookline.ts"

const root = join(import.meta.dir, "../..")

/** More failing files than these are no accident of a loaded machine. */
const MOST_RUN_AGAIN = 3

/**
 * Runs `bun test` with these arguments. With CI=true, where one run decides, up to three files with a failing test are run
 * once more, alone, and that run decides; what failed the first time stays in the output.
 *
 * @returns the exit status
 */
export async function runTests(args: readonly string[], env: Record<string, string>): Promise<number> {
  using folder = temporaryFolder()
  const report = join(folder.path, "junit.xml")
  const status = await bunTest([...args, "--reporter=junit", `--reporter-outfile=${report}`], env)
  if (status === 0 || process.env.CI !== "true") return status
  const failed = failedFiles(report)
  if (failed.length === 0 || failed.length > MOST_RUN_AGAIN) return status
  process.stdout.write(`\nFailed, and run once more alone: ${failed.join(", ")}\n`)
  return bunTest([...args.filter((arg) => arg.startsWith("--timeout=")), ...failed], env)
}

async function bunTest(args: readonly string[], env: Record<string, string>): Promise<number> {
  const tests = Bun.spawn([process.execPath, "--no-orphans", "test", ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdout: "inherit",
    stderr: "inherit",
  })
  return tests.exited
}

/** The files with a failing test in a JUnit report of `bun test`; none if there is no report. */
function failedFiles(report: string): readonly string[] {
  if (!existsSync(report)) return []
  const suites = readFileSync(report, "utf8").matchAll(
    /<testsuite [^>]*file="([^"]+)"[^>]* failures="([1-9]\d*)"/g,
  )
  return [...new Set([...suites].map(([, file]) => `./${file}`))]
}
