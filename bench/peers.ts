/**
 * `npm run bench:peers`: Hookline beside what people would use instead of it. `bench/peers/README.md` says who they are;
 * with --write the figures go to docs/benchmarks.md and the pictures beside it.
 *
 * Each round starts every target of a part in turn, so that what the machine does meanwhile falls on all of them.
 */
import { parseArgs } from "node:util"
import { checkReceiver } from "./correctness.ts"
import { openBenchKafka, type BenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { measure, type Sample } from "./measure.ts"
import { findOha } from "./oha.ts"
import { partTable, writePage } from "./page.ts"
import { parts, type Part } from "./parts.ts"
import { Progress } from "./progress.ts"
import { readResults, writeResults, type PartResult } from "./results.ts"
import { soak } from "./soak.ts"
import { Lacking, type Target } from "./target.ts"
import { targetNamed, targets } from "./targets.ts"

const USAGE = `npm run bench:peers -- [options]
  --parts a,b     of ${parts.map(({ name }) => name).join(", ")}; default: all
  --targets a,b   only these, of
                  ${targets.map(({ name }) => name).join(", ")}
  --seconds N     of each measurement, default 5
  --rounds N      default 3
  --soak          ten minutes of load with the memory curve, and no part unless named
  --soak-minutes N
  --write         puts what was measured into docs/benchmarks.md; not with --targets
`

const { values: flags } = parseArgs({
  options: {
    parts: { type: "string" },
    targets: { type: "string" },
    seconds: { type: "string", default: "5" },
    rounds: { type: "string", default: "3" },
    soak: { type: "boolean", default: false },
    "soak-minutes": { type: "string", default: "10" },
    write: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
})
const seconds = Number(flags.seconds)
const rounds = Number(flags.rounds)

async function main(): Promise<void> {
  if (flags.write && flags.targets !== undefined) throw new Error(`--write is for all targets\n${USAGE}`)
  const only = flags.targets?.split(",").map((name) => targetNamed(name).name)
  const names = flags.parts?.split(",") ?? (flags.soak ? [] : parts.map(({ name }) => name))
  const chosen = names.map(partNamed).map((part) => {
    return { ...part, targets: part.targets.filter((name) => only?.includes(name) ?? true) }
  })
  const kafka = await openBenchKafka()
  if (kafka === undefined) throw new Error("there is no Kafka to be had, which all of this is about")
  try {
    const usable = await usableTargets(chosen, kafka)
    const progress = new Progress(chosen, { seconds, rounds })
    for (const part of chosen) {
      const oha = part.cases.some(({ arrivals }) => "rate" in arrivals) ? await findOha() : undefined
      if (oha !== undefined && "missing" in oha) {
        console.log(`SKIPPED: ${part.title}: ${oha.missing}`)
        continue
      }
      const result = await measurePart(part, { usable, kafka, progress })
      console.log(`\n${part.title}\n\n${partTable(part, result)}\n`)
      if (flags.write) await keep({ parts: { [part.name]: result } })
    }
    if (flags.soak) {
      const soaked = await soak(targetNamed("hookline-hmac"), {
        seconds: Number(flags["soak-minutes"]) * 60,
        kafka,
        progress: (text) => console.log(`soak, ${text}`),
      })
      const { events, p99, cpuPerEvent, memory } = soaked
      const peak = Math.max(...memory).toFixed(0)
      console.log(
        `soak: ${events} events, p99 ${p99} ms, ${cpuPerEvent.toFixed(1)} us an event, ${peak} MiB at most`,
      )
      if (flags.write) await keep({ parts: {}, soak: soaked })
    }
  } finally {
    await kafka.stop()
  }
}

async function keep(found: Awaited<ReturnType<typeof readResults>>): Promise<void> {
  const before = await readResults()
  const results = { ...before, ...found, parts: { ...before.parts, ...found.parts } }
  await writeResults(results)
  await writePage(results)
}

function partNamed(name: string): Part {
  const found = parts.find((part) => part.name === name)
  if (found === undefined) throw new Error(`there is no part ${name}\n${USAGE}`)
  return found
}

/** The targets that are here and do what is measured. What lacks something is named and left out. */
async function usableTargets(
  chosen: readonly Part[],
  kafka: BenchKafka,
): Promise<ReadonlyMap<string, Target>> {
  const usable = new Map<string, Target>()
  for (const name of new Set(chosen.flatMap((part) => part.targets))) {
    const target = targetNamed(name)
    try {
      if (target.isReceiver) {
        console.log(`checking what ${target.title} publishes`)
        await checkReceiver(target, kafka)
      }
      usable.set(name, target)
    } catch (error) {
      if (!(error instanceof Lacking)) throw error
      console.log(`SKIPPED: ${error.message}`)
    }
  }
  return usable
}

interface Surroundings {
  readonly usable: ReadonlyMap<string, Target>
  readonly kafka: BenchKafka
  readonly progress: Progress
}

async function measurePart(part: Part, { usable, kafka, progress }: Surroundings): Promise<PartResult> {
  const samples: { [target: string]: { [name: string]: Sample[] } } = {}
  for (let round = 1; round <= rounds; round++) {
    for (const name of part.targets) {
      const target = usable.get(name)
      if (target === undefined) continue
      progress.next(`${part.name}, round ${round} of ${rounds}: ${target.title}`)
      try {
        for (const [load, sample] of await measure(target, part.cases, { seconds, kafka })) {
          ;((samples[name] ??= {})[load] ??= []).push(sample)
        }
      } catch (error) {
        // The others' figures stand, and the table shows that some are missing.
        console.log(`FAILED: ${target.title}: ${(error as Error).message}`)
        process.exitCode = 1
      }
    }
  }
  return { measured: new Date().toISOString().slice(0, 10), machine: machine(), seconds, rounds, samples }
}

if (flags.help) console.log(USAGE)
else await main()
