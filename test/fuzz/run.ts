/**
 * `npm run fuzz`: each parser that strangers reach, on mutated inputs, guided by what of the source they reach, a minute
 * each. `--seconds N` sets the time, `--target NAME` chooses, `--seed N` makes another run; `--keep` writes the corpus found
 * into test/fuzz/corpus, without inputs that others make superfluous. Exit status 1: something does not hold; the input is
 * printed in base64 and stands in test/fuzz/findings.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { corpusOf, keep, nameOf } from "./corpus.ts"
import { Coverage, instrumentSources } from "./coverage.ts"
import { fuzz } from "./fuzz.ts"
import { TARGETS } from "./targets.ts"
import { hasTestPackages } from "../support/tools.ts"

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    target: { type: "string", multiple: true },
    seed: { type: "string", default: String(Date.now() >>> 0) },
    keep: { type: "boolean", default: false },
  },
})

if (!hasTestPackages()) process.exit(1)
await instrumentSources()
const chosen = Object.entries(TARGETS).filter(([name]) => flags.target?.includes(name) ?? true)
if (chosen.length === 0) throw new Error(`--target: there is ${Object.keys(TARGETS).join(", ")}`)
for (const [, make] of chosen) {
  const target = await make()
  const before = corpusOf(target).length
  const settings = {
    seconds: Number(flags.seconds),
    seed: Number(flags.seed),
    coverage: () => new Coverage(),
  }
  const { runs, corpus, finding } = await fuzz(target, settings)
  console.log(`${target.name}: seed ${flags.seed}, ${runs} inputs, corpus ${before}, then ${corpus.length}`)
  if (finding === undefined) {
    if (flags.keep) keep(target, corpus)
    continue
  }
  process.exitCode = 1
  const folder = join(import.meta.dir, "findings")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${target.name}-${nameOf(finding.input)}`), finding.input)
  console.error(`${target.name}: ${Buffer.from(finding.input).toString("base64")}\n`, finding.error)
}
