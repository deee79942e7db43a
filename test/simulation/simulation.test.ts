import { readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "bun:test"
import { cases } from "../support/cases.ts"
import { canModelDisks } from "../support/disk-model.ts"
import type { Scenario } from "./simulation.ts"
import { simulate } from "./workers.ts"

/** How many seeds of each: 200 in all, and so 20 where not all cases are wanted; CI runs 3,000 by `npm run simulate`. */
const SIMULATIONS = [
  ["kafka", cases(80)],
  ["log", cases(30)],
  ["spool", cases(30)],
  ["dedupe", cases(20)],
  ["service", cases(10)],
  ["reconcile", cases(10)],
  ["forward", cases(20)],
] as const
// with CI set, a missing compiler is an error
const RUN = SIMULATIONS.filter(([name]) => name === "kafka" || Boolean(process.env.CI) || canModelDisks())
const REGRESSIONS = join(import.meta.dir, "regressions")

test("the first seeds of each simulation break no promise, and have the same history in another process", async () => {
  const job = { each: RUN, isMinimised: true, isTold: true }
  const [{ runs, failures, told }, again] = await Promise.all([simulate(job), simulate(job)])
  expect(
    failures.map(({ smallest, seed, history }) => `${smallest.simulation}, seed ${seed}\n${history}`),
  ).toEqual([])
  expect(runs).toBe(RUN.reduce((sum, [, seeds]) => sum + seeds, 0))
  const hashes = told.map(({ simulation, seed, hash }) => `${simulation} ${seed} ${hash}`)
  expect(new Set(hashes).size).toBe(runs)
  expect(again.told.map(({ simulation, seed, hash }) => `${simulation} ${seed} ${hash}`)).toEqual(hashes)
})

test("what failed once does not any more", async () => {
  const files = readdirSync(REGRESSIONS).filter((file) => RUN.some(([name]) => file.startsWith(`${name}-`)))
  const kept = files.map((name) => Bun.file(join(REGRESSIONS, name)).json() as Promise<Scenario>)
  const { runs, failures } = await simulate({ scenarios: await Promise.all(kept) })
  expect(
    failures.map(({ smallest, history }) => `${smallest.simulation}, seed ${smallest.seed}\n${history}`),
  ).toEqual([])
  expect(runs).toBe(files.length)
})
