import { readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "bun:test"
import type { Scenario } from "./simulation.ts"
import { simulate } from "./workers.ts"

const SEEDS = 300
const REGRESSIONS = join(import.meta.dir, "regressions")

test(`kafka: ${SEEDS} seeds break no promise`, async () => {
  const { runs, failures } = await simulate({ simulation: "kafka", to: 1 + SEEDS, isMinimised: true })
  expect(failures.map(({ seed, history }) => `seed ${seed}\n${history}`)).toEqual([])
  expect(runs).toBe(SEEDS)
}, 120_000)

test("kafka: a seed has the same history each time", async () => {
  const runs = async (): Promise<string[]> => {
    const { told } = await simulate({ simulation: "kafka", from: 5, to: 15, isTold: true }, 1)
    return told.map(({ seed, hash }) => `${seed} ${hash}`)
  }
  const first = await runs()
  expect(new Set(first).size).toBe(10)
  expect(await runs()).toEqual(first)
}, 60_000)

describe("what failed once does not any more", () => {
  for (const name of readdirSync(REGRESSIONS).filter((file) => file.endsWith(".json")))
    test(
      name,
      async () => {
        const scenario = (await Bun.file(join(REGRESSIONS, name)).json()) as Scenario
        const { failures } = await simulate({ simulation: scenario.simulation, scenario })
        expect(failures.map(({ history }) => history)).toEqual([])
      },
      30_000,
    )
})
