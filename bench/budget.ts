import { median, medianSample } from "./median.ts"
import type { Sample } from "./measure.ts"
import type { PartResult, Results } from "./results.ts"

/** A line of what Hookline allows itself. */
export interface BudgetLine {
  readonly what: string
  readonly limit: string
  /** Undefined: it was not measured. */
  readonly measured: string | undefined
  readonly met: boolean | undefined
}

/** Limits that `npm run bench:guard` holds too. */
export const CPU_TO_BARE = 1.8
export const EMBEDDED_TO_BARE = 0.6

/** CPU per event, everything on, beside each of these: at most so much of theirs. */
const CPU: readonly (readonly [target: string, title: string, limit: number])[] = [
  ["bare", "the bare server", CPU_TO_BARE],
  ["go", "Go with franz-go", 0.45],
  ["connect", "Redpanda Connect", 0.25],
  ["bitswan", "BitSwan", 0.16],
]

const P99_FACTOR = 1.3
const P99_MORE_MS = 1
const MEMORY_FACTOR = 1.1
const MEMORY_MIB = 160

/** The budget, and what of it the results meet. */
export function budget({ parts, soak }: Results): BudgetLine[] {
  return [
    ...CPU.map(([target, title, limit]) =>
      line(
        `CPU an event on Kafka, all on with HMAC, beside ${title}`,
        `at most ${limit}`,
        ratio(parts.closed, "hookline-hmac", target, ({ cpuPerEvent }) => cpuPerEvent),
        (it) => [it.toFixed(2), it <= limit],
      ),
    ),
    ...[64, 512].map((connections) =>
      line(
        `Throughput of the embedded log beside the bare server, ${connections} connections`,
        `at least ${EMBEDDED_TO_BARE}`,
        ratio(parts.embedded, "embedded", "bare", ({ perSecond }) => perSecond, connections),
        (it) => [it.toFixed(2), it >= EMBEDDED_TO_BARE],
      ),
    ),
    openLoop(parts.open),
    ...memory(soak),
  ]
}

/** The median over the rounds of a figure of one target beside that of another in the same round. */
export function ratio(
  part: PartResult | undefined,
  target: string,
  beside: string,
  figure: (sample: Sample) => number,
  connections = 64,
): number | undefined {
  const load = `${connections} connections, 1.1 KB`
  const [ours, theirs] = [target, beside].map((name) => part?.samples[name]?.[load])
  if (ours === undefined || theirs === undefined) return undefined
  return median(ours.map((sample, round) => figure(sample) / figure(theirs[round] ?? theirs.at(-1)!)))
}

function openLoop(open: PartResult | undefined): BudgetLine {
  const [ours, producer] = ["hookline-hmac", "producer"].map((name) => open?.samples[name]?.["5000/s"])
  const measured =
    ours === undefined || producer === undefined
      ? undefined
      : { p99: medianSample(ours).p99, limit: P99_FACTOR * medianSample(producer).p99 + P99_MORE_MS }
  return line(
    "99th percentile at 5,000/s, all on with HMAC",
    measured === undefined
      ? `${P99_FACTOR} times a lone producer's and ${P99_MORE_MS} ms`
      : `at most ${measured.limit.toFixed(1)} ms: ${P99_FACTOR} times a lone producer's and ${P99_MORE_MS} ms`,
    measured,
    ({ p99, limit }) => [`${p99.toFixed(1)} ms`, p99 <= limit],
  )
}

function memory(soak: Results["soak"]): BudgetLine[] {
  const minute = soak?.memory[60 / soak.everySeconds]
  const end = soak?.memory.at(-1)
  return [
    line(
      "Memory at the end of the soak beside that after one minute",
      `at most ${MEMORY_FACTOR}`,
      minute === undefined || end === undefined ? undefined : end / minute,
      (it) => [it.toFixed(2), it <= MEMORY_FACTOR],
    ),
    line(
      "The most memory in the soak",
      `under ${MEMORY_MIB} MiB`,
      soak === undefined ? undefined : Math.max(...soak.memory),
      (it) => [`${it.toFixed(0)} MiB`, it < MEMORY_MIB],
    ),
  ]
}

function line<T>(
  what: string,
  limit: string,
  value: T | undefined,
  judge: (value: T) => readonly [measured: string, met: boolean],
): BudgetLine {
  const [measured, met] = value === undefined ? [undefined, undefined] : judge(value)
  return { what, limit, measured, met }
}
