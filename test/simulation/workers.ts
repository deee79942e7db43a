import { mkdtempSync, rmSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { canModelDisks, compileDiskModel } from "../support/disk-model.ts"
import type { Scenario } from "./simulation.ts"

let library: string | undefined

/** The model of a disk that simulating processes are loaded with. */
function diskModel(): string | undefined {
  if (library !== undefined || !(canModelDisks() || process.env.CI)) return library
  const folder = mkdtempSync(join(tmpdir(), "hookline-disk-model-"))
  process.on("exit", () => rmSync(folder, { recursive: true }))
  return (library = compileDiskModel(folder))
}

/** What a process that simulates is to do. */
export interface Job {
  readonly simulation: string
  /** Seeds from this one, before `to`, `stride` apart. */
  readonly from: number
  readonly to: number
  readonly stride: number
  /** It ends after that many that failed. */
  readonly failures: number
  /** The guard that is taken out. */
  readonly mutation?: string | undefined
  /** Text of the only violations that count. */
  readonly finding?: string | undefined
  /** Instead of seeds, of any simulation. */
  readonly scenarios?: readonly Scenario[] | undefined
  /** Instead of them: how many seeds, from the first, of each simulation, all in one process. */
  readonly each?: readonly (readonly [simulation: string, seeds: number])[] | undefined
  readonly isMinimised: boolean
  /** Whether the history of each run is wanted, also when it does not fail. */
  readonly isTold: boolean
}

/** A line that it writes. */
export type Finding = Failure | { readonly runs: number } | Told

export interface Failure {
  readonly seed: number
  readonly hash: string
  readonly steps: number
  readonly violation: { readonly atMs: number; readonly steps: number; readonly what: string }
  /** The scenario, minimised where that was wanted. */
  readonly smallest: Scenario
  readonly history: string
}

interface Told {
  readonly simulation: string
  readonly seed: number
  readonly hash: string
  readonly steps: number
  readonly history: string
}

export interface Result {
  readonly runs: number
  readonly failures: readonly Failure[]
  readonly told: readonly Told[]
}

/** Runs a job in as many processes as there are processors, a part of the seeds in each; scenarios and `each` in one. */
export async function simulate(
  job: Partial<Job> &
    (Pick<Job, "simulation"> | Pick<Required<Job>, "scenarios"> | Pick<Required<Job>, "each">),
  processes = availableParallelism(),
): Promise<Result> {
  const from = job.from ?? 1
  const failures = job.scenarios?.length ?? 1
  const all = { simulation: "", to: from + 1, failures, isMinimised: false, isTold: false, ...job }
  const count = (job.scenarios ?? job.each) === undefined ? Math.min(processes, all.to - from) : 1
  const parts = Array.from({ length: count }, (_, at) => ({ ...all, from: from + at, stride: count }))
  const found = (await Promise.all(parts.map(findingsOf))).flat()
  return {
    runs: found.reduce((sum, finding) => sum + ("runs" in finding ? finding.runs : 0), 0),
    failures: found
      .filter((finding): finding is Failure => "violation" in finding)
      .toSorted((a, b) => a.seed - b.seed),
    told: found.filter((finding): finding is Told => "history" in finding && !("violation" in finding)),
  }
}

async function findingsOf(job: Job): Promise<Finding[]> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "worker.ts"), JSON.stringify(job)], {
    env: { ...process.env, LD_PRELOAD: diskModel() ?? "" },
    stdout: "pipe",
    stderr: "pipe",
  })
  const [text, errors, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (status !== 0) throw new Error(`a simulating process ended with status ${status}: ${errors || text}`)
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Finding)
}
