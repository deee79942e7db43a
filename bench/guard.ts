/**
 * `npm run bench:guard`: whether Hookline still costs no more beside the bare server than it may; run before a release.
 *
 * The targets alternate in one run, and each round gives a ratio; their median is what is judged, so that what the
 * machine did meanwhile falls out. `--seconds N` and `--rounds N` set the length. Exit status 1: beyond a limit.
 */
import { parseArgs } from "node:util"
import { CPU_TO_BARE, EMBEDDED_TO_BARE } from "./budget.ts"
import { openBenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { measure, type Sample } from "./measure.ts"
import { median } from "./median.ts"
import { markdownTable } from "./table.ts"
import { targetNamed } from "./targets.ts"

interface Guarded {
  readonly target: string
  readonly what: string
  readonly figure: (sample: Sample) => number
  /** What is allowed beside the bare server, and on which side of it. */
  readonly budget: number
  readonly bound: "at most" | "at least"
  /** The ratio that was measured where it does not meet the budget yet, which is then what is held. */
  readonly today?: number
  /** For noise: by so much of the limit the medians of runs on an unchanged tree lay apart, about. */
  readonly margin: number
}

const GUARDED: readonly Guarded[] = [
  {
    target: "hookline-hmac",
    what: "Kafka, all on with HMAC: CPU an event",
    figure: ({ cpuPerEvent }) => cpuPerEvent,
    budget: CPU_TO_BARE,
    bound: "at most",
    // On a quiet machine; 2.6 on a busy one.
    today: 2.3,
    margin: 0.1,
  },
  {
    target: "embedded",
    what: "embedded log: throughput",
    figure: ({ perSecond }) => perSecond,
    budget: EMBEDDED_TO_BARE,
    bound: "at least",
    // On a quiet machine; 0.26 on a busy one, where the fsyncs of others count.
    today: 0.4,
    margin: 0.25,
  },
]

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "7" },
  },
})

async function main(): Promise<void> {
  const seconds = Number(flags.seconds)
  const rounds = Number(flags.rounds)
  const kafka = await openBenchKafka()
  const guarded = GUARDED.filter(({ target }) => kafka !== undefined || !targetNamed(target).onKafka)
  const load = { name: "load", arrivals: { connections: 64 }, body: "1.1 KB" } as const
  const sample = async (name: string): Promise<Sample> =>
    (await measure(targetNamed(name), [load], { seconds, kafka })).get("load")!
  const ratios = new Map<Guarded, number[]>(guarded.map((one) => [one, []]))
  try {
    for (let round = 1; round <= rounds; round++) {
      console.log(`round ${round} of ${rounds}`)
      const bare = await sample("bare")
      for (const one of guarded) {
        ratios.get(one)!.push(one.figure(await sample(one.target)) / one.figure(bare))
      }
    }
  } finally {
    await kafka?.stop()
  }
  const verdicts = guarded.map((one) => judge(one, ratios.get(one)!))
  console.log(`\n${machine()}, 64 connections, 1.1 KB bodies, medians of ${rounds} rounds of ${seconds} s\n`)
  const head = ["beside the bare server", "median", "least", "most", "budget", "limit here", ""]
  console.log(
    markdownTable(
      head,
      verdicts.map(({ row }) => row),
    ),
  )
  if (verdicts.some(({ holds }) => !holds)) process.exitCode = 1
}

function judge(
  { what, budget, bound, today, margin }: Guarded,
  ratios: readonly number[],
): { row: string[]; holds: boolean } {
  const ratio = median(ratios)
  const base = today ?? budget
  const limit = bound === "at most" ? base * (1 + margin) : base * (1 - margin)
  const holds = bound === "at most" ? ratio <= limit : ratio >= limit
  const origin = today === undefined ? "the budget" : `${today} of today`
  const sides = [ratio, Math.min(...ratios), Math.max(...ratios)].map((it) => it.toFixed(2))
  const allowed = `${bound} ${limit.toFixed(2)}: ${origin} and ${margin * 100} % for noise`
  return { row: [what, ...sides, `${bound} ${budget}`, allowed, holds ? "holds" : "**BEYOND**"], holds }
}

await main()
