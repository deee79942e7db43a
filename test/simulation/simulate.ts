/**
 * Simulates: `npm run simulate -- --seed 7` prints one run, `--seeds 10000` runs that many in all from the seed on (1),
 * shared by the simulations, `--mutations`
 * takes each guard out in turn and writes the table in docs/simulation.md, `--replay FILE` prints the run of a scenario
 * that was kept, `--simulation NAME` chooses one of the simulations. A failing seed is minimised, its history printed, and
 * its scenario kept in test/simulation/regressions.
 */
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { canModelDisks } from "../support/disk-model.ts"
import { tryMutations } from "./mutation-table.ts"
import type { Scenario } from "./simulation.ts"
import { type Failure, simulate } from "./workers.ts"

/** The share of all seeds that each gets: a run of the service takes as long as twenty of the producer's. */
const SHARES = {
  kafka: 0.57,
  log: 0.14,
  spool: 0.14,
  dedupe: 0.07,
  service: 0.02,
  reconcile: 0.03,
  forward: 0.03,
}

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    simulation: { type: "string" },
    mutations: { type: "boolean", default: false },
    mutation: { type: "string" },
    check: { type: "boolean", default: false },
    replay: { type: "string" },
    processes: { type: "string" },
  },
})
const shares =
  values.simulation === undefined
    ? Object.entries(SHARES).filter(([name]) => name === "kafka" || canModelDisks())
    : [[values.simulation, 1] as const]
const from = Number(values.seed ?? 1)

if (values.mutations) process.exit((await tryMutations(values.check)) ? 0 : 1)
if (values.replay !== undefined) {
  const scenario = (await Bun.file(values.replay).json()) as Scenario
  const { failures, told } = await simulate({ scenarios: [scenario], isTold: true })
  print([...failures, ...told])
  process.exit(failures.length === 0 ? 0 : 1)
}
let isFailed = false
for (const [simulation, share] of shares) {
  const startMs = performance.now()
  const seeds = Math.ceil(Number(values.seeds ?? 1) * share)
  const job = { simulation, from, to: from + seeds, mutation: values.mutation, isMinimised: true }
  const isTold = values.seeds === undefined
  const { runs, failures, told } = await simulate(
    { ...job, isTold },
    Number(values.processes ?? availableParallelism()),
  )
  print(told)
  for (const failure of failures) await report(failure)
  const s = (performance.now() - startMs) / 1000
  console.log(`${simulation}: ${runs} seeds in ${s.toFixed(1)} s, ${failures.length} failed`)
  isFailed ||= failures.length > 0
}
process.exit(isFailed ? 1 : 0)

function print(runs: readonly { seed: number; hash: string; steps: number; history: string }[]): void {
  for (const { seed, hash, steps, history } of runs)
    console.log(`${history}\nseed ${seed}: ${steps} steps, hash ${hash}\n`)
}

async function report(failure: Failure): Promise<void> {
  const { seed, violation, smallest, history } = failure
  console.log(
    `${history}\n\nseed ${seed} failed, minimised to ${smallest.steps.length} steps: ${violation.what}`,
  )
  if (values.mutation !== undefined) return
  const path = join(import.meta.dir, "regressions", `${smallest.simulation}-${seed}.json`)
  await Bun.write(path, `${JSON.stringify(smallest, undefined, 2)}\n`)
  console.log(`kept in ${path}; again: npm run simulate -- --replay ${path}\n`)
}
