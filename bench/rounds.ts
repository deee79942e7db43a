import type { BenchKafka } from "./kafka.ts"
import { measure, type Case, type Sample } from "./measure.ts"
import type { Target } from "./target.ts"

/** Measures targets in turn, round after round, and says which; the samples are by the targets' names. */
export async function measureInTurn(
  targets: readonly Target[],
  load: Case,
  { rounds, seconds, kafka }: { rounds: number; seconds: number; kafka: BenchKafka | undefined },
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(targets.map(({ name }) => [name, []]))
  for (let round = 1; round <= rounds; round++) {
    for (const target of targets) {
      console.log(`round ${round} of ${rounds}: ${target.title}`)
      samples.get(target.name)!.push((await measure(target, [load], { seconds, kafka })).get(load.name)!)
    }
  }
  return samples
}
