import { join } from "node:path"
import type { Sample } from "./measure.ts"

/** What was measured of one part, in one run. */
export interface PartResult {
  /** The day, as 2026-11-21. */
  readonly measured: string
  readonly machine: string
  readonly seconds: number
  readonly rounds: number
  /** By target, then by case, a sample a round. A case that a target was not asked for, or did not keep up before, has none. */
  readonly samples: { readonly [target: string]: { readonly [name: string]: readonly Sample[] } }
}

export interface SoakResult {
  readonly measured: string
  readonly machine: string
  readonly target: string
  readonly connections: number
  readonly seconds: number
  readonly events: number
  readonly p99: number
  readonly cpuPerEvent: number
  /** Resident memory in MiB every so many seconds, from the first request on. */
  readonly everySeconds: number
  readonly memory: readonly number[]
}

/** Everything that docs/benchmarks.md shows, whichever run it is of. */
export interface Results {
  readonly parts: { readonly [part: string]: PartResult }
  readonly soak?: SoakResult
}

export const DOCS = join(import.meta.dir, "..", "docs")
const FILE = join(DOCS, "benchmarks.json")

export async function readResults(): Promise<Results> {
  const file = Bun.file(FILE)
  return (await file.exists()) ? ((await file.json()) as Results) : { parts: {} }
}

/** Numbers are kept to three decimals. */
export async function writeResults(results: Results): Promise<void> {
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Math.round(value * 1000) / 1000 : value
  await Bun.write(FILE, `${JSON.stringify(results, rounded, 1)}\n`)
}
