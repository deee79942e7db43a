import { $ } from "bun"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Load, Traffic } from "./traffic.ts"

const VERSION = "1.16.0"
/** Beside the installed packages, where the peers' programs lie too. */
const CACHE = join(import.meta.dir, "../node_modules/.cache/hookline-peers")
/** Enough that 10,000 requests a second find a free one while answers take 25 ms. */
const CONNECTIONS = 256

/**
 * Where oha is (https://github.com/hatoo/oha): on PATH in this version, or built by cargo the first time.
 *
 * @returns the program, or why there is none
 */
export async function findOha(): Promise<{ program: string } | { missing: string }> {
  const installed = join(CACHE, "oha", "bin", "oha")
  for (const program of [Bun.which("oha"), installed]) {
    if (program !== null && (await version(program)) === VERSION) return { program }
  }
  if (Bun.which("cargo") === null) return { missing: "neither oha nor cargo is installed" }
  console.log(`oha ${VERSION} is built by cargo; that takes some minutes, once`)
  mkdirSync(CACHE, { recursive: true })
  const args = ["install", "oha", "--locked", "--quiet", "--version", VERSION, "--root", join(CACHE, "oha")]
  const cargo = Bun.spawn(["cargo", ...args], { stdin: "ignore", stdout: "ignore", stderr: "pipe" })
  const said = await cargo.stderr.text()
  if ((await cargo.exited) !== 0)
    return { missing: `oha could not be built: ${said.trim().split("\n").at(-1)}` }
  return { program: installed }
}

async function version(program: string): Promise<string | undefined> {
  if (!(await Bun.file(program).exists())) return undefined
  const said = await Bun.spawn([program, "--version"], { stdout: "pipe", stderr: "ignore" }).stdout.text()
  return /^oha (\S+)/.exec(said)?.[1]
}

let found: ReturnType<typeof findOha> | undefined

/** Of what oha prints with `--output-format json`. Times in seconds. */
interface Printed {
  summary: { total: number; successRate: number }
  latencyPercentiles: { p50: number; p99: number; "p99.9": number }
  statusCodeDistribution: { [status: string]: number }
  errorDistribution: { [error: string]: number }
}

/** Posts in an open loop. Requests that are out at the end are waited for, or their latencies would be missing. */
export async function postByOha(
  url: string,
  { folder, ...run }: Traffic & { rate: number; folder: string },
): Promise<Load> {
  const oha = await (found ??= findOha())
  if ("missing" in oha) throw new Error(oha.missing)
  const bodyFile = join(folder, "body")
  await Bun.write(bodyFile, run.body)
  const headers = [...run.headers].flatMap(([name, value]) => ["-H", `${name}: ${value}`])
  const request = ["-m", "POST", "-T", "application/json", "-D", bodyFile, ...headers, url]
  const program = [oha.program, "--latency-correction", "-w", "--no-tui", "--output-format", "json"]
  const { summary, latencyPercentiles, statusCodeDistribution, errorDistribution }: Printed =
    await $`${program} -z ${run.seconds}s -q ${run.rate} -c ${CONNECTIONS} ${request}`.json()
  const { "200": requests = 0, ...others } = statusCodeDistribution
  if (Object.keys(others).length + Object.keys(errorDistribution).length > 0) {
    throw new Error(
      `not every request was answered 200: ${JSON.stringify({ ...others, ...errorDistribution })}`,
    )
  }
  const { p50, p99, "p99.9": p999 } = latencyPercentiles
  return { requests, seconds: summary.total, p50: p50 * 1000, p99: p99 * 1000, p999: p999 * 1000 }
}
