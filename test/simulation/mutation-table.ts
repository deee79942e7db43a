import { availableParallelism } from "node:os"
import { join } from "node:path"
import type { Mutation } from "./mutation.ts"
import { MUTATIONS } from "./mutations.ts"
import { type Failure, simulate } from "./workers.ts"

/** Seeds within which each guard that is taken out has to be noticed. */
const MOST_SEEDS = 3000
const PAGE = join(import.meta.dir, "../../docs/simulation.md")
const TABLE = /(<!-- mutations -->\n)[^]*?(\n<!-- \/mutations -->)/

/**
 * Takes each guard out in turn, as many at a time as there are processors.
 *
 * @param isCheck the table in docs/simulation.md is left as it is
 * @returns whether all were noticed
 */
export async function tryMutations(isCheck: boolean): Promise<boolean> {
  const page = await Bun.file(PAGE).text()
  const failures = new Map<Mutation, Failure>()
  const left = [...MUTATIONS]
  const next = async (): Promise<void> => {
    const mutation = left.shift()
    if (mutation === undefined) return
    const failure = await firstFailure(mutation, page)
    console.log(`${mutation.name}: ${failure === undefined ? "NOT NOTICED" : found(failure)}`)
    if (failure !== undefined) failures.set(mutation, failure)
    return next()
  }
  await Promise.all(Array.from({ length: availableParallelism() }, next))
  const isComplete = failures.size === MUTATIONS.length
  if (!isCheck && isComplete) await write(page, failures)
  return isComplete
}

async function firstFailure(
  { name, simulation, finding }: Mutation,
  page: string,
): Promise<Failure | undefined> {
  const job = { simulation, mutation: name, finding, isMinimised: true }
  // that of the table first, so that a check takes seconds
  const known = Number(page.split(`| ${name} `)[1]?.split("|")[1] ?? 1)
  const again = await simulate({ ...job, from: known }, 1)
  const { failures } = again.failures.length > 0 ? again : await simulate({ ...job, to: 1 + MOST_SEEDS }, 1)
  return failures[0]
}

const found = ({ seed, violation, smallest }: Failure): string =>
  `seed ${seed}, ${violation.steps} steps, ${smallest.steps.length} of the scenario: ${violation.what.split("\n")[0]}`

async function write(page: string, failures: ReadonlyMap<Mutation, Failure>): Promise<void> {
  const head = ["without this guard", "seed", "steps", "of the scenario", "finding"]
  const rows = MUTATIONS.map((mutation) => {
    const { seed, violation, smallest } = failures.get(mutation)!
    return [mutation.name, seed, violation.steps, smallest.steps.length, violation.what.split("\n")[0]]
  })
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`)
  await Bun.write(PAGE, page.replace(TABLE, `$1\n${lines.join("\n")}\n$2`))
}
