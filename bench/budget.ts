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
export const CPU_TO_BARE = 2
export const EMBEDDED_TO_BARE = 0.5
const EMBEDDED_TO_BARE_512 = 0.6

/** CPU per event, with HMAC on both sides, beside each of these: at most so much of theirs. */
const CPU: readonly (readonly [target: string, title: string, limit: number])[] = [
  ["go-hmac", "Go with franz-go", 0.5],
  ["connect-hmac", "Redpanda Connect", 0.2],
  ["bitswan-hmac", "BitSwan", 0.16],
]

const P99_FACTOR = 1.3
const P99_MORE_MS = 1
const PIPELINES_FACTOR = 1.1
const MEMORY_FACTOR = 1.1
const MEMORY_MIB = 160

const cpu = ({ cpuPerEvent }: Sample): number => cpuPerEvent
const throughput = ({ perSecond }: Sample): number => perSecond
const p99 = (sample: Sample): number => sample.p99

/** The budget, and what of it the results meet. */
export function budget({ parts, soak }: Results): BudgetLine[] {
  return [
    most("CPU an event on Kafka with HMAC, beside the bare server", CPU_TO_BARE, {
      part: parts.closed,
      target: "hookline-hmac",
      beside: "bare",
      figure: cpu,
    }),
    ...CPU.map(([beside, title, limit]) =>
      most(`CPU an event on Kafka with HMAC on both sides, beside ${title}`, limit, {
        part: parts.hmac,
        target: "hookline-hmac",
        beside,
        figure: cpu,
      }),
    ),
    ...["16 KB", "256 KB"].flatMap((body) => {
      const compared = {
        part: parts.bodies,
        target: "hookline",
        beside: "go",
        load: `64 connections, ${body}`,
      }
      return [
        least(`Throughput with bodies of ${body}, beside Go`, 1, { ...compared, figure: throughput }),
        most(`99th percentile with bodies of ${body}, beside Go`, 1, { ...compared, figure: p99 }),
      ]
    }),
    openLoop(parts.open, "hookline", "without HMAC"),
    openLoop(parts.open, "hookline-hmac", "with HMAC"),
    most("CPU an event with 500 pipelines, beside one", PIPELINES_FACTOR, {
      part: parts.pipelines,
      target: "hookline-500",
      beside: "hookline-one",
      figure: cpu,
    }),
    ...(
      [
        [64, EMBEDDED_TO_BARE],
        [512, EMBEDDED_TO_BARE_512],
      ] as const
    ).map(([connections, limit]) =>
      least(`Throughput of the embedded log beside the bare server, ${connections} connections`, limit, {
        part: parts.embedded,
        target: "embedded",
        beside: "bare",
        load: `${connections} connections, 1.1 KB`,
        figure: throughput,
      }),
    ),
    ...memory(soak),
  ]
}

interface Compared {
  readonly part: PartResult | undefined
  readonly target: string
  readonly beside: string
  /** Default: 64 connections, 1.1 KB. */
  readonly load?: string
  readonly figure: (sample: Sample) => number
}

function most(what: string, limit: number, compared: Compared): BudgetLine {
  return line(what, `at most ${limit}`, ratio(compared), (it) => [it.toFixed(2), it <= limit])
}

function least(what: string, limit: number, compared: Compared): BudgetLine {
  return line(what, `at least ${limit}`, ratio(compared), (it) => [it.toFixed(2), it >= limit])
}

/** The median over the rounds of a figure of one target beside that of another in the same round. */
function ratio({
  part,
  target,
  beside,
  load = "64 connections, 1.1 KB",
  figure,
}: Compared): number | undefined {
  const [ours, theirs] = [target, beside].map((name) => part?.samples[name]?.[load])
  if (ours === undefined || theirs === undefined) return undefined
  return median(ours.map((sample, round) => figure(sample) / figure(theirs[round] ?? theirs.at(-1)!)))
}

function openLoop(open: PartResult | undefined, target: string, title: string): BudgetLine {
  const [ours, producer] = [target, "producer"].map((name) => open?.samples[name]?.["5000/s"])
  const measured =
    ours === undefined || producer === undefined
      ? undefined
      : { p99: medianSample(ours).p99, limit: P99_FACTOR * medianSample(producer).p99 + P99_MORE_MS }
  return line(
    `99th percentile at 5,000/s, ${title}`,
    measured === undefined
      ? `${P99_FACTOR} times a lone producer's and ${P99_MORE_MS} ms`
      : `at most ${measured.limit.toFixed(1)} ms: ${P99_FACTOR} times a lone producer's and ${P99_MORE_MS} ms`,
    measured,
    (it) => [`${it.p99.toFixed(1)} ms`, it.p99 <= it.limit],
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
