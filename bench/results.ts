import { join } from "node:path"
import type { SizeSample } from "./scale-sizes.ts"
import type { Samples } from "./rounds.ts"

/** What was measured of one part, in one run. */
export interface PartResult {
  /** The day, as 2026-11-21. */
  readonly measured: string
  readonly machine: string
  readonly seconds: number
  readonly rounds: number
  readonly samples: Samples
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

/** What numbers of pipelines cost, by `npm run bench:scale -- --parts sizes --write`. */
export interface SizesResult {
  readonly measured: string
  readonly machine: string
  readonly rounds: number
  /** By the number of pipelines. */
  readonly sizes: { readonly [pipelines: string]: SizeSample }
}

/** Everything that docs/benchmarks.md shows, whichever run it is of. */
export interface Results {
  readonly parts: { readonly [part: string]: PartResult }
  readonly soak?: SoakResult
  readonly sizes?: SizesResult
}

/** The day, as results name it. */
export const today = (): string => new Date().toISOString().slice(0, 10)

export const DOCS = join(import.meta.dir, "..", "docs")
const FILE = join(DOCS, "benchmarks.json")

export async function readResults(): Promise<Results> {
  const file = Bun.file(FILE)
  return (await file.exists()) ? ((await file.json()) as Results) : { parts: {} }
}

/** Puts a text between two marks of docs/benchmarks.md. */
export async function writeBetween(begin: string, end: string, text: string): Promise<void> {
  const file = join(DOCS, "benchmarks.md")
  const page = await Bun.file(file).text()
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`${file} lacks the two marks between which figures go`)
  await Bun.write(file, `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`)
}

/** Numbers are kept to three decimals. */
export async function writeResults(results: Results): Promise<void> {
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Math.round(value * 1000) / 1000 : value
  await Bun.write(FILE, `${JSON.stringify(results, rounded, 1)}\n`)
}
