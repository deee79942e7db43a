/** The process that simulates: takes a job as its argument, writes findings as lines of JSON. See workers.ts. */
import "./simulated-globals.ts"
import { MUTATIONS } from "./mutations.ts"
import { minimise, run } from "./seeds.ts"
import type { Scenario } from "./simulation.ts"
import { changeSources, SIMULATED_NETWORK, SIMULATED_UPTIME } from "./source-changes.ts"
import type { Finding, Job } from "./workers.ts"

const job = JSON.parse(process.argv[2]!) as Job
const mutated = MUTATIONS.filter(({ name }) => name === job.mutation).flatMap(({ changes }) => changes)
await changeSources([SIMULATED_NETWORK, SIMULATED_UPTIME, ...mutated])
// what is simulated is loaded from here on
const { SIMULATIONS } = await import("./simulations.ts")

const write = (line: Finding): void => console.log(JSON.stringify(line))

async function examine(scenario: Scenario): Promise<boolean> {
  const simulation = SIMULATIONS.get(scenario.simulation)!
  const outcome = await run(simulation, scenario, job.finding)
  const [violation] = outcome.violations
  if (violation === undefined) {
    if (job.isTold)
      write({
        simulation: scenario.simulation,
        seed: scenario.seed,
        hash: outcome.hash(),
        steps: outcome.steps,
        history: outcome.history(),
      })
    return false
  }
  const smallest = job.isMinimised ? await minimise(simulation, scenario, job.finding) : scenario
  const { violations, history } = job.isMinimised ? await run(simulation, smallest, job.finding) : outcome
  write({
    seed: scenario.seed,
    steps: outcome.steps,
    hash: outcome.hash(),
    violation: { ...violation, what: (violations[0] ?? violation).what },
    smallest,
    history: history(),
  })
  return true
}

function seedsOf([simulation, seeds]: readonly [simulation: string, seeds: number]): Scenario[] {
  const { scenarioOf } = SIMULATIONS.get(simulation)!
  return Array.from({ length: seeds }, (_, at) => scenarioOf(1 + at))
}

let runs = 0
let failures = 0
const scenarios = job.scenarios ?? job.each?.flatMap(seedsOf)
if (scenarios !== undefined) {
  for (const scenario of scenarios) {
    runs++
    if (await examine(scenario)) failures++
  }
} else {
  const { scenarioOf } = SIMULATIONS.get(job.simulation)!
  for (let seed = job.from; seed < job.to && failures < job.failures; seed += job.stride) {
    runs++
    if (await examine(scenarioOf(seed))) failures++
  }
}
write({ runs })
process.exit(0)
