/**
 * `npm run bench`, `bench:guard`, `bench:peers` and `bench:scale`: targets under the same load, the same bodies over the same
 * number of connections, in turn, for several rounds; tables show medians. `bench/peers/README.md` says who the peers are.
 *
 * CPU is that of the target's process tree; the load generator and Kafka have the same cores. The ratios of one run are what
 * counts: absolute figures move with the machine. Exit status 1: a target failed, or is beyond a limit of the guard.
 */
import { guard, sizesTable } from "./budget.ts"
import { checkReceiver } from "./correctness.ts"
import { readFlags } from "./flags.ts"
import { openBenchKafka, type BenchKafka } from "./kafka.ts"
import { OHA } from "./load.ts"
import { measureInTurn } from "./measure.ts"
import { keep } from "./page.ts"
import { otherParts, pageParts, type Part } from "./parts.ts"
import { build } from "./peer.ts"
import { hereAndNow, machine, type Results } from "./results.ts"
import { measureReloads, measureScrapes, measureSizes, measureStarts } from "./scale.ts"
import { soak } from "./soak.ts"
import { markdownTable, sampleTable } from "./table.ts"
import { Lacking, type Target } from "./target.ts"
import { targetNamed } from "./targets.ts"

const flags = readFlags({
  parts: "detail",
  targets: undefined,
  seconds: 5,
  rounds: 5,
  minutes: 10,
  pipelines: 2000,
  sizes: "1,100,1000,10000,50000",
  delay: 0,
  write: false,
  help: false,
})
const { seconds, rounds } = flags
const scale = { pipelines: flags.pipelines, seconds, rounds }
const parts = [...pageParts, ...otherParts(flags.pipelines)]

interface Found {
  readonly text: string
  /** What of it docs/benchmarks.md shows. */
  readonly results?: Partial<Results>
}

/** What is not a load on targets in turn: what it measures, and how. */
const OTHERS: {
  readonly [part: string]: readonly [title: string, run: (kafka: BenchKafka | undefined) => Promise<Found>]
} = {
  reload: [
    "the longest request and turn of the event loop during reloads, the embedded log",
    async () => ({ text: await measureReloads(scale) }),
  ],
  metrics: [
    "the size of /metrics, and the same while it is read",
    async () => ({ text: await measureScrapes(scale) }),
  ],
  start: [
    "from the start of the process to the first event",
    async () => ({ text: await measureStarts(scale) }),
  ],
  sizes: [
    "memory, start, check, reload and metrics of each number of pipelines in --sizes",
    async () => {
      const sizes = await measureSizes(flags.sizes.split(",").map(Number), scale)
      return {
        text: markdownTable(...sizesTable(sizes)),
        results: { sizes: { ...hereAndNow(), rounds, sizes } },
      }
    },
  ],
  soak: [
    "load for --minutes with the curve of memory",
    async (kafka) => {
      const soaked = await soak(flags.minutes * 60, required(kafka))
      const { events, p99, cpuPerEvent, memory } = soaked
      const peak = Math.max(...memory).toFixed(0)
      return {
        text: `${events} events, p99 ${p99} ms, ${cpuPerEvent.toFixed(1)} µs an event, ${peak} MiB at most`,
        results: { soak: soaked },
      }
    },
  ],
}

const USAGE = `npm run bench -- [options]
  --parts a,b     default: detail; of
${[...parts.map(({ name, title }) => [name, title]), ...Object.entries(OTHERS).map(([name, [title]]) => [name, title])].map(([name, title]) => `                  ${name!.padEnd(14)}${title}`).join("\n")}
  --targets a,b   only these of a part
  --seconds N     of each measurement; default 5
  --rounds N      default 5
  --minutes N     of the soak, default 10
  --pipelines N   where many are measured, default 2000; --sizes a,b of the part "sizes"
  --delay N       milliseconds between Hookline and Kafka, each way; default 0
  --write         puts what was measured into docs/benchmarks.md, where it shows it; not with --targets
BENCH_CHECKOUT=folder measures the Hookline there instead of this one.
`

function required(kafka: BenchKafka | undefined): BenchKafka {
  if (kafka === undefined) throw new Error("there is no Kafka to be had")
  return kafka
}

async function main(): Promise<void> {
  if (flags.write && flags.targets !== undefined) throw new Error(`--write is for all targets\n${USAGE}`)
  const names = flags.parts.split(",")
  const unknown = names.find((name) => !(name in OTHERS) && !parts.some((part) => part.name === name))
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}\n${USAGE}`)
  const only = flags.targets?.split(",").map((name) => targetNamed(name).name)
  const chosen = parts
    .filter(({ name }) => names.includes(name))
    .map((part) => ({ ...part, targets: part.targets.filter(({ name }) => only?.includes(name) ?? true) }))
  const needsKafka = names.includes("soak") || chosen.some((part) => part.targets.some((it) => it.onKafka))
  await using kafka = needsKafka ? await openBenchKafka({ delayMs: flags.delay }) : undefined
  const usable = await usableTargets(chosen, kafka)
  for (const name of names) {
    const part = chosen.find((one) => one.name === name)
    const title = part?.title ?? OTHERS[name]![0]
    console.log(`\n${title}`)
    try {
      const { text, results } = await (part === undefined
        ? OTHERS[name]![1](kafka)
        : measurePart(part, usable, kafka))
      console.log(`\n${machine()}, medians of ${rounds} rounds of ${seconds} s\n\n${text}\n`)
      if (flags.write && results !== undefined) await keep(results)
    } catch (error) {
      if (!(error instanceof Lacking)) throw error
      console.log(`SKIPPED: ${title}: ${error.message}`)
    }
  }
}

/** @throws Lacking when there is no load generator for it */
async function measurePart(
  part: Part,
  usable: ReadonlySet<Target>,
  kafka: BenchKafka | undefined,
): Promise<Found> {
  if (part.cases.some(({ arrivals }) => "rate" in arrivals)) await build("oha", OHA)
  const targets = part.targets.filter((target) => usable.has(target))
  const samples = await measureInTurn(targets, part.cases, { rounds, seconds, kafka })
  const table = sampleTable(part, samples)
  const text = part.name === "guard" ? `${table}\n\n${guard(samples)}` : table
  if (!pageParts.some(({ name }) => name === part.name)) return { text }
  return { text, results: { parts: { [part.name]: { ...hereAndNow(), seconds, rounds, samples } } } }
}

/** The targets that are here and do what is measured. What lacks something is named and left out. */
async function usableTargets(
  chosen: readonly Part[],
  kafka: BenchKafka | undefined,
): Promise<ReadonlySet<Target>> {
  const usable = new Set<Target>()
  for (const target of new Set(chosen.flatMap((part) => part.targets))) {
    try {
      if (target.onKafka && kafka === undefined) throw new Lacking(`${target.title}: there is no Kafka`)
      if (target.isReceiver) {
        console.log(`checking what ${target.title} publishes`)
        await checkReceiver(target, kafka!)
      }
      usable.add(target)
    } catch (error) {
      if (!(error instanceof Lacking)) throw error
      console.log(`SKIPPED: ${error.message}`)
    }
  }
  return usable
}

if (flags.help) console.log(USAGE)
else await main()
