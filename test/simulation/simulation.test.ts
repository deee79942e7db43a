import { readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "bun:test"
import { canModelDisks } from "../support/disk-model.ts"
import type { Scenario } from "./simulation.ts"
import { simulate } from "./workers.ts"

/** How many seeds of each, and how many are run twice. */
const SIMULATIONS = [
  ["kafka", 200, 10],
  ["log", 40, 5],
  ["spool", 40, 5],
  ["dedupe", 20, 3],
  ["service", 5, 2],
  ["reconcile", 20, 3],
  ["forward", 40, 5],
] as const
// with CI set, a missing compiler is an error
const RUN = SIMULATIONS.filter(([name]) => name === "kafka" || Boolean(process.env.CI) || canModelDisks())
const REGRESSIONS = join(import.meta.dir, "regressions")

test.each(RUN)(
  "%s: %i seeds break no promise",
  async (simulation, seeds) => {
    const { runs, failures } = await simulate({ simulation, to: 1 + seeds, isMinimised: true })
    expect(failures.map(({ seed, history }) => `seed ${seed}\n${history}`)).toEqual([])
    expect(runs).toBe(seeds)
  },
  120_000,
)

test.each(RUN)(
  "%s: a seed has the same history each time",
  async (simulation, _, seeds) => {
    const runs = async (): Promise<string[]> => {
      const { told } = await simulate({ simulation, from: 5, to: 5 + seeds, isTold: true }, 1)
      return told.map(({ seed, hash }) => `${seed} ${hash}`)
    }
    const first = await runs()
    expect(new Set(first).size).toBe(seeds)
    expect(await runs()).toEqual(first)
  },
  120_000,
)

describe("what failed once does not any more", () => {
  for (const name of readdirSync(REGRESSIONS).filter((file) =>
    RUN.some(([simulation]) => file.startsWith(`${simulation}-`)),
  ))
    test(name, async () => {
      const scenario = (await Bun.file(join(REGRESSIONS, name)).json()) as Scenario
      const { failures } = await simulate({ simulation: scenario.simulation, scenario })
      expect(failures.map(({ history }) => history)).toEqual([])
    })
})
