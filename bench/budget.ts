import { median, medianSample, ratios, type Sample, type Samples } from "./measure.ts"
import { closed } from "./parts.ts"
import type { PartResult, Results } from "./results.ts"
import type { Sizes, SizeSample } from "./scale.ts"
import { markdownTable } from "./table.ts"

const CPU_TO_BARE = 2
const EMBEDDED_TO_BARE = 0.5
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

const LOAD = closed(64).name

const cpu = ({ cpuPerEvent }: Sample): number => cpuPerEvent
const throughput = ({ perSecond }: Sample): number => perSecond
const p99 = (sample: Sample): number => sample.p99

/** A line of what Hookline allows itself: what, the limit, the figure that was measured, and whether it meets the limit. */
type Line = [what: string, limit: string, measured: string, met: string]

/** The budget, and what of it the results meet. */
export function budget({ parts, soak }: Results): Line[] {
  const { closed: loop, open, bodies, hmac, pipelines, embedded } = parts
  return [
    most(
      "CPU an event on Kafka with HMAC, beside the bare server",
      CPU_TO_BARE,
      ratio(cpu, loop, ["hookline-hmac", "bare"]),
    ),
    ...CPU.map(([beside, title, limit]) =>
      most(
        `CPU an event on Kafka with HMAC on both sides, beside ${title}`,
        limit,
        ratio(cpu, hmac, ["hookline-hmac", beside]),
      ),
    ),
    ...(["16 KB", "256 KB"] as const).flatMap((body) => {
      const beside = (figure: typeof cpu): number | undefined =>
        ratio(figure, bodies, ["hookline", "go"], closed(64, body).name)
      return [
        least(`Throughput with bodies of ${body}, beside Go`, 1, beside(throughput)),
        most(`99th percentile with bodies of ${body}, beside Go`, 1, beside(p99)),
      ]
    }),
    openLoop(open, "hookline", "without HMAC"),
    openLoop(open, "hookline-hmac", "with HMAC"),
    most(
      "CPU an event with 500 pipelines, beside one",
      PIPELINES_FACTOR,
      ratio(cpu, pipelines, ["hookline-500", "hookline-one"]),
    ),
    ...(
      [
        [64, EMBEDDED_TO_BARE],
        [512, EMBEDDED_TO_BARE_512],
      ] as const
    ).map(([connections, limit]) =>
      least(
        `Throughput of the embedded log beside the bare server, ${connections} connections`,
        limit,
        ratio(throughput, embedded, ["embedded", "bare"], closed(connections).name),
      ),
    ),
    ...memory(soak),
  ]
}

const most = (what: string, limit: number, found: number | undefined): Line =>
  line(what, `at most ${limit}`, found, (it) => [it.toFixed(2), it <= limit])

const least = (what: string, limit: number, found: number | undefined): Line =>
  line(what, `at least ${limit}`, found, (it) => [it.toFixed(2), it >= limit])

/** The median over the rounds of a figure of one target beside that of another in the same round. */
function ratio(
  figure: (sample: Sample) => number,
  part: PartResult | undefined,
  targets: readonly [target: string, beside: string],
  load = LOAD,
): number | undefined {
  const [ours, theirs] = targets.map((name) => part?.samples[name]?.[load])
  return ours === undefined || theirs === undefined ? undefined : median(ratios(ours, theirs, figure))
}

function openLoop(open: PartResult | undefined, target: string, title: string): Line {
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

function memory(soak: Results["soak"]): Line[] {
  const minute = soak?.memory[60 / soak.everySeconds]
  const growth = minute === undefined ? undefined : soak!.memory.at(-1)! / minute
  const peak = soak && Math.max(...soak.memory)
  return [
    most("Memory at the end of the soak beside that after one minute", MEMORY_FACTOR, growth),
    line("The most memory in the soak", `under ${MEMORY_MIB} MiB`, peak, (it) => [
      `${it.toFixed(0)} MiB`,
      it < MEMORY_MIB,
    ]),
  ]
}

function line<T>(
  what: string,
  limit: string,
  value: T | undefined,
  judge: (value: T) => readonly [measured: string, met: boolean],
): Line {
  if (value === undefined) return [what, limit, "not measured", ""]
  const [measured, isMet] = judge(value)
  return [what, limit, measured, isMet ? "yes" : "**no**"]
}

interface Guarded {
  readonly target: string
  readonly what: string
  readonly figure: (sample: Sample) => number
  /** On which side of the limits the figure must lie, beside the bare server's. */
  readonly bound: "at most" | "at least"
  readonly budget: number
  /** What is held: where the budget is not met yet, what was measured, and so much for noise as medians lay apart. */
  readonly limit: number
}

/** The lines of the budget that `npm run bench:guard` holds. */
const GUARDED: readonly Guarded[] = [
  {
    target: "hookline-hmac",
    what: "Kafka, all on with HMAC: CPU an event",
    figure: cpu,
    bound: "at most",
    budget: CPU_TO_BARE,
    // 2.3 on a quiet machine, 2.6 on a busy one; a tenth for noise.
    limit: 2.53,
  },
  {
    target: "embedded",
    what: "embedded log: throughput",
    figure: throughput,
    bound: "at least",
    budget: EMBEDDED_TO_BARE,
    // 0.4 on a quiet machine, 0.26 on a busy one, where the fsyncs of others count; a quarter for noise.
    limit: 0.3,
  },
]

/**
 * What is held beside the bare server, and whether it holds; the exit status is 1 where it does not. It is the median of the
 * rounds' ratios, so that what the machine did meanwhile falls out.
 */
export function guard(samples: Samples): string {
  const rows = GUARDED.flatMap(({ target, what, figure, bound, budget, limit }) => {
    const [ours, bare] = [target, "bare"].map((name) => samples[name]?.[LOAD])
    if (ours === undefined || bare === undefined) return []
    const found = ratios(ours, bare, figure)
    const holds = bound === "at most" ? median(found) <= limit : median(found) >= limit
    if (!holds) process.exitCode = 1
    const figures = [median(found), Math.min(...found), Math.max(...found)].map((it) => it.toFixed(2))
    return [[what, ...figures, `${bound} ${budget}`, `${bound} ${limit}`, holds ? "holds" : "**BEYOND**"]]
  })
  return markdownTable(
    ["beside the bare server", "median", "least", "most", "budget", "limit here", ""],
    rows,
  )
}

const REST_KB = 12
const USED_KB = 15
const EACH_MS = 0.1
const TURN_MS = 20
const METRICS_MB = 10

/** The budget of numbers of pipelines: its head, its limits, and a row for each number. */
export function sizesTable(sizes: Sizes): [head: string[], rows: string[][]] {
  const one = sizes["1"]!
  const bounded = (value: number, limit: number, digits: number): string =>
    value > limit ? `**${value.toFixed(digits)}**` : value.toFixed(digits)
  // with fewer, compilation and the first growth of the heap take most
  const isMany = (pipelines: string): boolean => Number(pipelines) >= 10_000
  const rows = Object.entries(sizes).map(([pipelines, it]) => {
    const each = (of: (it: SizeSample) => number, limit: number, digits: number): string => {
      const more = of(it) - of(one)
      // less than one pipeline takes is the noise of the measurement
      if (!(more > 0)) return ""
      return bounded(
        more / (Number(pipelines) - 1),
        isMany(pipelines) ? limit : Number.POSITIVE_INFINITY,
        digits,
      )
    }
    return [
      Number(pipelines).toLocaleString("en"),
      it.restMiB.toFixed(0),
      each((one) => one.restMiB * 1024, REST_KB, 1),
      each((one) => one.usedMiB * 1024, USED_KB, 1),
      each((one) => one.startCpuMs, EACH_MS, 2),
      each((one) => one.checkCpuMs, EACH_MS, 2),
      each((one) => one.reloadCpuMs, EACH_MS, 2),
      bounded(it.reloadTurnMs, TURN_MS, 0),
      bounded(it.scrapeTurnMs, TURN_MS, 0),
      bounded(it.metricsMB, METRICS_MB, 2),
    ]
  })
  const limits = ["budget", "", `${REST_KB}`, `${USED_KB}`, ...Array<string>(3).fill(`${EACH_MS}`)]
  return [
    [
      "pipelines",
      "MiB at rest",
      "KB each",
      "KB each, in use",
      "start: ms each",
      "check: ms each",
      "a reload that adds one: ms each",
      "its longest turn, ms",
      "a scrape's longest turn, ms",
      "/metrics, MB",
    ],
    [[...limits, `${TURN_MS}`, `${TURN_MS}`, `${METRICS_MB}`], ...rows],
  ]
}
