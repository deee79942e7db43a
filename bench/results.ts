import { cpus, totalmem } from "node:os"
import { join } from "node:path"
import type { Samples } from "./measure.ts"
import type { Sizes } from "./scale.ts"

/** When and where something was measured. */
export interface Measured {
  /** The day, as 2026-11-21. */
  readonly measured: string
  readonly machine: string
}

/** What was measured of one part, in one run. */
export interface PartResult extends Measured {
  readonly seconds: number
  readonly rounds: number
  readonly samples: Samples
}

export interface SoakResult extends Measured {
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

/** What numbers of pipelines cost. */
export interface SizesResult extends Measured {
  readonly rounds: number
  readonly sizes: Sizes
}

/** Everything that docs/benchmarks.md shows, whichever run it is of. */
export interface Results {
  readonly parts: { readonly [part: string]: PartResult }
  readonly soak: SoakResult
  readonly sizes: SizesResult
}

/** What the figures are measured on and by, in a line. */
export function machine(): string {
  const all = cpus()
  const memory = Math.round(totalmem() / 1024 ** 3)
  const model = all[0]?.model ?? "unknown processor"
  return `Bun ${Bun.version}, ${all.length} x ${model}, ${memory} GiB, wrk`
}

export const hereAndNow = (): Measured => ({
  measured: new Date().toISOString().slice(0, 10),
  machine: machine(),
})

export const DOCS = join(import.meta.dir, "..", "docs")
const FILE = join(DOCS, "benchmarks.json")

export const readResults = (): Promise<Results> => Bun.file(FILE).json()

/** Puts what `npm run bench:NAME` found between the two marks of that name in docs/benchmarks.md. */
export async function writeSection(name: string, text: string): Promise<void> {
  const [begin, end] = [`<!-- npm run bench:${name} -- --write -->`, `<!-- end of bench:${name} -->`]
  const file = join(DOCS, "benchmarks.md")
  const page = await Bun.file(file).text()
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from)
    throw new Error(`${file} lacks the marks of bench:${name}, between which figures go`)
  await Bun.write(file, `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`)
}

/** Numbers are kept to three decimals. */
export async function writeResults(results: Results): Promise<void> {
  const rounded = (_: string, value: unknown): unknown =>
    typeof value === "number" ? Math.round(value * 1000) / 1000 : value
  await Bun.write(FILE, `${JSON.stringify(results, rounded, 1)}\n`)
}
