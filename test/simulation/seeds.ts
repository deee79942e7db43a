import { realTurn } from "./simulated-globals.ts"
import type { Outcome, Scenario, Simulation } from "./simulation.ts"

/** Unhandled rejections come in a turn of the real event loop, after the run that they belong to. */
const rejections: unknown[] = []
process.on("unhandledRejection", (error) => void rejections.push(error))

/** Runs a scenario. @param finding text of the only violations that count */
export async function run(simulation: Simulation, scenario: Scenario, finding = ""): Promise<Outcome> {
  const outcome = simulation.run(scenario)
  await realTurn()
  const unhandled = rejections.splice(0)
  const violations = outcome.violations.filter(({ what }) => what.includes(finding))
  if (unhandled.length === 0) return { ...outcome, violations }
  const more = unhandled.map((error) => ({
    atMs: Number.POSITIVE_INFINITY,
    steps: outcome.steps,
    what: `unhandled rejection: ${Bun.inspect(error)}`,
  }))
  return { ...outcome, violations: [...violations, ...more] }
}

/** Takes steps out of a failing scenario as long as it still fails: first many at once, then each. */
export async function minimise(
  simulation: Simulation,
  failing: Scenario,
  finding?: string,
): Promise<Scenario> {
  let scenario = failing
  const fails = async (steps: readonly unknown[]): Promise<boolean> =>
    (await run(simulation, { ...scenario, steps }, finding)).violations.length > 0
  for (
    let size = Math.ceil(scenario.steps.length / 2);
    size > 0;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let at = 0; at < scenario.steps.length;) {
      const steps = scenario.steps.toSpliced(at, size)
      if (await fails(steps)) scenario = { ...scenario, steps }
      else at += size
    }
  }
  return scenario
}
