import type { BenchKafka } from "./kafka.ts"
import { measure, type Case, type Sample } from "./measure.ts"
import type { Target } from "./target.ts"

/** By target, then by case, a sample a round. A case that a target was not asked for, or did not keep up before, has none. */
export interface Samples {
  readonly [target: string]: { readonly [name: string]: readonly Sample[] }
}

/** Runs something so many times, one after the other. */
export async function times<T>(count: number, run: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  while (results.length < count) results.push(await run())
  return results
}

/** How many milliseconds something takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

interface How {
  readonly rounds: number
  readonly seconds: number
  readonly kafka: BenchKafka | undefined
}

/**
 * Measures targets under each case, in turn, round after round, so that what the machine does meanwhile falls on all of them.
 * An uncounted round of a target on Kafka comes first: in its first minute the broker compiles its code, at the expense of
 * whichever target is measured first.
 * Says which is measured, and about how long the rest takes. When one fails the others' figures stand, and the exit status
 * is 1.
 */
export async function measureInTurn(
  targets: readonly Target[],
  cases: readonly Case[],
  { rounds, seconds, kafka }: How,
): Promise<Samples> {
  const samples: { [target: string]: { [name: string]: Sample[] } } = {}
  const startMs = performance.now()
  const ofRound = (round: number) => targets.map((target) => ({ target, round }))
  const warmUp = ofRound(0).filter(({ target }) => target.onKafka)
  const turns = [...warmUp.slice(0, 1), ...Array.from({ length: rounds }, (_, at) => ofRound(at + 1)).flat()]
  for (const [done, { target, round }] of turns.entries()) {
    const leftMs = ((performance.now() - startMs) / done) * (turns.length - done)
    const left = done === 0 ? "" : `, about ${Math.ceil(leftMs / 60_000)} min left`
    const what = round === 0 ? "warming the broker up" : `round ${round} of ${rounds}`
    console.log(`${what}${left}: ${target.title}`)
    try {
      const measured = await measure(target, cases, { seconds, kafka })
      if (round === 0) continue
      for (const [load, sample] of measured) ((samples[target.name] ??= {})[load] ??= []).push(sample)
    } catch (error) {
      console.log(`FAILED: ${target.title}: ${(error as Error).message}`)
      process.exitCode = 1
    }
  }
  return samples
}
