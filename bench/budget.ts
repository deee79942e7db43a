import { median, medianSample, ratios, type Sample, type Samples } from "./measure.ts"
import { closed } from "./parts.ts"
import type { Results } from "./results.ts"
import type { Sizes, SizeSample } from "./scale.ts"
import { markdownTable } from "./table.ts"

const LOAD = closed(64).name

const cpu = ({ cpuPerEvent }: Sample): number => cpuPerEvent
const throughput = ({ perSecond }: Sample): number => perSecond
const p99 = (sample: Sample): number => sample.p99

/** A line of what Hookline allows itself: what, the limit, the figure that was measured, and whether it meets the limit. */
type Line = readonly [what: string, limit: string, measured: string, met: string]

/** The budget, and what of it the results meet. */
export function budget({ parts, soak }: Results): Line[] {
  const of = (part: string): Samples | undefined => parts[part]?.samples
  const minute = soak.memory[60 / soak.everySeconds]
  return [
    most(
      "CPU an event on Kafka with HMAC, beside the bare server",
      2,
      ratio(cpu, of("closed"), ["hookline-hmac", "bare"]),
    ),
    ...(
      [
        ["go-hmac", "Go with franz-go", 0.5],
        ["connect-hmac", "Redpanda Connect", 0.2],
        ["bitswan-hmac", "BitSwan", 0.16],
      ] as const
    ).map(([beside, title, limit]) =>
      most(
        `CPU an event on Kafka with HMAC on both sides, beside ${title}`,
        limit,
        ratio(cpu, of("hmac"), ["hookline-hmac", beside]),
      ),
    ),
    ...(["16 KB", "256 KB"] as const).flatMap((body) => {
      const beside = (figure: typeof cpu): number | undefined =>
        ratio(figure, of("bodies"), ["hookline", "go"], closed(64, body).name)
      return [
        least(`Throughput with bodies of ${body}, beside Go`, 1, beside(throughput)),
        most(`99th percentile with bodies of ${body}, beside Go`, 1, beside(p99)),
      ]
    }),
    openLoop(of("open"), "hookline", "without HMAC"),
    openLoop(of("open"), "hookline-hmac", "with HMAC"),
    most(
      "CPU an event with 500 pipelines, beside one",
      1.1,
      ratio(cpu, of("pipelines"), ["hookline-500", "hookline-one"]),
    ),
    ...(
      [
        [64, 0.5],
        [512, 0.6],
      ] as const
    ).map(([connections, limit]) =>
      least(
        `Throughput of the embedded log beside the bare server, ${connections} connections`,
        limit,
        ratio(throughput, of("embedded"), ["embedded", "bare"], closed(connections).name),
      ),
    ),
    most(
      "Memory at the end of the soak beside that after one minute",
      1.1,
      minute && soak.memory.at(-1)! / minute,
    ),
    most("The most memory in the soak", 160, Math.max(...soak.memory), " MiB"),
  ]
}

/**
 * What `npm run bench:guard` holds, beside the bare server: where the budget is not met yet, what was measured, and something
 * for noise, by which medians of runs on an unchanged tree lay apart. The median of the rounds' ratios counts, so that what
 * the machine did meanwhile falls out.
 */
export const guarded = (samples: Samples): Line[] => [
  // 2.3 on a quiet machine, 2.6 on a busy one; a tenth for noise.
  most("CPU an event on Kafka with HMAC", 2.53, ratio(cpu, samples, ["hookline-hmac", "bare"])),
  // 0.4 on a quiet machine, 0.26 on a busy one, where the fsyncs of others count; a quarter for noise.
  least("Throughput of the embedded log", 0.3, ratio(throughput, samples, ["embedded", "bare"])),
]

const NO = "**no**"

export const isMissed = ([, , , met]: Line): boolean => met === NO

export const linesTable = (lines: readonly Line[]): string =>
  markdownTable(["", "limit", "measured", "met"], lines)

const limited =
  (bound: "at most" | "at least") =>
  (what: string, limit: number, found: number | undefined, unit = ""): Line => {
    const allowed = `${bound} ${Number(limit.toFixed(2))}${unit}`
    if (found === undefined) return [what, allowed, "not measured", ""]
    const isMet = bound === "at most" ? found <= limit : found >= limit
    return [what, allowed, `${found.toFixed(2)}${unit}`, isMet ? "yes" : NO]
  }
const most = limited("at most")
const least = limited("at least")

/** The median over the rounds of a figure of one target beside that of another in the same round. */
function ratio(
  figure: (sample: Sample) => number,
  samples: Samples | undefined,
  targets: readonly [target: string, beside: string],
  load = LOAD,
): number | undefined {
  const [ours, theirs] = targets.map((name) => samples?.[name]?.[load])
  return ours === undefined || theirs === undefined ? undefined : median(ratios(ours, theirs, figure))
}

function openLoop(open: Samples | undefined, target: string, title: string): Line {
  const [ours, producers] = [target, "producer"].map((name) => {
    const samples = open?.[name]?.["5000/s"]
    return samples && medianSample(samples).p99
  })
  const what = `99th percentile at 5,000/s, ${title}: 1.3 times a lone producer's and 1 ms`
  return most(what, 1.3 * (producers ?? Number.NaN) + 1, producers && ours, " ms")
}

/** What is measured of a number of pipelines; with `isEach`, what each adds to a process with one. */
const COLUMNS: readonly (readonly [
  head: string,
  budget: number,
  of: (it: SizeSample) => number,
  digits: number,
  isEach: boolean,
])[] = [
  ["MiB at rest", Number.POSITIVE_INFINITY, (it) => it.restMiB, 0, false],
  ["KB each", 12, (it) => it.restMiB * 1024, 1, true],
  ["KB each, in use", 15, (it) => it.usedMiB * 1024, 1, true],
  ["start: ms each", 0.1, (it) => it.startCpuMs, 2, true],
  ["check: ms each", 0.1, (it) => it.checkCpuMs, 2, true],
  ["a reload that adds one: ms each", 0.1, (it) => it.reloadCpuMs, 2, true],
  ["its longest turn, ms", 20, (it) => it.reloadTurnMs, 0, false],
  ["a scrape's longest turn, ms", 20, (it) => it.scrapeTurnMs, 0, false],
  ["/metrics, MB", 10, (it) => it.metricsMB, 2, false],
]

/** The budget of numbers of pipelines: its limits, and a row for each number. */
export function sizesTable(sizes: Sizes): string {
  const one = sizes["1"]!
  const limits = COLUMNS.map(([, limit]) => (Number.isFinite(limit) ? `${limit}` : ""))
  const rows = Object.entries(sizes).map(([pipelines, it]) => {
    const figures = COLUMNS.map(([, limit, of, digits, isEach]) => {
      const value = isEach ? (of(it) - of(one)) / (Number(pipelines) - 1) : of(it)
      // less than one pipeline takes is the noise of the measurement
      if (isEach && !(value > 0)) return ""
      // with fewer, compilation and the first growth of the heap take most
      const isBeyond = value > limit && !(isEach && Number(pipelines) < 10_000)
      return isBeyond ? `**${value.toFixed(digits)}**` : value.toFixed(digits)
    })
    return [Number(pipelines).toLocaleString("en"), ...figures]
  })
  return markdownTable(["pipelines", ...COLUMNS.map(([head]) => head)], [["budget", ...limits], ...rows])
}
