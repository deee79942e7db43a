import { join } from "node:path"
import { MUTATIONS } from "./mutations.ts"
import { type Failure, simulate } from "./workers.ts"

/** Seeds within which each guard that is taken out has to be noticed. */
const MOST_SEEDS = 3000
const PAGE = join(import.meta.dir, "../../docs/simulation.md")
const TABLE = /(<!-- mutations -->\n)[^]*?(\n<!-- \/mutations -->)/

/**
 * Takes each guard out in turn.
 *
 * @param isCheck the table in docs/simulation.md is left as it is
 * @returns whether all were noticed
 */
export async function tryMutations(isCheck: boolean): Promise<boolean> {
  const rows: string[][] = []
  let isComplete = true
  const page = await Bun.file(PAGE).text()
  for (const { name, simulation, finding } of MUTATIONS) {
    const job = { simulation, mutation: name, finding, isMinimised: true }
    // that of the table first, so that a check takes seconds
    const known = Number(page.split(`| ${name} `)[1]?.split("|")[1] ?? 1)
    const again = await simulate({ ...job, from: known })
    const { failures } = again.failures.length > 0 ? again : await simulate({ ...job, to: 1 + MOST_SEEDS })
    const [first] = failures
    console.log(`${name}: ${first === undefined ? "NOT NOTICED" : found(first)}`)
    if (first === undefined) isComplete = false
    else
      rows.push([
        name,
        `${first.seed}`,
        `${first.violation.steps}`,
        `${first.smallest.steps.length}`,
        first.violation.what.split("\n")[0]!,
      ])
  }
  if (!isCheck && isComplete) await write(rows)
  return isComplete
}

const found = ({ seed, violation, smallest }: Failure): string =>
  `seed ${seed}, ${violation.steps} steps, ${smallest.steps.length} of the scenario: ${violation.what.split("\n")[0]}`

async function write(rows: readonly (readonly string[])[]): Promise<void> {
  const head = ["without this guard", "seed", "steps", "of the scenario", "first finding"]
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`)
  const page = await Bun.file(PAGE).text()
  await Bun.write(PAGE, page.replace(TABLE, `$1\n${lines.join("\n")}\n$2`))
}
