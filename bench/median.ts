import type { Sample } from "./measure.ts"

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The median of each figure by itself. */
export function medianSample<T extends { readonly [K in keyof T]: number } = Sample>(
  samples: readonly T[],
): T {
  const figures = Object.keys(samples[0]!) as (keyof T & string)[]
  return Object.fromEntries(figures.map((key) => [key, median(samples.map((one) => one[key]))])) as never
}

/** A figure of one target beside that of another in the same round. */
export const ratios = (
  ours: readonly Sample[],
  theirs: readonly Sample[],
  figure: (sample: Sample) => number,
): number[] => ours.map((sample, round) => figure(sample) / figure(theirs[round] ?? theirs.at(-1)!))
