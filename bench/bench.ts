/**
 * `npm run bench`: what a pipeline costs beside a bare `Bun.serve` that reads the body and answers 200.
 *
 * With `--workers`, what a second worker brings, and what it costs, on a Kafka some milliseconds away: with many connections,
 * or the way to Kafka and back would be what is measured.
 *
 * With `--guard` (`npm run bench:guard`), whether Hookline still costs no more beside the bare server than it may; run before a
 * release. Exit status 1: beyond a limit.
 *
 * Each target gets the same body over the same number of connections, in turn, for several rounds; the table shows medians.
 * CPU is that of the target's process tree; the load generator and Kafka have the same cores. The ratios of one run, to the
 * first target of each group, are what counts: absolute figures move with the machine. `--seconds N` and `--rounds N` set the
 * length, `--connections N` the load, `--delay MILLISECONDS` the way to Kafka.
 */
import { parseArgs } from "node:util"
import { CPU_TO_BARE, EMBEDDED_TO_BARE } from "./budget.ts"
import { hookline } from "./hookline.ts"
import { openBenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import type { Sample } from "./measure.ts"
import { median, medianSample } from "./median.ts"
import { measureInTurn } from "./rounds.ts"
import { markdownTable } from "./table.ts"
import type { Target } from "./target.ts"
import { targetNamed } from "./targets.ts"

const { values: flags } = parseArgs({
  options: {
    workers: { type: "boolean", default: false },
    guard: { type: "boolean", default: false },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string" },
    connections: { type: "string" },
    delay: { type: "string" },
  },
})
const seconds = Number(flags.seconds)
const rounds = Number(flags.rounds ?? (flags.guard ? 7 : 5))
const connections = Number(flags.connections ?? (flags.workers ? 1000 : 64))
const delayMs = Number(flags.delay ?? (flags.workers ? 2 : 0))

const workers = (count: number, hmac: boolean): Target =>
  hookline({
    name: `${hmac} ${count}`,
    title: `Kafka${hmac ? ", HMAC" : ""}, ${count} ${count === 1 ? "worker" : "workers"}`,
    log: "kafka",
    hmac,
    workers: count,
  })

/** The first target of each group is what the others are compared with. */
const GROUPS: readonly (readonly Target[])[] = flags.workers
  ? [false, true].map((hmac) => [workers(1, hmac), workers(2, hmac)])
  : [
      (flags.guard
        ? ["bare", "embedded", "hookline-hmac"]
        : ["bare", "embedded", "embedded-hmac", "hookline", "hookline-hmac"]
      ).map(targetNamed),
    ]

interface Guarded {
  readonly target: string
  readonly what: string
  readonly figure: (sample: Sample) => number
  /** What is allowed beside the bare server, and on which side of it. */
  readonly budget: number
  readonly bound: "at most" | "at least"
  /** The ratio that was measured where it does not meet the budget yet, which is then what is held. */
  readonly today: number
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

const HEAD = [
  "target",
  "req/s",
  "ratio",
  "p50 ms",
  "p99 ms",
  "CPU us/event",
  "ratio",
  "cores",
  "Kafka's cores",
  "peak MiB",
]

async function main(): Promise<void> {
  const kafka = await openBenchKafka({ delayMs })
  const groups = GROUPS.map((group) => group.filter(({ onKafka }) => !onKafka || kafka !== undefined))
  const load = { name: "load", arrivals: { connections }, body: "1.1 KB" } as const
  const runs = await measureInTurn(groups.flat(), load, { rounds, seconds, kafka }).finally(() =>
    kafka?.stop(),
  )
  const medianOf = ({ name }: Target): Sample => medianSample(runs.get(name)!)
  const rows = groups.flatMap((group) => group.map((it) => row(it, medianOf(it), medianOf(group[0]!))))
  const away = delayMs === 0 ? "" : `, Kafka ${delayMs} ms away each way`
  console.log(
    `\n${machine()}, ${connections} connections, 1.1 KB bodies${away}, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  console.log(markdownTable(HEAD, rows))
  if (flags.guard) guard(runs)
}

/** What is held to its limit is the median of the rounds' ratios, so that what the machine did meanwhile falls out. */
function guard(runs: ReadonlyMap<string, readonly Sample[]>): void {
  const measured = GUARDED.filter(({ target }) => runs.has(target))
  const rows = measured.map(({ target, what, figure, budget, bound, today, margin }) => {
    const ratios = runs.get(target)!.map((it, round) => figure(it) / figure(runs.get("bare")![round]!))
    const limit = today * (bound === "at most" ? 1 + margin : 1 - margin)
    const holds = bound === "at most" ? median(ratios) <= limit : median(ratios) >= limit
    if (!holds) process.exitCode = 1
    const figures = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((it) => it.toFixed(2))
    const allowed = `${bound} ${limit.toFixed(2)}: ${today} of today and ${margin * 100} % for noise`
    return [what, ...figures, `${bound} ${budget}`, allowed, holds ? "holds" : "**BEYOND**"]
  })
  const head = ["beside the bare server", "median", "least", "most", "budget", "limit here", ""]
  console.log(`\n${markdownTable(head, rows)}`)
}

function row({ title }: Target, it: Sample, base: Sample): string[] {
  const cores = (cpuPerEvent: number): string => ((it.perSecond * cpuPerEvent) / 1e6).toFixed(2)
  return [
    title,
    it.perSecond.toFixed(0),
    (it.perSecond / base.perSecond).toFixed(2),
    it.p50.toFixed(2),
    it.p99.toFixed(2),
    it.cpuPerEvent.toFixed(1),
    (it.cpuPerEvent / base.cpuPerEvent).toFixed(2),
    cores(it.cpuPerEvent),
    cores(it.brokerCpuPerEvent),
    it.peak.toFixed(0),
  ]
}

await main()
