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
import { CPU_TO_BARE, EMBEDDED_TO_BARE } from "./budget.ts"
import { readFlags } from "./flags.ts"
import { hookline } from "./hookline.ts"
import { openBenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import type { Sample } from "./measure.ts"
import { median, ratios } from "./median.ts"
import { closed } from "./parts.ts"
import { measureInTurn, type Samples } from "./rounds.ts"
import { figure, markdownTable, ratio, rowsOf, sampleTable, TITLE, type Column } from "./table.ts"
import type { Target } from "./target.ts"
import { targetNamed } from "./targets.ts"

const { seconds, ...flags } = readFlags({
  workers: false,
  guard: false,
  seconds: 5,
  rounds: undefined,
  connections: undefined,
  delay: undefined,
})
const rounds = Number(flags.rounds ?? (flags.guard ? 7 : 5))
const connections = Number(flags.connections ?? (flags.workers ? 1000 : 64))
const delayMs = Number(flags.delay ?? (flags.workers ? 2 : 0))
const load = closed(connections)

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

const COLUMNS: readonly Column[] = [
  TITLE,
  figure("req/s", (it) => it.perSecond, 0),
  ratio("ratio", (it, base) => it.perSecond / base.perSecond),
  figure("p50 ms", (it) => it.p50, 2),
  figure("p99 ms", (it) => it.p99, 2),
  figure("CPU us/event", (it) => it.cpuPerEvent, 1),
  ratio("ratio", (it, base) => it.cpuPerEvent / base.cpuPerEvent),
  figure("cores", (it) => (it.perSecond * it.cpuPerEvent) / 1e6, 2),
  figure("Kafka's cores", (it) => (it.perSecond * it.brokerCpuPerEvent) / 1e6, 2),
  figure("peak MiB", (it) => it.peak, 0),
]

async function main(): Promise<void> {
  await using kafka = await openBenchKafka({ delayMs })
  const groups = GROUPS.map((group) => group.filter(({ onKafka }) => !onKafka || kafka !== undefined))
  const how = { rounds, seconds, kafka }
  const samples = await measureInTurn(groups.flat(), [load], how)
  const rows = groups.flatMap((group) =>
    group.length === 0 ? [] : rowsOf(group, group[0]!, load.name, samples),
  )
  const away = delayMs === 0 ? "" : `, Kafka ${delayMs} ms away each way`
  console.log(
    `\n${machine()}, ${connections} connections, 1.1 KB bodies${away}, medians of ${rounds} rounds of ${seconds} s\n`,
  )
  console.log(sampleTable(COLUMNS, rows))
  if (flags.guard) guard(samples)
}

/** What is held to its limit is the median of the rounds' ratios, so that what the machine did meanwhile falls out. */
function guard(samples: Samples): void {
  const rows = GUARDED.flatMap(({ target, what, figure: of, budget, bound, today, margin }) => {
    const [ours, bare] = [target, "bare"].map((name) => samples[name]?.[load.name])
    if (ours === undefined || bare === undefined) return []
    const found = ratios(ours, bare, of)
    const limit = today * (bound === "at most" ? 1 + margin : 1 - margin)
    const holds = bound === "at most" ? median(found) <= limit : median(found) >= limit
    if (!holds) process.exitCode = 1
    const figures = [median(found), Math.min(...found), Math.max(...found)].map((it) => it.toFixed(2))
    const allowed = `${bound} ${limit.toFixed(2)}: ${today} of today and ${margin * 100} % for noise`
    return [[what, ...figures, `${bound} ${budget}`, allowed, holds ? "holds" : "**BEYOND**"]]
  })
  const head = ["beside the bare server", "median", "least", "most", "budget", "limit here", ""]
  console.log(`\n${markdownTable(head, rows)}`)
}

await main()
