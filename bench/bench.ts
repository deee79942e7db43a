/**
 * `npm run bench`, `bench:guard`, `bench:peers` and `bench:scale`: targets under the same load, the same bodies over the same
 * number of connections, in turn, for several rounds; tables show medians. `bench/peers/README.md` says who the peers are.
 *
 * CPU is that of the target's process tree; the load generator and Kafka have the same cores. The ratios of one run are what
 * counts: absolute figures move with the machine. Exit status 1: a target failed, or is beyond a limit of the guard.
 */
import { guarded, isMissed, linesTable, sizesTable } from "./budget.ts"
import { checkReceiver } from "./correctness.ts"
import { readFlags } from "./flags.ts"
import { openBenchKafka, type BenchKafka } from "./kafka.ts"
import { OHA } from "./load.ts"
import { measureInTurn, withTarget } from "./measure.ts"
import { keep, soakText } from "./page.ts"
import { closed, otherParts, pageParts, type Part } from "./parts.ts"
import { build } from "./peer.ts"
import { residentMiB } from "./process.ts"
import { hereAndNow, machine, type Results, type SoakResult } from "./results.ts"
import { measureReloads, measureScrapes, measureSizes, measureStarts } from "./scale.ts"
import { sampleTable } from "./table.ts"
import { Lacking, type Target } from "./target.ts"
import { targetNamed } from "./targets.ts"

const flags = readFlags({
  parts: "detail",
  targets: "",
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

/** What is no load on targets in turn. */
const OTHERS: { readonly [part: string]: (kafka: BenchKafka | undefined) => Promise<Found> } = {
  reload: async () => ({ text: await measureReloads(scale) }),
  metrics: async () => ({ text: await measureScrapes(scale) }),
  start: async () => ({ text: await measureStarts(scale) }),
  async sizes() {
    const sizes = await measureSizes(flags.sizes.split(",").map(Number), scale)
    return { text: sizesTable(sizes), results: { sizes: { ...hereAndNow(), rounds, sizes } } }
  },
  async soak(kafka) {
    if (kafka === undefined) throw new Lacking("there is no Kafka")
    const found = await soak(flags.minutes * 60, kafka)
    return { text: soakText(found), results: { soak: found } }
  },
}

const USAGE = `npm run bench -- [options]
  --parts a,b     default: detail; of
${parts.map(({ name, title }) => `                  ${name.padEnd(14)}${title}`).join("\n")}
                  reload        the longest request and turn of the event loop during reloads, the embedded log
                  metrics       the same while /metrics is read, and its size
                  start         from the start of the process to the first event
                  sizes         memory, start, check, reload and metrics of each number of pipelines in --sizes
                  soak          load for --minutes, default 10, with the curve of memory
  --targets a,b   only these of a part
  --seconds N     of each measurement; default 5
  --rounds N      default 5
  --pipelines N   where many are measured, default 2000
  --delay N       milliseconds between Hookline and Kafka, each way; default 0
  --write         puts what was measured into docs/benchmarks.md, where it shows it; not with --targets
BENCH_CHECKOUT=folder measures the Hookline there instead of this one.
`

async function main(): Promise<void> {
  if (flags.write && flags.targets !== "") throw new Error(`--write is for all targets\n${USAGE}`)
  const names = flags.parts.split(",")
  const unknown = names.find((name) => !(name in OTHERS) && !parts.some((part) => part.name === name))
  if (unknown !== undefined) throw new Error(`there is no part ${unknown}\n${USAGE}`)
  const only = flags.targets.split(",").filter((name) => name !== "")
  only.forEach(targetNamed)
  const chosen = parts
    .filter(({ name }) => names.includes(name))
    .map((part) => ({
      ...part,
      targets: part.targets.filter(({ name }) => only.length === 0 || only.includes(name)),
    }))
  const needsKafka = names.includes("soak") || chosen.some((part) => part.targets.some((it) => it.onKafka))
  await using kafka = needsKafka ? await openBenchKafka({ delayMs: flags.delay }) : undefined
  console.log(`${machine()}, medians of ${rounds} rounds of ${seconds} s`)
  const usable = await usableTargets(chosen, kafka)
  for (const name of names) {
    const part = chosen.find((one) => one.name === name)
    console.log(`\n${part?.title ?? name}`)
    try {
      const { text, results } = await (part === undefined
        ? OTHERS[name]!(kafka)
        : measurePart(part, usable, kafka))
      console.log(`\n${text}\n`)
      if (flags.write && results !== undefined) await keep(results)
    } catch (error) {
      if (!(error instanceof Lacking)) throw error
      console.log(`SKIPPED: ${name}: ${error.message}`)
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
  if (part.name === "guard") {
    const lines = guarded(samples)
    if (lines.some(isMissed)) process.exitCode = 1
    return { text: `${table}\n\n${linesTable(lines)}` }
  }
  if (!pageParts.some(({ name }) => name === part.name)) return { text: table }
  return { text: table, results: { parts: { [part.name]: { ...hereAndNow(), seconds, rounds, samples } } } }
}

const [TARGET, CONNECTIONS, EVERY_S] = ["hookline-hmac", 64, 5] as const

/**
 * Keeps a target under as much load as it takes, and watches its memory.
 *
 * @throws Error when fewer records reached the topic than requests were answered
 */
function soak(seconds: number, kafka: BenchKafka): Promise<SoakResult> {
  return withTarget(targetNamed(TARGET), kafka, async ({ pid }, run) => {
    const memory = [residentMiB(pid)]
    const watch = setInterval(() => {
      memory.push(residentMiB(pid))
      const minute = (memory.length - 1) * EVERY_S
      if (minute % 60 === 0) console.log(`soak, ${minute / 60} min: ${memory.at(-1)!.toFixed(0)} MiB`)
    }, EVERY_S * 1000)
    try {
      const { requests: events, p99, cpuPerEvent } = await run(closed(CONNECTIONS), seconds)
      const how = { target: TARGET, connections: CONNECTIONS, seconds, everySeconds: EVERY_S }
      return { ...hereAndNow(), ...how, events, p99, cpuPerEvent, memory }
    } finally {
      clearInterval(watch)
    }
  })
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
