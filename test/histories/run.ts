/**
 * `npm run test:histories`: Hookline on a real cluster under load, with random faults, for `--minutes N` (3 unless given);
 * then its history is checked for the anomalies of Jepsen's Kafka workload. `--seed N` decides on the faults and their
 * times, `--rate N` how many events a second there are, `--folder PATH` where the history is kept; `--write` puts the
 * outcome into docs/reliability.md; `--check FILE` checks a history that was kept. Exit status 1: an anomaly was found.
 * Needs root, for the network between the machines, iptables, iproute2, kcat and what a Kafka takes.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { cpus, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { endingWithThisProcess } from "../support/child.ts"
import { canStartKafka } from "../support/kafka.ts"
import { hasKcat } from "../support/kcat.ts"
import { HistoryChecker } from "./check.ts"
import { makeHistory } from "./histories.ts"
import { readHistory, type Run } from "./history.ts"
import { hasOwnNetwork, inOwnNetwork } from "./network.ts"
import { describeRun, factsOf, isRight } from "./verdict.ts"

const PAGE = join(import.meta.dir, "../../docs/reliability.md")
const BEGIN = "<!-- the history: npm run test:histories -- --write -->\n"
const END = "<!-- end of the history -->\n"

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    rate: { type: "string", default: "200" },
    folder: { type: "string" },
    write: { type: "boolean", default: false },
    check: { type: "string" },
  },
})
const run = { seed: Number(flags.seed), minutes: Number(flags.minutes), perSecond: Number(flags.rate) }

if (flags.check !== undefined) await judge(flags.check)
else if (hasOwnNetwork) await runHere()
else await runInOwnNetwork()

/** The same command, in a network namespace of its own; all that it needs from elsewhere is fetched before. */
async function runInOwnNetwork(): Promise<void> {
  const own = await inOwnNetwork()
  if ("missing" in own) throw new Error(`histories need a network of their own: ${own.missing}`)
  if (!(await canStartKafka()) || !hasKcat()) throw new Error("histories need a Kafka and kcat")
  const given = [...process.argv.slice(2), "--seed", `${run.seed}`]
  const child = Bun.spawn(
    endingWithThisProcess(...own.command, process.execPath, import.meta.path, ...given),
    {
      stdio: ["ignore", "inherit", "inherit"],
    },
  )
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal))
  process.exitCode = await child.exited
}

async function runHere(): Promise<void> {
  const folder = flags.folder ?? mkdtempSync(join(tmpdir(), "hookline-history-"))
  mkdirSync(folder, { recursive: true })
  console.log(
    `seed ${run.seed}, ${run.minutes} minutes, ${run.perSecond} events a second, history in ${folder}`,
  )
  const stopping = new AbortController()
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort())
  try {
    const settings = { ...run, folder, signal: stopping.signal }
    const path = await makeHistory(settings)
    await judge(path)
    if (process.exitCode !== 1 && flags.folder === undefined) rmSync(folder, { recursive: true })
  } catch (error) {
    if (!stopping.signal.aborted) throw error
    console.log("stopped; what there is of the history was not checked")
    process.exitCode = 130
  }
}

async function judge(path: string): Promise<void> {
  const checker = new HistoryChecker()
  let of: Run = run
  for await (const op of readHistory(path)) {
    if (op.f === "run") of = op
    checker.add(op)
  }
  const verdict = checker.finish()
  const section = describeRun(of, verdict)
  console.log(section)
  if (!isRight(verdict)) {
    process.exitCode = 1
    for (const anomaly of verdict.examples) console.log(JSON.stringify(anomaly))
    for await (const fact of factsOf(path, verdict.examples)) console.log(fact)
    console.log(`The history is ${path}`)
  } else if (flags.write) {
    const page = readFileSync(PAGE, "utf8")
    const [before, after] = [page.indexOf(BEGIN) + BEGIN.length, page.indexOf(END)]
    const machine = `Bun ${Bun.version}, ${cpus().length} cores of ${cpus()[0]?.model.trim()}, all on the same cores, ${new Date().toISOString().slice(0, 10)}.`
    writeFileSync(PAGE, `${page.slice(0, before)}\n${machine} ${section}\n${page.slice(after)}`)
  }
}
