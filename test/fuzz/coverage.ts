import { join } from "node:path"

/** The counters of one file, as istanbul writes them: of statements, and of the arms of each branch. */
interface Counters {
  readonly s: { [id: string]: number }
  readonly b: { [id: string]: number[] }
}

const SOURCES = join(import.meta.dir, "../../src/")

/** Has what is imported from src from now on count what runs of it. */
export async function instrumentSources(): Promise<void> {
  const { createInstrumenter } = await import("istanbul-lib-instrument")
  const instrumenter = createInstrumenter({ esModules: true, compact: true, produceSourceMap: false })
  const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" })
  Bun.plugin({
    name: "coverage",
    setup(build) {
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
        const plain = transpiler.transformSync(await Bun.file(path).text())
        const contents = path.startsWith(SOURCES) ? instrumenter.instrumentSync(plain, path) : plain
        return { contents, loader: "js" }
      })
    },
  })
}

const ONCE = 1
const FEW = 2
const OFTEN = 4

/** A counter beside which is kept how often it has counted between two looks: once, a few times, often. */
interface Watched {
  readonly of: { [at: string | number]: number }
  readonly at: readonly (string | number)[]
  readonly seen: Uint8Array
}

/** What has run so far: each statement and each arm of a branch, and whether once, a few times or often. */
export class Coverage {
  #files = 0
  #watched: readonly Watched[] = []

  /** Takes what ran since the last time, and tells whether any of it is new. */
  take(): boolean {
    const all = Object.values(
      (globalThis as { __coverage__?: { [file: string]: Counters } }).__coverage__ ?? {},
    )
    for (const { s, b } of all.slice(this.#files))
      this.#watched = [...this.#watched, ...[s, ...Object.values(b)].map(watch)]
    this.#files = all.length
    let isNew = false
    for (const { of, at, seen } of this.#watched) {
      for (let i = 0; i < at.length; i++) {
        const count = of[at[i]!]!
        if (count === 0) continue
        of[at[i]!] = 0
        const bit = count === 1 ? ONCE : count < 8 ? FEW : OFTEN
        if ((seen[i]! & bit) !== 0) continue
        seen[i]! |= bit
        isNew = true
      }
    }
    return isNew
  }
}

function watch(of: Watched["of"] | number[]): Watched {
  const at = Array.isArray(of) ? [...of.keys()] : Object.keys(of)
  return { of: of as Watched["of"], at, seen: new Uint8Array(at.length) }
}
