import type { Sample } from "./measure.ts"

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** The median of each figure by itself. */
export function medianSample(samples: readonly Sample[]): Sample {
  const of = (key: keyof Sample): number => median(samples.map((one) => one[key]))
  return {
    perSecond: of("perSecond"),
    p50: of("p50"),
    p99: of("p99"),
    p999: of("p999"),
    cpuPerEvent: of("cpuPerEvent"),
    brokerCpuPerEvent: of("brokerCpuPerEvent"),
    peak: of("peak"),
  }
}
