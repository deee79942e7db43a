/**
 * `npm run bench:peers`: Hookline beside what people would use instead of it. `bench/peers/README.md` says who they are;
 * with --write the figures go to docs/benchmarks.md and the pictures beside it.
 */
import { checkReceiver } from "./correctness.ts"
import { readFlags } from "./flags.ts"
import { openBenchKafka, type BenchKafka } from "./kafka.ts"
import { machine } from "./machine.ts"
import { findOha } from "./oha.ts"
import { keep, partTable } from "./page.ts"
import { parts, type Part } from "./parts.ts"
import { today } from "./results.ts"
import { measureInTurn } from "./rounds.ts"
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

const flags = readFlags({
  parts: undefined,
  targets: undefined,
  seconds: 5,
  rounds: 3,
  soak: false,
  "soak-minutes": 10,
  write: false,
  help: false,
})
const { seconds, rounds } = flags

async function main(): Promise<void> {
  if (flags.write && flags.targets !== undefined) throw new Error(`--write is for all targets\n${USAGE}`)
  const only = flags.targets?.split(",").map((name) => targetNamed(name).name)
  const names = flags.parts?.split(",") ?? (flags.soak ? [] : parts.map(({ name }) => name))
  const chosen = names.map(partNamed).map((part) => {
    return { ...part, targets: part.targets.filter((name) => only?.includes(name) ?? true) }
  })
  await using kafka = await openBenchKafka()
  if (kafka === undefined) throw new Error("there is no Kafka to be had, which all of this is about")
  const usable = await usableTargets(chosen, kafka)
  for (const part of chosen) {
    const oha = part.cases.some(({ arrivals }) => "rate" in arrivals) ? await findOha() : undefined
    if (oha !== undefined && "missing" in oha) {
      console.log(`SKIPPED: ${part.title}: ${oha.missing}`)
      continue
    }
    console.log(`\n${part.title}`)
    const inTurn = part.targets.flatMap((name) => usable.get(name) ?? [])
    const samples = await measureInTurn(inTurn, part.cases, { rounds, seconds, kafka })
    const result = { measured: today(), machine: machine(), seconds, rounds, samples }
    console.log(`\n${partTable(part, result)}\n`)
    if (flags.write) await keep({ parts: { [part.name]: result } })
  }
  if (flags.soak) {
    const soaked = await soak(targetNamed("hookline-hmac"), flags["soak-minutes"] * 60, kafka)
    const { events, p99, cpuPerEvent, memory } = soaked
    const peak = Math.max(...memory).toFixed(0)
    console.log(
      `soak: ${events} events, p99 ${p99} ms, ${cpuPerEvent.toFixed(1)} us an event, ${peak} MiB at most`,
    )
    if (flags.write) await keep({ soak: soaked })
  }
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

if (flags.help) console.log(USAGE)
else await main()
