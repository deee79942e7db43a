import { Random } from "../support/random.ts"
import { corpusOf } from "./corpus.ts"
import type { Coverage } from "./coverage.ts"
import { mutate } from "./mutate.ts"
import type { Target } from "./target.ts"

/** An input of 2 KiB at most that takes longer is a finding of its own. */
const SLOW_MS = 1000

/** An input of which something does not hold. */
export interface Finding {
  readonly input: Uint8Array
  readonly error: unknown
}

export interface Fuzzed {
  readonly runs: number
  /** The inputs that reach all that was reached, the shortest first. */
  readonly corpus: readonly Uint8Array[]
  readonly finding: Finding | undefined
}

/**
 * Runs a target on mutated inputs, and continues from those that reached something new, until the time is over or something
 * does not hold.
 *
 * @param coverage makes what counts what runs, empty
 */
export async function fuzz(
  target: Target,
  { seconds, seed, coverage }: { seconds: number; seed: number; coverage: () => Coverage },
): Promise<Fuzzed> {
  const random = new Random(seed)
  const inputs = corpusOf(target)
  let reached = coverage()
  let runs = 0
  const run = async (input: Uint8Array<ArrayBuffer>): Promise<Finding | undefined> => {
    runs++
    const startedMs = performance.now()
    try {
      const pending = target.check(input)
      if (pending !== undefined) await pending
    } catch (error) {
      return { input, error }
    }
    const tookMs = performance.now() - startedMs
    return tookMs < SLOW_MS ? undefined : { input, error: new Error(`took ${tookMs.toFixed(0)} ms`) }
  }

  for (const input of inputs) {
    const finding = await run(input)
    if (finding !== undefined) return { runs, corpus: inputs, finding }
    reached.take()
  }
  const untilMs = performance.now() + seconds * 1000
  while (performance.now() < untilMs) {
    const input = mutate(random.pick(inputs), random.pick(inputs), target.words, random)
    const finding = await run(input)
    if (finding !== undefined) return { runs, corpus: inputs, finding }
    if (reached.take()) inputs.push(input)
  }

  reached = coverage()
  const corpus: Uint8Array[] = []
  for (const input of inputs.toSorted((a, b) => a.length - b.length)) {
    await run(input)
    if (reached.take()) corpus.push(input)
  }
  return { runs, corpus, finding: undefined }
}
